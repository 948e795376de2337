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
}

void Compaction::visit(NodeRef ref) {
  uint32_t& slot = new_refs_[ref.index()];
  if (slot != kUnused) return;
  slot = kMarked;
  pending_.push_back(ref);
}

void Compaction::mark(NodeRef root, Clock threshold) {
  visit(root);
  while (!pending_.empty()) {
    const NodeRef ref = pending_.back();
    pending_.pop_back();
    const GraphNode& node = from_[ref];
    if (ref.kind() == NodeKind::kStart) continue;
    visit(node.child());  // An output's child and a join's left side are as late as the node.
    if (ref.kind() == NodeKind::kJoin && node.right_max_start() >= threshold) visit(node.right());
  }
}

std::shared_ptr<Graph> Compaction::copy() {
  auto to = std::make_shared<Graph>();
  for (uint32_t index = 0; index < from_.size();
       ++index) {  // Children come first, so they do here.
    if (new_refs_[index] != kMarked) continue;
    GraphNode node = from_.at(index);
    const NodeKind kind = node.kind();
    if (kind != NodeKind::kStart) node.first = moved(node.child()).bits();
    if (kind == NodeKind::kJoin) {
      if (new_refs_[node.right().index()] == kUnused) {
        new_refs_[index] = node.first;  // The right side has expired: the node is its left side.
        continue;
      }
      node.second = moved(node.right()).bits();
    }
    new_refs_[index] = to->add(node).bits();
  }
  return to;
}

NodeRef Compaction::moved(NodeRef root) const {
  const uint32_t bits = new_refs_[root.index()];
  assert(bits != kUnused && bits != kMarked);
  return NodeRef::from_bits(bits);
}

}  // namespace catena
