#include "engine/strategies.h"

#include <cassert>

#include "engine/max_selection.h"
#include "engine/selection.h"
#include "engine/timed.h"

namespace catena {

std::unique_ptr<StrategyEvaluator> make_strategy(Strategy strategy, const Cea& cea,
                                                 ClassTrie& classes, bool has_window,
                                                 uint32_t state_count_max) {
  if (cea.clock_count() > 0) {
    assert(strategy == Strategy::kAll);
    return std::make_unique<TimedEvaluator>(cea, classes, state_count_max);
  }
  switch (strategy) {
    case Strategy::kAll:
      return nullptr;
    case Strategy::kNext:
    case Strategy::kLast:
      return std::make_unique<Selection>(cea, classes, strategy, has_window);
    case Strategy::kMax:
      return std::make_unique<MaxSelection>(cea, classes, has_window, state_count_max);
  }
  return nullptr;
}

}  // namespace catena
