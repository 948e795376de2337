// Which runs can still beat which under MAX: a table over pairs of automaton states, made once.
//
// MAX compares matches that end together. So a rival counts for a run only if both can still end at
// the same row with the rival's marked positions a strict superset of the run's. Reading the
// automaton twice in step, without looking at guards, tells for which pairs of states that is
// possible at all: the rival must mark wherever the run does.
//
//   A ; B ; C   with states 0 -A-> 1 -B-> 2 -C-> 3: a rival that is equal and in the same state
//               has as many rows left to mark as the run, so it cannot overtake; one further on has
//               fewer, so it cannot beat. Nothing is tracked, and MAX keeps the lists that ALL
//               does.
//   A ; B+ ; C  a rival that is equal and in the same state 1 may mark a B that the run passes
//               over, and then go along with it: (1, 1) can overtake, (1, 2) can beat.
//
// A run that has not started yet waits in a state of its own, `waiting()`.
//
// Invariant: a pair that is left out can never matter; a pair that is in may (guards could exclude
// it). Cost: the square of the transitions, once; automata of more than kStateCountMax states are
// not looked into, and every pair of theirs is in.
#pragma once

#include <cstdint>
#include <vector>

#include "automaton/cea.h"
#include "base/types.h"

namespace catena {

class Rivals {
 public:
  static constexpr uint32_t kStateCountMax = 1024;
  static constexpr uint8_t kBeat = 1;
  static constexpr uint8_t kOvertake = 2;

  explicit Rivals(const Cea& cea);

  StateId waiting() const { return state_count_; }

  // Whether a rival in state `rival` that has marked strictly more can end together with a run in
  // state `own`, still ahead.
  bool can_beat(StateId own, StateId rival) const { return has(kBeat, own, rival); }

  // Whether a rival that has marked the same rows so far can end together with the run, ahead.
  bool can_overtake(StateId own, StateId rival) const { return has(kOvertake, own, rival); }

 private:
  bool has(uint8_t relation, StateId own, StateId rival) const {
    return pairs_.empty() || (pairs_[own * state_count_ + rival] & relation) != 0;
  }

  uint32_t state_count_;
  std::vector<uint8_t> pairs_;  // By own state (and `waiting`), then rival; empty: all.
};

}  // namespace catena
