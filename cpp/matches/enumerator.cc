#include "matches/enumerator.h"

namespace catena {

bool Enumerator::next() {
  do {
    if (limit_ && reported_for_end_ >= *limit_) pending_.clear();
    if (pending_.empty() && !take_root()) return false;
    const Branch branch = pending_.back();
    pending_.pop_back();
    descend(branch);
  } while (root_.may_repeat && is_repetition());
  ++reported_for_end_;
  return true;
}

// Moves on to the next root from which something may be reported.
bool Enumerator::take_root() {
  while (!cursor_.at_end()) {
    if (cursor_.root().end != root_.end) {
      reported_for_end_ = 0;
      reported_.clear();
    }
    root_ = cursor_.root();
    graph_ = &cursor_.graph();
    cursor_.advance();
    if (limit_ && reported_for_end_ >= *limit_) continue;
    pending_.push_back({root_.node, 0, kNoFront, -1});
    return true;
  }
  return false;
}

void Enumerator::descend(Branch branch) {
  path_.resize(branch.path_length);
  front_begin_ = branch.front_begin;
  start_ = branch.start;
  for (NodeRef ref = branch.node;;) {
    ++steps_;
    const GraphNode& node = (*graph_)[ref];
    const bool is_in_front = front_begin_ != kNoFront;
    switch (ref.kind()) {
      case NodeKind::kJoin:
        if (node.right_max_start() >= root_.threshold) {
          pending_.push_back(
              {node.right(), static_cast<uint32_t>(path_.size()), front_begin_, start_});
        }
        ref = node.left();
        break;
      case NodeKind::kOutput:
        if (is_in_front && start_ < 0) start_ = node.position();
        if (node.marks() != kNoMarks) path_.push_back({node.position(), node.marks()});
        ref = node.child();
        break;
      case NodeKind::kStart:
        if (node.position() != kPivot) {
          if (node.marks() != kNoMarks) path_.push_back({node.position(), node.marks()});
          start_ = node.position();
          return;
        }
        if (is_in_front || root_.front == kNoNode) return;
        front_begin_ = path_.size();
        ref = root_.front;
        break;
    }
  }
}

bool Enumerator::is_repetition() {
  std::vector<int64_t> key{start_};
  for_each_mark([&](const MarkedPosition& mark) {
    key.push_back(mark.position);
    key.push_back(static_cast<int64_t>(mark.marks));
  });
  return !reported_.insert(std::move(key)).second;
}

}  // namespace catena
