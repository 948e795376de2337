#include "matches/match_columns.h"

namespace catena {
namespace {

// A match longer than the room left above this would overflow the 32-bit offsets of a list column.
constexpr size_t kPositionCountMax = size_t{1} << 28;

void write_marks(const Enumerator& enumerator, const Cea& cea, MatchColumns& columns) {
  enumerator.for_each_mark([&](const MarkedPosition& mark) {
    for (VariableId variable : cea.variables_of(mark.marks)) {
      columns.variables[variable].positions.push_back(mark.position);
    }
  });
}

}  // namespace

MatchColumns read_matches(Enumerator& enumerator, const Cea& cea, uint64_t match_count_max) {
  MatchColumns columns;
  columns.variables.resize(cea.variable_count());
  size_t marked = 0;
  while (columns.starts.size() < match_count_max && marked < kPositionCountMax &&
         enumerator.next()) {
    columns.starts.push_back(enumerator.start());
    columns.ends.push_back(enumerator.end());
    write_marks(enumerator, cea, columns);
    marked += enumerator.mark_count();
    for (PositionLists& lists : columns.variables) {
      lists.offsets.push_back(static_cast<int32_t>(lists.positions.size()));
    }
  }
  return columns;
}

}  // namespace catena
