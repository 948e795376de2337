// What the rows of a batch gave: for every row that ends matches, the graph nodes that hold them.
//
// A result set is cheap to make (a root per ending row and determinized state) and keeps alive the
// graphs that its roots lie in; the matches themselves are made by whoever reads them
// (enumerator.h, counter.h). Invariant: roots are ordered by end; every root has an output inside
// its window.
#pragma once

#include <memory>
#include <vector>

#include "base/types.h"
#include "matches/graph.h"

namespace catena {

inline const NodeRef kNoNode = NodeRef::from_bits(0xffffffffu);

struct Root {
  Position end;
  Clock threshold;  // Starts before this are outside the window.
  NodeRef node;
  // Where outputs of `node` that end in a pivot (kPivot) go on: their first part, linked from the
  // first position to the last (engine/selection.h).
  NodeRef front = kNoNode;
  // The matches of this row's roots may repeat each other; whoever reads them drops repetitions.
  bool may_repeat = false;
};

struct ResultSegment {
  std::shared_ptr<const Graph> graph;
  std::vector<Root> roots;
};

struct ResultSet {
  std::vector<ResultSegment> segments;
};

// A place among the roots of a result set; visits them in order.
class RootCursor {
 public:
  explicit RootCursor(const ResultSet& results) : results_(results) { skip_empty_segments(); }

  bool at_end() const { return segment_ == results_.segments.size(); }
  const Graph& graph() const { return *results_.segments[segment_].graph; }
  const Root& root() const { return results_.segments[segment_].roots[root_]; }
  size_t segment() const { return segment_; }

  void advance() {
    ++root_;
    skip_empty_segments();
  }

 private:
  void skip_empty_segments() {
    while (!at_end() && root_ == results_.segments[segment_].roots.size()) {
      ++segment_;
      root_ = 0;
    }
  }

  const ResultSet& results_;
  size_t segment_ = 0;
  size_t root_ = 0;
};

}  // namespace catena
