// Sets of states of a timed automaton, interned, and the steps between them.
//
// A *set* holds the states that runs with one and the same output so far, and the same values of
// the clocks, can be in (paper 000, Theorem 5.3: the subset construction where resets are
// synchronous). Of the clocks only those are kept that some state of the set may still check before
// it resets them, its *live* clocks: runs that differ in others are alike.
//
//   A ;[<= 5] B ; C    after A the clock is live, after B it is not: all (A, B) before a C share
//   one
//                      bundle, whatever their times
//
// A step depends on the set, the row's class, and the outcomes of the checks that the transitions
// make; it is worked out once for each and looked up ever after. Where two transitions with the
// same marks reset different clocks that are live afterwards, no one valuation can stand for both:
// the target is *split* in several sets, and one output may then come out of several runs.
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

namespace catena {

using TimedSetId = BundleKind;

struct TimedStep {
  std::vector<BundleEdge> edges;
  bool is_split = false;
  bool is_identity = false;  // Nothing changes.
};

// The steps of a set on a row of one class, by the outcomes of the checks.
struct TimedSteps {
  std::vector<ClockCheck> checks;  // The clock is its place among the set's live clocks.
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
    std::vector<std::unique_ptr<TimedSteps>> steps;  // By class.
  };

  void find_live_clocks();
  std::unique_ptr<TimedSteps> make_steps(TimedSetId id, ClassId cls) const;
  TimedStep make_step(TimedSetId id, ClassId cls, const TimedSteps& steps,
                      const std::vector<bool>& outcomes);
  BundleEdge make_edge(TimedSetId source, MarksId marks, bool is_final, std::vector<StateId> states,
                       const std::vector<uint8_t>& origins);

  const Cea& cea_;
  const ClassTrie& classes_;
  uint32_t state_count_max_;
  std::vector<std::vector<bool>> live_;  // By state and clock.
  std::map<std::vector<StateId>, TimedSetId> ids_;
  std::vector<Set> sets_;
  TimedSetId initial_;
};

}  // namespace catena
