// The rows of a part that contests must be able to read again.
//
// A strategy inside a formula compares matches over the whole part. If its conditions read events
// further left, `A AS x ; NEXT(B ; (C FILTER C.v > x.v))`, what it compares depends on what those
// hold, and that is known long after the rows that it compares. So where a scope is lent registers,
// the rows that matter to it are kept: their class, their clocks and, as registers, the attributes
// that its conditions and updates read. A contest for values that none had before reads them all
// (contest_tree.h), by an automaton that reads these registers in place of the row.
//
// Invariant: strings are in the pool of the machine. Cost per row kept: its clocks and values.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "columns/class_trie.h"
#include "engine/register_machine.h"
#include "engine/row.h"
#include "engine/sequence_table.h"

namespace catena {

class ContestHistory {
 public:
  uint32_t size() const { return static_cast<uint32_t>(classes_.size()); }
  ClassId class_of(uint32_t place) const { return classes_[place]; }
  Row row(uint32_t place) const;
  std::span<const Clock> words(uint32_t place) const { return words_[place]; }

  // Adds the row that the machine has at hand; `attributes` are updates that are worth them.
  void add(ClassId cls, std::span<const Clock> now, const std::vector<UpdateId>& attributes,
           RegisterMachine& machine);

  // Whether so many rows have come since it was last looked which of them are still needed that it
  // pays to look again; drops those before a place.
  bool wants_cut() const { return size() >= cut_at_; }
  void cut(uint32_t first);

  // As Contest::for_each_register.
  template <typename Visit>
  void for_each_register(Visit visit) {
    for (uint32_t place = 0; place < size(); ++place) visit_registers(words_.at(place), visit);
  }

  size_t bytes() const {
    return classes_.capacity() * sizeof(ClassId) + clocks_.capacity() * sizeof(Clock) +
           words_.bytes();
  }

  void write(ByteWriter& out, const ClassTrie& classes, uint32_t guard_count,
             const StringPool& pool) const;
  void read(ByteReader& in, ClassTrie& classes, uint32_t guard_count, uint32_t attribute_count,
            StringPool& pool);

 private:
  static constexpr uint32_t kCutMin = 1024;

  uint32_t cut_at_ = kCutMin;
  std::vector<ClassId> classes_;
  std::vector<Clock> clocks_;  // kClockKindCount for each row.
  Sequences<Clock> words_;     // By row: those of a register for each attribute.
  std::vector<Clock> adding_;
};

}  // namespace catena
