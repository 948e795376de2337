// Instances that were detected, as columns.
#pragma once

#include <vector>

#include "base/types.h"
#include "matches/match_columns.h"

namespace catena {

struct Detected {
  bool has_float_times = false;  // Then clocks stand for floats (engine/window.h).
  std::vector<Clock> starts;
  std::vector<Clock> ends;
  std::vector<Position> positions;  // The last row of the tick that is an occurrence.
  std::vector<PositionLists> rows;  // By primitive; empty without rows.
};

}  // namespace catena
