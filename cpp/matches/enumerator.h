// Enumeration of matches with output-linear delay (paper 003, Algorithm 2; paper 000, appendix C).
//
// A depth-first walk from a root to the starts with an explicit stack. Going down, an output node
// appends its position to the path; a join remembers its right side, if that has an output inside
// the window, together with the length of the path, and goes left. At a start the path, read
// backwards, is a match. To go on, the walk takes the last remembered right side and cuts the path
// back to its length.
//
// Why the delay is linear in the next match: an expired node is never entered, so no branch is
// dead; left sides nest at most three deep (union_list.h), so there is an output node or a start
// every few steps; and each output node adds to the match that is reported next. `steps` counts the
// nodes visited, and a test holds the bound.
#pragma once

#include <optional>
#include <vector>

#include "base/types.h"
#include "matches/graph.h"
#include "matches/result_set.h"

namespace catena {

struct MarkedPosition {
  Position position;
  MarksId marks;
};

class Enumerator {
 public:
  // At most `limit_per_row` matches of each ending row are reported. The result set must outlive
  // this.
  Enumerator(const ResultSet& results, std::optional<uint64_t> limit_per_row)
      : cursor_(results), limit_(limit_per_row) {}

  // Goes to the next match; false if there is none.
  bool next();

  Position start() const { return start_; }
  Position end() const { return end_; }

  // The marked positions of the current match, last one first.
  const std::vector<MarkedPosition>& path() const { return path_; }

  // Nodes visited so far.
  uint64_t steps() const { return steps_; }

 private:
  struct Branch {
    NodeRef node;
    uint32_t path_length;
  };

  bool take_root();
  void descend(Branch branch);

  RootCursor cursor_;
  std::optional<uint64_t> limit_;
  const Graph* graph_ = nullptr;
  Clock threshold_ = kClockMin;
  Position start_ = -1;
  Position end_ = -1;
  uint64_t reported_for_end_ = 0;
  std::vector<Branch> pending_;
  std::vector<MarkedPosition> path_;
  uint64_t steps_ = 0;
};

}  // namespace catena
