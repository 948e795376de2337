// What runs must pass over, where it has clocks or conditions over several events: the matches of
// it that are open.
//
// An *absence* is an automaton of its own (automaton/cea.h). A run that passes over it holds in a
// register the *configurations*, state, registers and clocks, that matches begun since are in: a
// set, numbered, so that runs which hold the same one are alike. A row takes a set to the next one,
// and tells whether a match ends: the power set construction, done as rows are read, for what has
// no states beforehand (paper 001, Theorem 41). Runs that began to wait at one row share their
// sets, and so do runs of different rows as soon as the rows between no longer matter:
//
//   A ; NOT (B ;[<= 5] D) ; C     holds the latest B, for five units: after that all As are one
//                                 bundle
//   A ; NOT ((B AS b ; D AS d) FILTER b.id = d.id) ; C WITHIN 10 EVENTS
//                                 holds the ids of the Bs since the A
//
// A match that starts on the row takes over what it reads of the run's registers. Configurations
// that can come to no end are dropped, and so are those that another one stands for: where a clock
// is checked from above only, a later reset serves as well. What is so old that no check will
// change its answer is of one age. So a set is bounded by the rows inside the bounds of the
// absence, or inside the window since the run began to wait.
//
// Invariant: sets are in order and without repetition; the empty set is an unbound register. An
// absence inside another one has a smaller set number than the set that holds it. Cost: per row the
// configurations of the distinct sets that are asked for, each set once.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "automaton/cea.h"
#include "base/bytes.h"
#include "base/types.h"
#include "columns/value.h"
#include "engine/clock_needs.h"
#include "engine/interval.h"
#include "engine/register_view.h"
#include "engine/row.h"
#include "engine/sequence_table.h"

namespace catena {

class RegisterMachine;

// Whether rows of a class leave all open matches as they are, let none end and none start.
bool rests(const Cea& absence, StateId entry, const ClassTrie& classes, ClassId cls);

class Absences {
 public:
  // The references must outlive this object. A set may have `count_max` configurations, and so may
  // all sets that are in use together.
  Absences(const Cea& cea, const ClassTrie& classes, uint32_t count_max);

  void bind(const std::vector<Interval>& intervals);

  // The row that is read from now on, or read again.
  void load(const Row& row, ClassId cls, bool is_again);

  // Of the open matches over the row: whether one ends, and the register that holds them then.
  bool ends(const Follow& follow, const RegisterView& run, RegisterMachine& machine);
  Value after(const Follow& follow, const RegisterView& run, RegisterMachine& machine);

  // Sets come and go with every row: those that nobody holds are dropped from time to time.
  bool wants_trim() const { return sets_.all().value_count() >= trim_at_; }
  uint32_t size() const { return sets_.size(); }
  // Adds those that sets in use hold.
  void mark_held(std::vector<bool>& in_use) const;
  // Calls visit(number) for every string that a set in use holds.
  template <typename Visit>
  void for_each_string(const std::vector<bool>& in_use, Visit visit) const;
  // Drops the sets that are not in use; strings have new numbers. Gives the new numbers of sets.
  std::vector<uint32_t> keep(const std::vector<bool>& in_use, const std::vector<uint32_t>& strings);
  // Throws Error of kind kLimit if those kept the last time are too many.
  void check_kept() const { check_size(count_); }

  size_t bytes() const { return sets_.all().bytes(); }
  uint64_t operations() const { return operations_; }

  // For snapshots: what a register holds. A reader throws Error of kind kSnapshot unless it is what
  // such a register may hold.
  bool is_held_by(RegisterId id) const { return holders_[id] != kNobody; }
  void write(const Value& value, ByteWriter& out, const RegisterMachine& machine) const;
  Value read(RegisterId id, ByteReader& in, RegisterMachine& machine);

 private:
  static constexpr AbsenceId kNobody = 0xffffffffu;
  static constexpr size_t kTrimMin = 1 << 16;

  using Configuration = std::vector<Clock>;  // State, registers, clocks.

  // Which way a clock may differ in what stands for another configuration.
  enum class Serves : uint8_t { kEqual, kLater, kEarlier };

  struct Layout {
    std::vector<RegisterId> registers;  // Live ones.
    std::vector<ClockId> clocks;
    RegisterLayout places;  // Of registers among the words behind the state.
    uint32_t word_count;    // With the state.
  };
  struct Operand {
    const Cea* cea;
    const Cea* replayed;          // For rows that are read again, if they may be.
    std::vector<Layout> layouts;  // By state.
    ClockNeeds needs;
    std::vector<Serves> serves;                              // By clock.
    std::vector<std::vector<std::vector<IntervalId>>> asks;  // By state and clock: on ways from it.
  };
  struct Outcome {
    bool ends = false;
    Value open;
  };
  // Configurations found, of one absence.
  struct Found {
    bool ends = false;
    std::vector<Configuration> all;
  };

  Operand make_operand(const Absence& absence) const;
  void find_asks(Operand& operand) const;
  Outcome step(const Follow& follow, const RegisterView& run, RegisterMachine& machine);
  // The automaton for the row at hand.
  const Cea& automaton_of(const Operand& operand) const;
  void move(const Operand& operand, StateId source, const RegisterView& run,
            std::span<const Clock> clocks, RegisterMachine& machine, Found& found);
  bool may_take(const Operand& operand, const Transition& t, const RegisterView& run,
                std::span<const Clock> clocks, RegisterMachine& machine) const;
  // Appends what a run is in after the transition, unless it can come to no end.
  void take(const Operand& operand, const Transition& t, const RegisterView& run,
            std::span<const Clock> clocks, RegisterMachine& machine, Found& found) const;
  Clock aged(const Operand& operand, StateId state, ClockId clock, Clock then) const;
  void settle(const Operand& operand, std::vector<Configuration>& all) const;
  bool stands_for(const Operand& operand, const Configuration& one,
                  const Configuration& other) const;
  void check_size(size_t count) const;
  Value intern(AbsenceId absence, const std::vector<Configuration>& all);
  // Calls visit(layout, configuration) for those of a set.
  template <typename Visit>
  void for_each_configuration(std::span<const Clock> set, Visit visit) const;

  const ClassTrie& classes_;
  uint32_t count_max_;
  std::vector<Operand> operands_;
  std::vector<AbsenceId> holders_;  // By register, whose open matches it holds.
  std::vector<Interval> intervals_;
  Row loaded_{0, 0, 0};
  ClassId cls_ = 0;
  bool is_again_ = false;
  SequenceTable<Clock> sets_;  // Absence, then the configurations one after the other.
  size_t trim_at_ = kTrimMin;
  size_t count_ = 0;                             // Configurations of all sets after the last trim.
  std::map<std::vector<Clock>, Outcome> known_;  // Of the row at hand.
  uint64_t operations_ = 0;                      // Configurations moved.
};

template <typename Visit>
void Absences::for_each_configuration(std::span<const Clock> set, Visit visit) const {
  const Operand& operand = operands_[static_cast<size_t>(set[0])];
  for (size_t at = 1; at < set.size();) {
    const Layout& layout = operand.layouts[static_cast<size_t>(set[at])];
    visit(layout, set.subspan(at, layout.word_count));
    at += layout.word_count;
  }
}

template <typename Visit>
void Absences::for_each_string(const std::vector<bool>& in_use, Visit visit) const {
  for (uint32_t number = 0; number < sets_.size(); ++number) {
    if (!in_use[number]) continue;
    for_each_configuration(sets_[number], [&](const Layout& layout, std::span<const Clock> words) {
      for (RegisterId id : layout.registers) {
        const Value value = read_register({words.subspan(1), layout.places}, id);
        if (value.tag == ValueTag::kString) visit(static_cast<uint32_t>(value.low));
      }
    });
  }
}

}  // namespace catena
