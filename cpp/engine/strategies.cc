#include "engine/strategies.h"

#include "base/error.h"
#include "engine/selection.h"

namespace catena {

std::unique_ptr<StrategyEvaluator> make_strategy(Strategy strategy, const Cea& cea,
                                                 ClassTrie& classes, bool has_window) {
  switch (strategy) {
    case Strategy::kAll:
      return nullptr;
    case Strategy::kNext:
    case Strategy::kLast:
      return std::make_unique<Selection>(cea, classes, strategy, has_window);
    case Strategy::kMax:
      throw Error(ErrorKind::kUser, "this strategy is not supported yet");
  }
  return nullptr;
}

}  // namespace catena
