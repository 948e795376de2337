// A result set as Python holds it: with the engine's lock, since the graph it reads from may still
// grow in another thread, and the automaton, which knows what marks mean.
#pragma once

#include <memory>
#include <mutex>

#include "automaton/cea.h"
#include "matches/result_set.h"

namespace catena {

struct SharedResults {
  std::shared_ptr<const ResultSet> results;
  std::shared_ptr<const Cea> cea;
  std::shared_ptr<std::mutex> mutex;
};

}  // namespace catena
