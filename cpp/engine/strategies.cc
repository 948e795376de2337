#include "engine/strategies.h"

#include "engine/contest_evaluator.h"
#include "engine/max_selection.h"
#include "engine/monotonic.h"
#include "engine/selection.h"
#include "engine/timed.h"

namespace catena {

std::unique_ptr<StrategyEvaluator> make_strategy(Strategy strategy, const Cea& cea,
                                                 ClassTrie& classes, bool has_window,
                                                 uint32_t state_count_max,
                                                 uint32_t valuation_count_max) {
  const bool has_words =
      cea.clock_count() > 0 || cea.register_count() > 0 || !cea.condition_reads().empty();
  if ((has_words && strategy != Strategy::kAll) || !cea.scopes().empty()) {
    return std::make_unique<ContestEvaluator>(strategy, cea, classes, has_window,
                                              valuation_count_max);
  }
  if (has_words) {
    if (cea.is_monotonic()) {
      return std::make_unique<MonotonicEvaluator>(cea, classes, state_count_max);
    }
    return std::make_unique<TimedEvaluator>(cea, classes, state_count_max, valuation_count_max);
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
