// The state of a detection as bytes; the format is in docs/formats.md. A reader takes nothing on
// trust: whatever the bytes, it gives a state that keeps the bounds and the order of all sets, or
// throws Error of kind kSnapshot and changes nothing but a detection that is thrown away.
#include "algebra/detection.h"
#include "base/bytes.h"
#include "base/envelope.h"
#include "base/error.h"

namespace catena {

std::string Detection::snapshot(const std::string& plan_hash, const std::string& extra) const {
  if (has_failed_) {
    throw Error(ErrorKind::kUser, "this stream has stopped at an earlier error; start a new one");
  }
  ByteWriter payload;
  payload.text(extra);
  payload.i64(position_);
  payload.u64(late_count_);
  payload.i64(tick_time_);
  payload.u8(is_finished_ ? 1 : 0);
  write_parts(payload);
  return seal(payload.view(), plan_hash);
}

// Parts with an open tick come first, in the order in which they came.
void Detection::write_parts(ByteWriter& out) const {
  std::vector<uint32_t> places = open_;
  parts_.for_each([&](uint32_t place) {
    if (!parts_.head().is_open(parts_.block(place))) places.push_back(place);
  });
  out.u64(open_.size());
  out.u64(places.size());
  for (const uint32_t place : places) {
    out.text(parts_.key(place));
    const Word* block = parts_.block(place);
    for (uint32_t i = 0; i < parts_.block_words(); ++i) out.i64(block[i]);
  }
}

std::string Detection::restore(std::string_view bytes, const std::string& plan_hash) {
  ByteReader in(unseal(bytes, plan_hash));
  std::string extra(in.text());
  position_ = in.i64();
  require_intact(position_ >= 0 && position_ <= (Position{1} << kRowBits),
                 "the position is out of range");
  late_count_ = in.u64();
  tick_time_ = in.i64();
  is_finished_ = in.u8() != 0;
  read_parts(in);
  in.expect_end();
  return extra;
}

void Detection::read_parts(ByteReader& in) {
  const uint64_t open_count = in.u64();
  const uint64_t count = in.count(8 + uint64_t{parts_.block_words()} * sizeof(Word));
  require_intact(open_count <= count && (options_.is_partitioned || count == 1),
                 "there is another number of parts");
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view key = in.text();
    require_intact(options_.is_partitioned || key.empty(), "there is a part with a key");
    const uint32_t place = parts_.find_or_add(key);
    require_intact(parts_.size() == i + 1, "a part stands twice");
    Word* block = parts_.block(place);
    for (uint32_t word = 0; word < parts_.block_words(); ++word) block[word] = in.i64();
    check_head(block);
    detector_.check(block + parts_.head().words, tick_time_, position_);
    const bool is_open = parts_.head().is_open(block);
    require_intact(is_open == (i < open_count), "a part's tick is open, or not, by mistake");
    if (is_open) open_.push_back(place);
  }
}

void Detection::check_head(const Word* block) const {
  const BlockHead& head = parts_.head();
  require_intact(block[BlockHead::kTime] <= tick_time_, "a part is later than the stream");
  const bool is_read = block[BlockHead::kTime] != kNone;
  require_intact(block[BlockHead::kRow] >= 0 && (!is_read || block[BlockHead::kRow] < position_),
                 "a row is out of range");
  const uint64_t* occurred = head.occurred(block);
  const uint32_t spare = head.occurred_words * 64 - expression_->primitive_count();
  require_intact(spare == 0 || occurred[head.occurred_words - 1] >> (64 - spare) == 0,
                 "a primitive is out of range");
  if (!expression_->with_rows()) return;
  const Position* rows = head.rows(block);
  for (uint32_t p = 0; p < expression_->primitive_count(); ++p) {
    require_intact(rows[p] >= 0 && (rows[p] < position_ || rows[p] == 0), "a row is out of range");
  }
}

}  // namespace catena
