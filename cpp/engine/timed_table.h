// Sets of states of an automaton with clocks or registers, interned, and the steps between them.
//
// A *set* holds the states that runs with one and the same output so far, and the same values of
// clocks and registers, can be in (paper 000, Theorem 5.3: the subset construction where resets are
// synchronous). Of the values only those are kept that some state of the set may still ask for
// before they are set again, its *live* clocks and registers: runs that differ in others are alike.
// A clock is one word, a register three (register_machine.h); clocks come first.
//
//   A ;[<= 5] B ; C    after A the clock is live, after B it is not: all (A, B) before a C share
//   one
//                      bundle, whatever their times
//
// A step depends on the set, the row's class, and the outcomes of the checks and conditions that
// the transitions make; it is worked out once for each and looked up ever after. Where two
// transitions with the same marks leave different values in what is live afterwards, no one
// valuation can stand for both: the target is *split* in several sets, and one output may then come
// out of several runs.
//
// Cost: a look-up is an array access and one in a map of outcomes. The number of sets is limited;
// passing the limit is an Error of kind kLimit.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "automaton/cea.h"
#include "base/types.h"
#include "columns/class_trie.h"
#include "engine/bundle_plan.h"
#include "engine/register_machine.h"

namespace catena {

using TimedSetId = BundleKind;

// What a row has beside its class: its clocks, then the values that registers are set to.
inline constexpr uint32_t word_of_update(uint32_t place) {
  return kClockKindCount + kRegisterWords * place;
}

struct TimedStep {
  std::vector<BundleEdge> edges;
  std::vector<UpdateId> updates;  // Those that edges refer to, by place.
  bool is_split = false;
  bool is_identity = false;  // Nothing changes.
};

// The steps of a set on a row of one class, by the outcomes of checks and, after them, conditions.
struct TimedSteps {
  std::vector<ClockCheck> checks;  // The clock is its place among the set's live clocks.
  std::vector<ConditionId> conditions;
  // What each transition asks that asks for anything, and what it forbids: unless all of one holds,
  // nothing happens but waiting, if `rests` is true.
  std::vector<std::vector<ConditionId>> asked;
  bool rests = false;           // Where nothing holds, nothing changes.
  std::vector<Probe> probes;    // One for each of `asked`, each once; none if one has no index.
  uint32_t probes_version = 0;  // Of the machine that they are of.

  bool is_unconditional() const { return checks.empty() && conditions.empty(); }
  std::map<std::vector<bool>, TimedStep> by_outcome;
  TimedSetId watched = kNoKind;  // Where the set goes if runs start from it; once asked for.
};

class TimedTable {
 public:
  // The references must outlive this object.
  TimedTable(const Cea& cea, const ClassTrie& classes, uint32_t state_count_max);

  // The set of the states that runs start from.
  TimedSetId initial() const { return initial_; }

  TimedSetId intern(std::vector<StateId> states);
  std::span<const StateId> states_of(TimedSetId id) const { return *sets_[id].states; }
  const std::vector<ClockId>& live_clocks(TimedSetId id) const { return sets_[id].live; }
  const std::vector<bool>& live_in(StateId state) const { return live_[state]; }
  const std::vector<RegisterId>& live_registers(TimedSetId id) const { return sets_[id].registers; }
  const RegisterLayout& layout(TimedSetId id) const { return sets_[id].layout; }
  uint32_t word_count(TimedSetId id) const {
    return static_cast<uint32_t>(sets_[id].live.size() +
                                 kRegisterWords * sets_[id].registers.size());
  }
  // The step that changes nothing.
  const TimedStep& resting(TimedSetId id) const { return sets_[id].resting; }

  // The checks to be made on a row, and the step that follows from their outcomes.
  TimedSteps& steps(TimedSetId id, ClassId cls);
  const TimedStep& step(TimedSetId id, ClassId cls, TimedSteps& steps,
                        const std::vector<bool>& outcomes);

  // Where the set that runs start from goes.
  TimedSetId watch(TimedSetId before, ClassId cls);

  uint32_t size() const { return static_cast<uint32_t>(sets_.size()); }

 private:
  struct Set {
    const std::vector<StateId>* states;  // A key of ids_.
    std::vector<ClockId> live;
    std::vector<RegisterId> registers;
    RegisterLayout layout;
    TimedStep resting;
    std::vector<std::unique_ptr<TimedSteps>> steps;  // By class.
  };
  // Where a value in a target comes from: unknown, kept, this row, or from there on an update.
  using Origin = uint32_t;

  std::unique_ptr<TimedSteps> make_steps(TimedSetId id, ClassId cls);
  bool never_holds(ConditionId condition, ClassId cls) const;
  bool changes_nothing(const RegisterUpdate& update, ClassId cls) const;
  std::vector<Origin> origins_of(const Transition& t, ClassId cls) const;
  TimedStep make_step(TimedSetId id, ClassId cls, const TimedSteps& steps,
                      const std::vector<bool>& outcomes);
  BundleEdge make_edge(TimedSetId source, MarksId marks, bool is_final, std::vector<StateId> states,
                       const std::vector<Origin>& origins, TimedStep& step);

  const Cea& cea_;
  const ClassTrie& classes_;
  uint32_t state_count_max_;
  std::vector<std::vector<bool>> live_;  // By state and clock; registers come after the clocks.
  std::map<std::vector<StateId>, TimedSetId> ids_;
  std::vector<Set> sets_;
  TimedSetId initial_;
};

}  // namespace catena
