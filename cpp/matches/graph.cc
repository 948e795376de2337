#include "matches/graph.h"

#include "base/error.h"

namespace catena {

void Graph::add_block() {
  if (size_ > NodeRef::kIndexMask - kBlockSize) {
    throw Error(ErrorKind::kLimit,
                "the graph of open matches grew past 2^30 nodes; give the query a window (WITHIN) "
                "or partition it");
  }
  blocks_.push_back(std::make_unique_for_overwrite<GraphNode[]>(kBlockSize));
  if (clock_count_ == 0) return;
  clocks_.push_back(std::make_unique<Clock[]>(size_t{kBlockSize} * clock_count_));
}

void Graph::set_clocks(std::span<const Clock> clocks) {
  assert(clocks.empty() || clocks.size() == clock_count_);
  Clock* block = clocks_[size_ >> kBlockBits].get();
  std::ranges::copy(clocks, block + size_t{size_ & (kBlockSize - 1)} * clock_count_);
}

Compaction::Compaction(const Graph& from)
    : from_(from),
      new_refs_(from.size(), kUnused),
      width_(1 + from.clock_count()),
      wanted_(from.size() * width_),
      below_(width_) {}

void Compaction::mark(NodeRef root, Clock threshold, std::span<const Clock> clocks) {
  assert(clocks.size() + 1 == width_);
  below_[0] = threshold;
  std::ranges::copy(clocks, below_.begin() + 1);
  want(root, below_);
}

void Compaction::want(NodeRef ref, std::span<const Clock> thresholds) {
  const std::span<Clock> lowest = wanted(ref);
  if (new_refs_[ref.index()] == kUnused) {
    new_refs_[ref.index()] = kMarked;
    std::ranges::copy(thresholds, lowest.begin());
    return;
  }
  for (size_t i = 0; i < width_; ++i) lowest[i] = std::min(lowest[i], thresholds[i]);
}

void Compaction::want_children(NodeRef ref) {
  const GraphNode& node = from_[ref];
  if (ref.kind() == NodeKind::kStart) return;
  std::ranges::copy(wanted(ref), below_.begin());
  if (ref.kind() == NodeKind::kOutput && node.is_gate()) {
    pass_gate(from_, ref, std::span(below_).subspan(1));
  }
  want(node.child(), below_);  // An output's child and a join's left side are as late as the node.
  if (ref.kind() != NodeKind::kJoin || node.right_max_start() < below_[0]) return;
  if (width_ > 1 && !reaches(from_.clocks(ref), std::span(below_).subspan(1))) return;
  want(node.right(), below_);
}

std::shared_ptr<Graph> Compaction::copy() {
  for (uint32_t index = from_.size(); index-- > 0;) {  // Parents come last, so they are first here.
    if (new_refs_[index] == kMarked) want_children({from_.at(index).kind(), index});
  }
  auto to = std::make_shared<Graph>(from_.clock_count());
  for (uint32_t index = 0; index < from_.size(); ++index) {
    if (new_refs_[index] != kMarked) continue;
    GraphNode node = from_.at(index);
    const NodeKind kind = node.kind();
    const NodeRef ref{kind, index};
    if (kind != NodeKind::kStart) node.first = moved(node.child()).bits();
    if (kind == NodeKind::kJoin) {
      if (new_refs_[node.right().index()] == kUnused) {
        new_refs_[index] = node.first;  // The right side has expired: the node is its left side.
        continue;
      }
      node.second = moved(node.right()).bits();
    }
    const auto clocks = width_ > 1 ? from_.clocks(ref) : std::span<const Clock>();
    new_refs_[index] = to->add(node, clocks).bits();
  }
  return to;
}

NodeRef Compaction::moved(NodeRef root) const {
  const uint32_t bits = new_refs_[root.index()];
  assert(bits != kUnused && bits != kMarked);
  return NodeRef::from_bits(bits);
}

}  // namespace catena
