// What a run remembers beside the state it is in, and what a transition asks of it and makes of it.
//
// A *configuration* of an automaton is a state and values: today one for each clock, the time (or
// the row) of its last reset. Evaluators that handle configurations (contest.h) need three things
// to be known of them, and nothing else: whether a transition may be made over a row, the values
// after it, and whether a run can still get to its end at all. Whatever else a run may come to
// remember is to be added here.
//
// Values that nothing asks for any more are blanked, so that runs that differ in them are alike: a
// clock is *live* in a state if some way on checks it before it is reset. And what no clock can use
// any more is dropped (clock_needs.h).
//
//   A ;[<= 5] B ; C   after the A its time is the value, for five units; after the B there is none
//
// Cost: the clocks of the automaton, per question. (Paper 000, section 4.)
#pragma once

#include <span>
#include <vector>

#include "automaton/cea.h"
#include "base/types.h"
#include "engine/clock_needs.h"
#include "engine/interval.h"
#include "engine/row.h"

namespace catena {

class Valuation {
 public:
  // The automaton must outlive this object.
  explicit Valuation(const Cea& cea);

  // Told before the first row how long the intervals are, and again if that changes.
  void bind(const std::vector<Interval>& intervals);

  // How many values a configuration has; those of a run that has not started.
  uint32_t count() const { return cea_.clock_count(); }
  static constexpr Clock kBlank = kClockMin;

  // Whether a run with these values may make the transition over the row, as far as values tell.
  bool may_take(const Transition& t, std::span<const Clock> values, const Row& row) const;

  // Appends the values after it.
  void take(const Transition& t, std::span<const Clock> values, const Row& row,
            std::vector<Clock>& after) const;

  // Whether a run in the state can get to no end any more, whatever comes after the row.
  bool is_late(StateId state, std::span<const Clock> values, const Row& row) const;

 private:
  Clock now(ClockId clock, const Row& row) const;

  const Cea& cea_;
  std::vector<Interval> intervals_;
  std::vector<std::vector<bool>> live_;  // By state and clock.
  ClockNeeds needs_;
};

}  // namespace catena
