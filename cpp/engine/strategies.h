// Which evaluator a selection strategy has.
#pragma once

#include <memory>

#include "automaton/cea.h"
#include "columns/classifier.h"
#include "engine/strategy.h"

namespace catena {

// Null for ALL, which the engine evaluates itself. The references must outlive the evaluator.
std::unique_ptr<StrategyEvaluator> make_strategy(Strategy strategy, const Cea& cea,
                                                 ClassTrie& classes, bool has_window,
                                                 uint32_t state_count_max,
                                                 uint32_t valuation_count_max = 1'000'000);

}  // namespace catena
