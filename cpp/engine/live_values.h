// Which clocks and registers runs of an automaton may still ask for, by state.
//
// A clock is *live* in a state if a transition out of it checks the clock, or leads, without
// resetting it, to a state in which it is live. A register is live if a transition asks or forbids a
// condition that reads it, or sets what is live afterwards to something made of it. Runs that differ
// in nothing that is live have the same future.
//
//   (A AS x ; B ; C AS z) FILTER z.v > x.v    x.v is live from the A to the C
//
// Cost: a fixed point over the transitions, once.
#pragma once

#include <vector>

#include "automaton/cea.h"

namespace catena {

// By state and clock; registers come after the clocks.
std::vector<std::vector<bool>> live_values(const Cea& cea);

}  // namespace catena
