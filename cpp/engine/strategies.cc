#include "engine/strategies.h"

#include "base/error.h"

namespace catena {

std::unique_ptr<StrategyEvaluator> make_strategy(Strategy strategy, const Cea&, ClassTrie&, bool) {
  if (strategy == Strategy::kAll) return nullptr;
  throw Error(ErrorKind::kUser, "this strategy is not supported yet");
}

}  // namespace catena
