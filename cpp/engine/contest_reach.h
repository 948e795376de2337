// How far back in the history a contest may have to read.
//
// A member that is made anew reads the rows again that a match which is still open may have begun
// at (contest_tree.h). If nothing bounds how long a match takes these are all of them. But where in
// every state of the operand some clock will be asked for an interval that ends, only so much is
// needed as some run, whatever its registers hold, can still get through its checks with. What
// conditions would say is not asked, so the answer may be too long, never too short.
//
//   A AS x ; NEXT(B ;[<= 5] (C FILTER C.v > x.v))   the Bs of the last five units
//
// Cost: the configurations of clocks alone, for each row that is read.
#pragma once

#include <vector>

#include "automaton/cea.h"
#include "columns/class_trie.h"
#include "engine/clock_needs.h"
#include "engine/contest_history.h"
#include "engine/interval.h"

namespace catena {

class ContestReach {
 public:
  // The references must outlive this object.
  ContestReach(const Cea& cea, const ClassTrie& classes);

  void bind(const std::vector<Interval>& intervals);

  // Whether a run can never be open for ever.
  bool is_bounded() const;

  // The first row of the history that an open run may have begun at; its size if there is none.
  uint32_t first_needed(const ContestHistory& history) const;

 private:
  bool passes(const Transition& t, std::span<const Clock> clocks, const Row& row) const;
  bool is_late(StateId state, std::span<const Clock> clocks, const Row& row) const;

  const Cea& cea_;
  const ClassTrie& classes_;
  std::vector<std::vector<bool>> live_;  // By state and clock.
  std::vector<Interval> intervals_;
  ClockNeeds needs_;
};

}  // namespace catena
