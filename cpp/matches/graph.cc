#include "matches/graph.h"

#include <utility>

#include "base/error.h"

namespace catena {

void Graph::add_block() {
  if (size_ > NodeRef::kIndexMask - kBlockSize) {
    throw Error(ErrorKind::kLimit,
                "the graph of open matches grew past 2^30 nodes; give the query a window (WITHIN) "
                "or partition it");
  }
  blocks_.push_back(pool_->take());
  last_block_ = blocks_.back().get();
  if (clock_count_ == 0) return;
  clocks_.push_back(std::make_unique<Clock[]>(size_t{kBlockSize} * clock_count_));
}

void Graph::set_clocks(std::span<const Clock> clocks) {
  assert(clocks.empty() || clocks.size() == clock_count_);
  Clock* block = clocks_[size_ >> kBlockBits].get();
  std::ranges::copy(clocks, block + size_t{size_ & (kBlockSize - 1)} * clock_count_);
}

Compaction::Compaction(const Graph& from)
    : from_(from), width_(1 + from.clock_count()), below_(width_) {}

void Compaction::mark(NodeRef root, Clock threshold, std::span<const Clock> clocks) {
  assert(clocks.size() + 1 == width_);
  below_[0] = threshold;
  std::ranges::copy(clocks, below_.begin() + 1);
  want(root, below_);
}

// Marks a node; true if it was not marked before, and nobody's thresholds are known yet.
inline bool Compaction::reach(size_t at) {
  if (at >= new_refs_.size()) {
    new_refs_.resize(at + 1, kUnused);
    wanted_.resize((at + 1) * width_);
  }
  return std::exchange(new_refs_[at], kMarked) == kUnused;
}

inline void Compaction::want(NodeRef ref, Clock threshold) {
  const size_t at = place(ref.index());
  wanted_[at] = reach(at) ? threshold : std::min(wanted_[at], threshold);
}

void Compaction::want(NodeRef ref, std::span<const Clock> thresholds) {
  const size_t at = place(ref.index());
  const bool is_first = reach(at);
  Clock* lowest = &wanted_[at * width_];
  for (size_t i = 0; i < width_; ++i) {
    lowest[i] = is_first ? thresholds[i] : std::min(lowest[i], thresholds[i]);
  }
}

// An output's child and a join's left side are as late as the node.
void Compaction::want_children(const GraphNode& node, Clock threshold) {
  if (node.kind() == NodeKind::kStart) return;
  want(node.child(), threshold);
  if (node.kind() == NodeKind::kJoin && node.right_max_start() >= threshold) {
    want(node.right(), threshold);
  }
}

// The same by clocks.
void Compaction::want_children(NodeRef ref) {
  const GraphNode& node = from_[ref];
  if (ref.kind() == NodeKind::kStart) return;
  std::copy_n(&wanted_[place(ref.index()) * width_], width_, below_.begin());
  if (ref.kind() == NodeKind::kOutput && node.is_gate()) {
    pass_gate(from_, ref, std::span(below_).subspan(1));
  }
  want(node.child(), below_);
  if (ref.kind() != NodeKind::kJoin || node.right_max_start() < below_[0]) return;
  if (reaches(from_.clocks(ref), std::span(below_).subspan(1))) want(node.right(), below_);
}

std::shared_ptr<Graph> Compaction::copy() {
  for (size_t at = 0; at < new_refs_.size(); ++at) {  // Parents come last, so they are first here.
    if (new_refs_[at] != kMarked) continue;
    const auto index = static_cast<uint32_t>(from_.size() - 1 - at);
    const GraphNode& node = from_.at(index);
    if (width_ == 1) {
      want_children(node, wanted_[at]);
    } else {
      want_children({node.kind(), index});
    }
  }
  std::shared_ptr<Graph> to = from_.successor();
  for (size_t at = new_refs_.size(); at-- > 0;) {
    if (new_refs_[at] != kMarked) continue;
    const auto index = static_cast<uint32_t>(from_.size() - 1 - at);
    GraphNode node = from_.at(index);
    const NodeKind kind = node.kind();
    const NodeRef ref{kind, index};
    if (kind != NodeKind::kStart) node.first = moved(node.child()).bits();
    if (kind == NodeKind::kJoin) {
      if (!is_marked(node.right())) {
        new_refs_[at] = node.first;  // The right side has expired: the node is its left side.
        continue;
      }
      node.second = moved(node.right()).bits();
    }
    const auto clocks = width_ > 1 ? from_.clocks(ref) : std::span<const Clock>();
    new_refs_[at] = to->add(node, clocks).bits();
  }
  return to;
}

bool Compaction::is_marked(NodeRef ref) const {
  const size_t at = place(ref.index());
  return at < new_refs_.size() && new_refs_[at] != kUnused;
}

NodeRef Compaction::moved(NodeRef root) const {
  const uint32_t bits = new_refs_[place(root.index())];
  assert(bits != kUnused && bits != kMarked);
  return NodeRef::from_bits(bits);
}

}  // namespace catena
