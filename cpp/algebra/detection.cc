#include "algebra/detection.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "base/error.h"
#include "engine/window.h"

namespace catena {
namespace {

// Rows classified before they are read.
constexpr int64_t kRowsPerRound = 4096;

constexpr Position kRowMax = Position{1} << kRowBits;

}  // namespace

Detection::Detection(std::shared_ptr<const EventExpression> expression,
                     const DetectionOptions& options)
    : expression_(std::move(expression)),
      options_(options),
      classes_(expression_->primitive_count(), options.class_count_max),
      detector_(expression_),
      parts_(detector_),
      class_of_row_(kRowsPerRound) {
  if (!options_.is_partitioned) parts_.find_or_add({});
  open_.reserve(1);
}

void Detection::bind(DetectionBinding binding) {
  if (binding.program.guards.size() != expression_->primitive_count()) {
    throw Error(ErrorKind::kUser, "the program has another number of guards than primitives");
  }
  if (binding.keys.empty() == options_.is_partitioned) {
    throw Error(ErrorKind::kUser, "there are keys for one part, or parts without keys");
  }
  classifier_.emplace(binding.program, classes_);
  key_encoder_.emplace(binding.keys);
  binding_ = std::move(binding);
}

void Detection::bind_times(const std::vector<Interval>& limits, bool are_floats) {
  if (limits.size() != expression_->interval_count()) {
    throw Error(ErrorKind::kUser, "there is another number of limits than in the expression");
  }
  detector_.bind(limits);
  has_float_times_ = are_floats;
}

Detected Detection::nothing() const {
  Detected detected;
  detected.has_float_times = has_float_times_.value_or(false);
  if (expression_->with_rows()) detected.rows.resize(expression_->primitive_count());
  return detected;
}

Detected Detection::push(const Batch& batch) {
  assert(binding_ && has_float_times_);
  if (has_failed_) {
    throw Error(ErrorKind::kUser, "this stream has stopped at an earlier error; start a new one");
  }
  if (position_ + batch.num_rows() > kRowMax) {
    throw Error(ErrorKind::kLimit, "the stream has more rows than an instance can name");
  }
  BatchTimes times = check_times(batch);
  Detected detected = nothing();
  has_failed_ = true;  // Until the batch is through: half a batch is no state to go on from.
  for (int64_t begin = 0; begin < batch.num_rows(); begin += kRowsPerRound) {
    const int64_t count = std::min(kRowsPerRound, batch.num_rows() - begin);
    classifier_->classify(batch, begin, count, class_of_row_.data());
    learn_classes();
    if (options_.is_partitioned || parts_.head().occurred_words != 1) {
      read_rows(batch, times, begin, count, detected);
    } else if (expression_->with_rows()) {
      read_rows_of_one_part<true>(times, begin, count, detected);
    } else {
      read_rows_of_one_part<false>(times, begin, count, detected);
    }
  }
  if (!binding_->time) complete(detected);
  has_failed_ = false;
  late_count_ += times.late_count;
  position_ += batch.num_rows();
  return detected;
}

Detected Detection::finish() {
  if (has_failed_) {
    throw Error(ErrorKind::kUser, "this stream has stopped at an earlier error; start a new one");
  }
  if (!has_float_times_ && !open_.empty()) {
    throw Error(ErrorKind::kSnapshot, "the snapshot is damaged: the type of its times is missing");
  }
  Detected detected = nothing();
  complete(detected);
  is_finished_ = true;
  return detected;
}

// Reads the times and finds the rows that come too late, before anything is changed.
Detection::BatchTimes Detection::check_times(const Batch& batch) {
  BatchTimes times;
  if (!binding_->time) return times;
  const auto rows = static_cast<size_t>(batch.num_rows());
  times_.resize(std::max(times_.size(), rows));
  read_order(batch, *binding_->time, position_, 0, batch.num_rows(), times_.data());
  const bool is_closed = is_finished_ || tick_time_ == kNone;  // The smallest integer is no time.
  Clock last = tick_time_;
  for (size_t row = 0; row < rows; ++row) {
    if (times_[row] < last || (is_closed && times_[row] == tick_time_)) {
      refuse_or_drop(batch, static_cast<int64_t>(row), times);
    } else {
      last = times_[row];
    }
  }
  return times;
}

// What becomes of a row whose time goes back.
void Detection::refuse_or_drop(const Batch& batch, int64_t row, BatchTimes& times) const {
  const Clock time = times_[static_cast<size_t>(row)];
  const std::string name(batch.column(binding_->time->column).name());
  if (time == kNone) {
    throw Error(ErrorKind::kData, "column '" + name + "' is the smallest integer, which is no time",
                position_ + row);
  }
  if (!options_.drops_late_rows) {
    const bool is_of_finished = is_finished_ && time == tick_time_;
    throw Error(ErrorKind::kData,
                "column '" + name +
                    (is_of_finished ? "' is the time of a tick that is finished"
                                    : "' goes back: its value is smaller than in an earlier row"),
                position_ + row);
  }
  if (times.is_late.empty()) times.is_late.resize(static_cast<size_t>(batch.num_rows()), false);
  times.is_late[static_cast<size_t>(row)] = true;
  ++times.late_count;
}

// Which primitives the rows of classes seen for the first time are occurrences of.
void Detection::learn_classes() {
  const uint32_t words = parts_.head().occurred_words;
  for (; known_classes_ < classes_.num_classes(); ++known_classes_) {
    occurred_by_class_.resize(occurred_by_class_.size() + words, 0);
    uint64_t* occurred = occurred_by_class_.data() + static_cast<size_t>(known_classes_) * words;
    for (uint32_t p = 0; p < expression_->primitive_count(); ++p) {
      if (classes_.satisfies(known_classes_, p)) occurred[p / 64] |= uint64_t{1} << (p % 64);
    }
  }
}

void Detection::read_rows(const Batch& batch, const BatchTimes& times, int64_t begin, int64_t count,
                          Detected& detected) {
  const bool has_times = binding_->time.has_value();
  const uint32_t words = parts_.head().occurred_words;
  for (int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<size_t>(begin + i);
    if (!times.is_late.empty() && times.is_late[row]) continue;
    const Clock time = has_times ? times_[row] : position_ + begin + i;
    if (time != tick_time_) {
      complete(detected);
      tick_time_ = time;
      is_finished_ = false;
      if (parts_.wants_sweep()) parts_.drop_past(time);
    }
    const uint64_t* occurred = occurred_by_class_.data() +
                               static_cast<size_t>(class_of_row_[static_cast<size_t>(i)]) * words;
    if (std::all_of(occurred, occurred + words, [](uint64_t bits) { return bits == 0; })) continue;
    uint32_t place = 0;
    if (options_.is_partitioned) {
      const auto found = part_of_row(batch, begin + i);
      if (!found) continue;
      place = *found;
    }
    note(place, occurred, position_ + begin + i);
  }
}

// The same where there is one part and primitives fit a word: the tick at hand is in a register.
template <bool kRows>
void Detection::read_rows_of_one_part(const BatchTimes& times, int64_t begin, int64_t count,
                                      Detected& detected) {
  const bool has_times = binding_->time.has_value();
  const BlockHead& head = parts_.head();
  Word* block = parts_.block(0);
  uint64_t& open = *head.occurred(block);
  uint64_t so_far = open;
  for (int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<size_t>(begin + i);
    if (!times.is_late.empty() && times.is_late[row]) continue;
    const Position position = position_ + begin + i;
    const Clock time = has_times ? times_[row] : position;
    if (time != tick_time_) {
      if (so_far != 0) {
        const Word* instance =
            detector_.tick(block + head.words, tick_time_, &so_far, head.rows(block));
        if (instance != nullptr) report(instance, block[BlockHead::kRow], detected);
      }
      so_far = 0;
      tick_time_ = time;
      is_finished_ = false;
    }
    const uint64_t occurred = occurred_by_class_[class_of_row_[static_cast<size_t>(i)]];
    if (occurred == 0) continue;
    so_far |= occurred;
    block[BlockHead::kTime] = time;
    block[BlockHead::kRow] = position;
    if constexpr (kRows) {
      for (uint64_t bits = occurred; bits != 0; bits &= bits - 1) {
        head.rows(block)[std::countr_zero(bits)] = position;
      }
    }
  }
  open = so_far;
  open_.clear();
  if (so_far != 0) open_.push_back(0);
}

std::optional<uint32_t> Detection::part_of_row(const Batch& batch, int64_t row) {
  key_.clear();
  if (!key_encoder_->encode(batch, row, key_)) return std::nullopt;
  return parts_.find_or_add(key_);
}

void Detection::note(uint32_t place, const uint64_t* occurred, Position row) {
  const BlockHead& head = parts_.head();
  Word* block = parts_.block(place);
  uint64_t* so_far = head.occurred(block);
  bool is_first = true;
  for (uint32_t word = 0; word < head.occurred_words; ++word) {
    is_first &= so_far[word] == 0;
    so_far[word] |= occurred[word];
  }
  if (is_first) open_.push_back(place);
  block[BlockHead::kTime] = tick_time_;
  block[BlockHead::kRow] = row;
  if (!expression_->with_rows()) return;
  for (uint32_t word = 0; word < head.occurred_words; ++word) {
    for (uint64_t bits = occurred[word]; bits != 0; bits &= bits - 1) {
      head.rows(block)[64 * word + static_cast<uint32_t>(std::countr_zero(bits))] = row;
    }
  }
}

// Detects the tick at hand in all parts that have occurrences in it.
void Detection::complete(Detected& detected) {
  const BlockHead& head = parts_.head();
  for (const uint32_t place : open_) {
    Word* block = parts_.block(place);
    const Word* instance =
        detector_.tick(block + head.words, tick_time_, head.occurred(block), head.rows(block));
    if (instance != nullptr) report(instance, block[BlockHead::kRow], detected);
    std::fill_n(head.occurred(block), head.occurred_words, uint64_t{0});
  }
  open_.clear();
}

void Detection::report(const Word* instance, Position row, Detected& detected) const {
  detected.starts.push_back(instance[0]);
  detected.ends.push_back(instance[1]);
  detected.positions.push_back(row);
  if (!expression_->with_rows()) return;
  const Word* elements = instance + head_words(true);
  for (Word i = 0; i < instance[2]; ++i) {
    detected.rows[primitive_of(elements[i])].positions.push_back(row_of(elements[i]));
  }
  for (PositionLists& lists : detected.rows) {
    const auto begin = lists.positions.begin() + lists.offsets.back();
    std::sort(begin, lists.positions.end());
    lists.positions.erase(std::unique(begin, lists.positions.end()), lists.positions.end());
    lists.offsets.push_back(static_cast<int32_t>(lists.positions.size()));
  }
}

Position Detection::oldest_row() const {
  Position oldest = position_;
  for (const uint32_t place : open_) {
    oldest = std::min(oldest, parts_.block(place)[BlockHead::kRow]);
  }
  return oldest;
}

DetectionStats Detection::stats() const {
  DetectionStats stats{.rows = static_cast<uint64_t>(position_),
                       .visits = detector_.visits(),
                       .parts = parts_.size(),
                       .instances = 0,
                       .times = 0,
                       .bytes = parts_.size() * parts_.block_words() * sizeof(Word),
                       .classes = classes_.num_classes()};
  parts_.for_each([&](uint32_t place) {
    const Word* block = parts_.block(place) + parts_.head().words;
    stats.instances += detector_.stored_instances(block);
    stats.times += detector_.stored_times(block);
  });
  return stats;
}

}  // namespace catena
