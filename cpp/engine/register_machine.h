// What conditions and updates of registers are worth, for one run and one row.
//
// A program's nodes that depend on the row alone have been computed column by column
// (columns/classifier.h). What is left depends on the run too: conditions over several events, and
// what registers are set to. These few nodes are computed here, one value after the other, in the
// order of the program; so nothing is done per run that could be done per row.
//
//   (A AS x ; B AS y) FILTER y.v - 1 > x.v     by row: v - 1; by run: is it larger than register 0?
//
// A run's registers are words in a row of numbers: a tag, and two for the value (`kRegisterWords`).
// Which registers a run has, and where, is its layout: those that are not live are left out.
//
// A condition of the form `registers op row` can be answered by an index on what is left of the op
// (`probe_of`).
//
// Invariant: arithmetic and comparisons are those of program.h; values carry their own types, since
// a register may have been set when a column was of another. Cost: the nodes of the condition. This
// is all that an evaluator of configurations needs to know of registers.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "columns/classifier.h"
#include "columns/program.h"
#include "columns/value.h"
#include "engine/string_pool.h"

namespace catena {

inline constexpr uint32_t kRegisterWords = 3;

// Where the registers of a run lie among its words.
struct RegisterLayout {
  static constexpr uint32_t kAbsent = 0xffffffffu;

  std::vector<uint32_t> offsets;  // By register; kAbsent if it is not kept.
};

struct RegisterView {
  std::span<const Clock> words;
  const RegisterLayout& layout;
};

Value read_register(const RegisterView& view, RegisterId id);
void write_register(const Value& value, std::span<Clock> words);
void append_register(const Value& value, std::vector<Clock>& words);
inline Value register_at(std::span<const Clock> words, size_t at) {
  return {static_cast<ValueTag>(words[at]), words[at + 1], words[at + 2]};
}

// Calls visit(number) for the number in the pool of every string among registers.
template <typename Visit>
void visit_strings(std::span<Clock> registers, Visit visit) {
  for (size_t at = 0; at < registers.size(); at += kRegisterWords) {
    if (registers[at] == static_cast<Clock>(ValueTag::kString)) visit(registers[at + 1]);
  }
}

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
  void bind(const Program& program);

  // Changes with every `bind`: nodes have other numbers then.
  uint32_t version() const { return version_; }

  // The row that conditions and updates read from now on.
  void load(const RowValues& values, size_t row);

  // Registers from this number on are not a run's: they are those of a row that is read again.
  void set_first_of_history(RegisterId first) { first_of_history_ = first; }
  void set_history_row(std::span<const Clock> words) { history_row_ = words; }
  std::span<const Clock> history_row() const { return history_row_; }

  bool holds(ConditionId condition, const RegisterView& run);
  // A value that may be put into a register: its text, if it is one, is in the pool.
  Value updated(UpdateId update, const RegisterView& run);

  // Null if the condition cannot be answered by an index.
  const Probe* probe_of(ConditionId condition) const;
  Value key(const Probe& probe, const RegisterView& run);
  // What the row has; null if nothing compares with it.
  Value row_value(const Probe& probe) const { return scratch_[probe.value]; }

  std::string_view text_of(const Value& value) const;
  StringPool& pool() { return pool_; }
  const StringPool& pool() const { return pool_; }

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

  Program program_;
  uint32_t version_ = 0;
  RegisterId first_of_history_ = std::numeric_limits<RegisterId>::max();
  std::span<const Clock> history_row_;
  std::vector<bool> of_run_;     // By node.
  std::vector<bool> reads_row_;  // By node: itself or by way of its operands.
  std::vector<Order> conditions_;
  std::vector<Order> updates_;
  std::vector<std::optional<Probe>> probes_;  // By condition.
  std::vector<Order> keys_;                   // By condition.
  std::vector<Value> scratch_;  // By node: literals, what was loaded, what was computed.
  StringPool pool_;
};

}  // namespace catena
