// What a run remembers beside the state it is in, and what a transition asks of it and makes of it.
//
// A *configuration* of an automaton is a state and *words*: one for each clock, the time (or the
// row, or the attribute) of its last reset, then three for each register, the value that it holds
// (register_machine.h). Evaluators that handle configurations (contest.h) need three things to be
// known of them, and nothing else: whether a transition may be made over a row, the words after it,
// and whether a run can still get to its end at all. Whatever else a run may come to remember is to
// be added here.
//
// What nothing asks for any more is blanked, so that runs that differ in it are alike: a clock or a
// register is *live* in a state if some way on asks for it before it is set (liveness.h). And what
// no clock can use any more is dropped (clock_needs.h).
//
//   A ;[<= 5] B ; C   after the A its time is the value, for five units; after the B there is none
//   (A AS x ; B AS y ; C) FILTER y.v > x.v    after the A its v, after the B nothing any more
//
// Invariant: registers that are live in no state have no words. Cost: the clocks and registers of
// the automaton, and the nodes of a transition's conditions and updates, per question. (Paper 000,
// section 4; paper 001, Definitions 21 to 24.)
#pragma once

#include <span>
#include <vector>

#include "automaton/cea.h"
#include "base/types.h"
#include "engine/clock_needs.h"
#include "engine/interval.h"
#include "engine/register_machine.h"
#include "engine/row.h"

namespace catena {

class Valuation {
 public:
  // The references must outlive this object. The machine must have the row at hand that is asked
  // about.
  Valuation(const Cea& cea, RegisterMachine& machine);

  // Told before the first row how long the intervals are, and again if that changes.
  void bind(const std::vector<Interval>& intervals);

  // How many words a configuration has; those of a run that has not started.
  uint32_t word_count() const { return static_cast<uint32_t>(blank_.size()); }
  const std::vector<Clock>& blank() const { return blank_; }
  // Sets registers that runs begin with to what they are lent.
  void begin_with(const std::vector<RegisterId>& registers, std::span<const Clock> lent,
                  std::span<Clock> words) const;

  // The registers that have words, in the order in which these come after those of the clocks.
  const std::vector<RegisterId>& registers() const { return registers_; }
  RegisterView view(std::span<const Clock> words) const { return {words, layout_}; }

  // Whether a run with these words may make the transition over the row, as far as words tell.
  bool may_take(const Transition& t, std::span<const Clock> words, const Row& row) const;

  // Appends the words after it.
  void take(const Transition& t, std::span<const Clock> words, const Row& row,
            std::vector<Clock>& after) const;

  // Whether a run in the state can get to no end any more, `now` being the clocks of the last row.
  bool is_late(StateId state, std::span<const Clock> words, std::span<const Clock> now) const;

 private:
  static constexpr Clock kNeverReset = kClockMin;

  const Cea& cea_;
  RegisterMachine& machine_;
  std::vector<Interval> intervals_;
  std::vector<std::vector<bool>> live_;  // By state; clocks, then all registers.
  std::vector<RegisterId> registers_;
  RegisterLayout layout_;
  std::vector<Clock> blank_;
  ClockNeeds needs_;
};

}  // namespace catena
