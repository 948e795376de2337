#include "engine/contest_history.h"

#include <algorithm>

#include "engine/snapshot.h"

namespace catena {

Row ContestHistory::row(uint32_t place) const {
  const auto now = std::span(clocks_).subspan(size_t{place} * kClockKindCount, kClockKindCount);
  Row row{0, 0, kClockMin};
  row.time = now[static_cast<size_t>(ClockKind::kTime)];
  row.number = now[static_cast<size_t>(ClockKind::kRows)];
  row.attributes = now.subspan(static_cast<size_t>(kFirstAttribute));
  return row;
}

void ContestHistory::add(ClassId cls, std::span<const Clock> now,
                         const std::vector<UpdateId>& attributes, RegisterMachine& machine) {
  static const RegisterLayout kNone;
  classes_.push_back(cls);
  clocks_.insert(clocks_.end(), now.begin(), now.end());
  adding_.clear();
  for (UpdateId update : attributes) append_register(machine.updated(update, {{}, kNone}), adding_);
  words_.add(adding_);
}

void ContestHistory::cut(uint32_t first) {
  Sequences<Clock> kept;
  for (uint32_t place = first; place < size(); ++place) kept.add(words_[place]);
  words_.copy(kept);
  classes_.erase(classes_.begin(), classes_.begin() + first);
  clocks_.erase(clocks_.begin(), clocks_.begin() + ptrdiff_t{first} * kClockKindCount);
  cut_at_ = std::max(kCutMin, 2 * size());
}

void ContestHistory::write(ByteWriter& out, const ClassTrie& classes, uint32_t guard_count,
                           const StringPool& pool) const {
  out.u64(size());
  for (uint32_t place = 0; place < size(); ++place) {
    for (GuardId guard = 0; guard < guard_count; ++guard) {
      out.u8(classes.satisfies(classes_[place], guard) ? 1 : 0);
    }
    for (uint32_t kind = 0; kind < kClockKindCount; ++kind) {
      out.i64(clocks_[size_t{place} * kClockKindCount + kind]);
    }
    const std::span<const Clock> words = words_[place];
    for (size_t at = 0; at < words.size(); at += kRegisterWords) {
      write_value(out, register_at(words, at), pool);
    }
  }
}

void ContestHistory::read(ByteReader& in, ClassTrie& classes, uint32_t guard_count,
                          uint32_t attribute_count, StringPool& pool) {
  const uint64_t count = in.count(guard_count + 8 * kClockKindCount + attribute_count);
  std::vector<bool> satisfied(guard_count);
  for (uint64_t i = 0; i < count; ++i) {
    for (GuardId guard = 0; guard < guard_count; ++guard) satisfied[guard] = in.u8() != 0;
    classes_.push_back(classes.class_of(satisfied));
    for (uint32_t kind = 0; kind < kClockKindCount; ++kind) clocks_.push_back(in.i64());
    adding_.clear();
    for (uint32_t k = 0; k < attribute_count; ++k) append_register(read_value(in, pool), adding_);
    words_.add(adding_);
  }
}

}  // namespace catena
