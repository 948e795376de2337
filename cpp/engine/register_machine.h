// What conditions and updates of registers are worth, for one run and one row.
//
// A program's nodes that depend on the row alone have been computed column by column
// (columns/classifier.h). What is left depends on the run too: conditions over several events, and
// what registers are set to. These few nodes are computed here, one value after the other, in the
// order of the program; so nothing is done per run that could be done per row.
//
//   (A AS x ; B AS y) FILTER y.v - 1 > x.v     by row: v - 1; by run: is it larger than register 0?
//
// Where a run's registers lie is told by register_view.h.
//
// What is asked of open matches that a register holds is no part of the program: it goes to
// absences.h, under the numbers that the automaton says.
//
// A condition of the form `registers op row` can be answered by an index on what is left of the op
// (`probe_of`).
//
// Invariant: arithmetic and comparisons are those of program.h; values carry their own types, since
// a register may have been set when a column was of another. Cost: the nodes of the condition. This
// is all that an evaluator of configurations needs to know of registers.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "columns/classifier.h"
#include "columns/program.h"
#include "columns/value.h"
#include "engine/absences.h"
#include "engine/register_view.h"
#include "engine/row.h"
#include "engine/string_pool.h"

namespace catena {

// How a condition compares what registers hold with what the row has: `key op value`.
struct Probe {
  uint32_t key;    // A node that depends on registers only,
  uint32_t value;  // and one that depends on the row only.
  Op op;           // =, <, <=, > or >=.
  ValueType type;  // Of both.

  bool is_ordered() const { return op != Op::kEq; }
};

class RegisterMachine {
 public:
  // The references must outlive this object. Of what must be absent a set of open matches may have
  // `valuation_count_max` members.
  RegisterMachine(const Cea& cea, const ClassTrie& classes, uint32_t valuation_count_max);

  void bind(const Program& program);
  void bind_intervals(const std::vector<Interval>& intervals) { absences_.bind(intervals); }

  // Changes with every `bind`: nodes have other numbers then.
  uint32_t version() const { return version_; }

  // The row that conditions and updates read from now on.
  void load(const Row& row, ClassId cls);

  // Registers from this number on are not a run's: they are those of a row that is read again.
  void set_first_of_history(RegisterId first) { first_of_history_ = first; }
  // The row that is read, for the first time or again.
  struct AtHand {
    Row row{0, 0, 0};
    ClassId cls = 0;
    bool is_again = false;
    std::span<const Clock> words;  // What is kept of it, if it is read again.
  };
  const AtHand& at_hand() const { return at_hand_; }
  // Goes on to a row that is read again, or back to the one that was loaded.
  void turn_to(const AtHand& row);

  bool holds(ConditionId condition, const RegisterView& run);
  // A value that may be put into a register: its text, if it is one, is in the pool.
  Value updated(UpdateId update, const RegisterView& run);

  // Null if the condition cannot be answered by an index.
  const Probe* probe_of(ConditionId condition) const;
  Value key(const Probe& probe, const RegisterView& run);
  // What the row has; null if nothing compares with it.
  Value row_value(const Probe& probe) const { return scratch_[probe.value]; }

  // For snapshots: what a register holds. A reader throws Error of kind kSnapshot unless the
  // register may hold it.
  void write(RegisterId id, const Value& value, ByteWriter& out) const;
  Value read(RegisterId id, ByteReader& in);

  // Whether so much has come that `trim` pays: given all words of registers that are in use, by
  // for_each(visit) with visit(tag, low), it drops what is not and numbers the rest anew; then it
  // calls done(). Throws Error of kind kLimit if what is in use is too much.
  bool wants_trim() const { return pool_.size() >= trim_at_ || absences_.wants_trim(); }
  template <typename ForEach, typename Done>
  void trim(ForEach for_each, Done done);

  // Of the strings and open matches that registers hold; and steps taken over open matches.
  size_t bytes() const { return pool_.bytes() + absences_.bytes(); }
  uint64_t operations() const { return absences_.operations(); }

  std::string_view text_of(const Value& value) const;
  const StringPool& pool() const { return pool_; }
  StringPool& pool() { return pool_; }

 private:
  using Order = std::vector<uint32_t>;  // Nodes that depend on the run, operands first.

  Order order_of(uint32_t node) const;
  std::optional<Probe> find_probe(uint32_t node) const;
  void evaluate(const Order& order, const RegisterView& run);
  Value evaluate_node(const Node& node, const RegisterView& run) const;
  Value compare(const Node& node, const Value& left, const Value& right) const;
  Value member(const Node& node, const Value& value) const;
  Value accumulate(const Node& node, const Value& before, const Value& value) const;
  int text_order(const Value& left, const Value& right) const;

  static constexpr uint32_t kTrimMin = 4096;

  const Cea& cea_;
  Program program_;
  uint32_t version_ = 0;
  RegisterId first_of_history_ = std::numeric_limits<RegisterId>::max();
  AtHand at_hand_;
  std::vector<bool> of_run_;     // By node.
  std::vector<bool> reads_row_;  // By node: itself or by way of its operands.
  std::vector<Order> conditions_;
  std::vector<Order> updates_;
  std::vector<std::optional<Probe>> probes_;  // By condition.
  std::vector<Order> keys_;                   // By condition.
  std::vector<Value> scratch_;  // By node: literals, what was loaded, what was computed.
  StringPool pool_;
  uint32_t trim_at_ = kTrimMin;  // Strings.
  Absences absences_;
};

template <typename ForEach, typename Done>
void RegisterMachine::trim(ForEach for_each, Done done) {
  std::vector<bool> strings(pool_.size(), false);
  std::vector<bool> sets(absences_.size(), false);
  for_each([&](Clock tag, Clock& low) {
    if (tag == static_cast<Clock>(ValueTag::kString)) strings[static_cast<size_t>(low)] = true;
    if (tag == static_cast<Clock>(ValueTag::kMatches)) sets[static_cast<size_t>(low)] = true;
  });
  absences_.mark_held(sets);
  absences_.for_each_string(sets, [&](uint32_t number) { strings[number] = true; });
  const std::vector<uint32_t> moved_strings = pool_.keep(strings);
  const std::vector<uint32_t> moved_sets = absences_.keep(sets, moved_strings);
  for_each([&](Clock tag, Clock& low) {
    const auto number = static_cast<size_t>(low);
    if (tag == static_cast<Clock>(ValueTag::kString)) low = moved_strings[number];
    if (tag == static_cast<Clock>(ValueTag::kMatches)) low = moved_sets[number];
  });
  trim_at_ = std::max(kTrimMin, 2 * pool_.size());
  done();
  absences_.check_kept();
}

}  // namespace catena
