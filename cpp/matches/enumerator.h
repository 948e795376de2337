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
//
// A root may have a front (result_set.h): then the outputs of its node end in a pivot, and the walk
// goes on in the front, whose nodes come first position first; the first of them is the start.
//
// In a clock-aware graph the walk takes along the thresholds that the gates above ask for; a
// remembered right side remembers which they were. As a gate always lies below an output node or a
// root, it adds no more than a constant to the delay.
//
// Where the roots of a row may repeat each other, the matches reported for the row are remembered,
// and a repetition is passed over.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
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
  Position end() const { return root_.end; }

  // Calls visit(MarkedPosition) for the marked positions of the current match, first one first.
  template <typename Visit>
  void for_each_mark(Visit visit) const {
    for (size_t i = front_begin_; i < path_.size(); ++i) visit(path_[i]);
    for (size_t i = std::min(front_begin_, path_.size()); i-- > 0;) visit(path_[i]);
  }
  size_t mark_count() const { return path_.size(); }

  // Nodes visited so far.
  uint64_t steps() const { return steps_; }

 private:
  struct Branch {
    NodeRef node;
    uint32_t path_length;
    size_t front_begin;  // Where the front begins in the path; kNoFront before that.
    Position start;
    uint32_t thresholds;  // Those of the clocks: their place in thresholds_.
  };
  static constexpr size_t kNoFront = std::numeric_limits<size_t>::max();

  bool take_root();
  void descend(Branch branch);
  bool is_repetition();
  bool is_inside(const GraphNode& join, NodeRef ref, uint32_t thresholds) const;
  uint32_t below_gate(NodeRef gate, uint32_t above);

  RootCursor cursor_;
  std::optional<uint64_t> limit_;
  const Graph* graph_ = nullptr;
  Root root_{-1, kClockMin, kNoNode};
  Position start_ = -1;
  uint64_t reported_for_end_ = 0;
  std::vector<Branch> pending_;
  std::vector<MarkedPosition> path_;  // Back part, last position first; then the front in order.
  size_t front_begin_ = kNoFront;
  // Stacked: one value per clock for the root, and for each gate on the way down.
  std::vector<Clock> thresholds_;
  std::set<std::vector<int64_t>> reported_;  // Of the current end, where roots may repeat.
  uint64_t steps_ = 0;
};

}  // namespace catena
