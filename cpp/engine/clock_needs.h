// How long the clocks of a timed automaton can be of use, so that what is too old can be released.
//
// From the ends of the intervals it is worked out, for every state and clock, how long after its
// reset the clock can at most be checked with success on the way to a match:
//
//   A ;[<= 5] B ; C   after A the clock is needed for 5; after B it is not needed at all, which
//                     counts as for ever: no age of it stands in the way
//
// Cost: a fixed point over the transitions, once for each binding of the intervals.
#pragma once

#include <vector>

#include "automaton/cea.h"
#include "base/types.h"
#include "engine/interval.h"

namespace catena {

class ClockNeeds {
 public:
  static constexpr uint32_t kForEver = 0xffffffffu;
  static constexpr uint32_t kNever = 0xfffffffeu;  // No way leads to a match.

  ClockNeeds() = default;
  // The automaton and the intervals must outlive this object.
  ClockNeeds(const Cea& cea, const std::vector<Interval>& intervals);

  // An interval, whose upper end counts; kForEver or kNever.
  uint32_t of(StateId state, ClockId clock) const { return needs_[state][clock]; }

 private:
  uint32_t later(uint32_t a, uint32_t b) const;
  uint32_t earlier(uint32_t a, uint32_t b) const { return later(a, b) == a ? b : a; }
  uint32_t along(const Transition& t, ClockId clock) const;

  const Cea* cea_ = nullptr;
  const std::vector<Interval>* intervals_ = nullptr;
  std::vector<std::vector<uint32_t>> needs_;  // By state and clock.
};

}  // namespace catena
