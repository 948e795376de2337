// Matches as columns: starts, ends, and for every variable a list of positions per match.
//
// This is how matches leave the engine: flat arrays in the layout of Arrow's list columns, so that
// nothing is made per match on the other side. Cost: linear in what is written.
#pragma once

#include <cstdint>
#include <vector>

#include "automaton/cea.h"
#include "base/types.h"
#include "matches/enumerator.h"

namespace catena {

struct PositionLists {
  std::vector<int32_t> offsets{0};  // One more than matches.
  std::vector<Position> positions;
};

struct MatchColumns {
  std::vector<Position> starts;
  std::vector<Position> ends;
  std::vector<PositionLists> variables;  // By VariableId.
};

// Reads up to `match_count_max` matches; fewer only at the end, or when they have a million
// positions already.
MatchColumns read_matches(Enumerator& enumerator, const Cea& cea, uint64_t match_count_max);

}  // namespace catena
