// Which clocks and registers some run from a state may still ask for: what of a run's values
// matters.
//
// A clock is *live* in a state if a transition out of it checks the clock, or leads, without
// resetting it, to a state in which it is live. A register is live if a transition asks or forbids
// a condition that reads it, hands it to a scope, or sets what is live afterwards to something made
// of it. Runs that differ only in what is not live have the same future.
//
// Cost: a fixed point over the transitions, once. (Paper 000, section 4; paper 001, section 3.)
#pragma once

#include <vector>

#include "automaton/cea.h"
#include "base/types.h"

namespace catena {

// By state and value: first the clocks, then the registers.
std::vector<std::vector<bool>> live_values(const Cea& cea);

}  // namespace catena
