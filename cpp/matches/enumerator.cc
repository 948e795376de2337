#include "matches/enumerator.h"

namespace catena {

bool Enumerator::next() {
  if (limit_ && reported_for_end_ >= *limit_) pending_.clear();
  if (pending_.empty() && !take_root()) return false;
  const Branch branch = pending_.back();
  pending_.pop_back();
  descend(branch);
  ++reported_for_end_;
  return true;
}

// Moves on to the next root from which something may be reported.
bool Enumerator::take_root() {
  while (!cursor_.at_end()) {
    const Root& root = cursor_.root();
    if (root.end != end_) reported_for_end_ = 0;
    end_ = root.end;
    threshold_ = root.threshold;
    graph_ = &cursor_.graph();
    const NodeRef node = root.node;
    cursor_.advance();
    if (limit_ && reported_for_end_ >= *limit_) continue;
    pending_.push_back({node, 0});
    return true;
  }
  return false;
}

void Enumerator::descend(Branch branch) {
  path_.resize(branch.path_length);
  for (NodeRef ref = branch.node;;) {
    ++steps_;
    const GraphNode& node = (*graph_)[ref];
    assert(node.max_start >= threshold_);
    switch (ref.kind()) {
      case NodeKind::kJoin:
        if (node.right_max_start() >= threshold_) {
          pending_.push_back({node.right(), static_cast<uint32_t>(path_.size())});
        }
        ref = node.left();
        break;
      case NodeKind::kOutput:
        path_.push_back({node.position(), node.marks()});
        ref = node.child();
        break;
      case NodeKind::kStart:
        if (node.marks() != kNoMarks) path_.push_back({node.position(), node.marks()});
        start_ = node.position();
        return;
    }
  }
}

}  // namespace catena
