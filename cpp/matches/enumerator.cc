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
    thresholds_.assign(graph_->clock_count(), kClockMin);
    pending_.push_back({root_.node, 0, kNoFront, -1, 0});
    return true;
  }
  return false;
}

// Whether the right side of a join has an output that the window and the gates above let through.
bool Enumerator::is_inside(const GraphNode& join, NodeRef ref, uint32_t thresholds) const {
  if (join.right_max_start() < root_.threshold) return false;
  if (graph_->clock_count() == 0) return true;
  return reaches(graph_->clocks(ref), std::span(thresholds_).subspan(thresholds));
}

// Stacks the thresholds below a gate on those above it.
uint32_t Enumerator::below_gate(NodeRef gate, uint32_t above) {
  const uint32_t count = graph_->clock_count();
  thresholds_.resize(above + 2 * count);
  std::copy_n(thresholds_.begin() + above, count, thresholds_.begin() + above + count);
  pass_gate(*graph_, gate, std::span(thresholds_).last(count));
  return above + count;
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
        if (is_inside(node, ref, branch.thresholds)) {
          pending_.push_back({node.right(), static_cast<uint32_t>(path_.size()), front_begin_,
                              start_, branch.thresholds});
        }
        ref = node.left();
        break;
      case NodeKind::kOutput:
        if (node.is_gate()) {
          branch.thresholds = below_gate(ref, branch.thresholds);
          ref = node.child();
          break;
        }
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
