#include "matches/match_columns.h"

namespace catena {
namespace {

// Positions after which a read ends, so that long matches take no more memory than many short ones.
constexpr size_t kPositionCountMax = size_t{1} << 20;

// Returns the number of positions written.
size_t write_marks(const Enumerator& enumerator, const Cea& cea, MatchColumns& columns) {
  size_t count = 0;
  enumerator.for_each_mark([&](const MarkedPosition& mark) {
    for (VariableId variable : cea.variables_of(mark.marks)) {
      columns.variables[variable].positions.push_back(mark.position);
      ++count;
    }
  });
  return count;
}

}  // namespace

MatchColumns read_matches(Enumerator& enumerator, const Cea& cea, uint64_t match_count_max) {
  MatchColumns columns;
  columns.variables.resize(cea.variable_count());
  size_t written = 0;
  while (columns.starts.size() < match_count_max && written < kPositionCountMax &&
         enumerator.next()) {
    columns.starts.push_back(enumerator.start());
    columns.ends.push_back(enumerator.end());
    written += write_marks(enumerator, cea, columns);
    for (PositionLists& lists : columns.variables) {
      lists.offsets.push_back(static_cast<int32_t>(lists.positions.size()));
    }
  }
  return columns;
}

}  // namespace catena
