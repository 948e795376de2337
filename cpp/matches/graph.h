// The compact graph of open matches (the papers' tECS), kept in an arena of fixed-size nodes.
//
// A node stands for a set of partial outputs, each a start and a list of marked positions:
//
//   start(p, L)      { start p; position p marked L, nothing marked if L is empty }
//   output(c, p, L)  every output of c, with position p marked L added
//   join(a, b)       the outputs of a and those of b
//
// so the three As before the two Bs of `A ; B` on A A A B B need 3 starts, 2 joins and 2 outputs
// for their 6 matches. Sharing makes the graph linear in the rows while outputs may be
// exponentially many.
//
// Each node knows the latest start among its outputs, `max_start`, by the window's clock. In a join
// the left side has the later one. So whether a node has an output inside the window is one
// comparison, the left side of a join that has one has one too, and an expired side is never
// followed: the right side's clock is kept beside its handle.
//
// How lists of nodes become joins without growing deep to the left, which the enumerator's delay
// hangs on, is the business of union_list.h.
//
// A *clock-aware* graph (the papers' CAECS) also knows clocks that time operators check. An output
// has a value for each clock: when it was last reset. A fourth node changes and checks them:
//
//   gate(c, R, g)    the outputs of c whose clocks show at least the thresholds g; seen from above,
//                    the clocks in R have been reset since
//
// In `A ;[<= 5] B` a B at time 9 becomes output(gate(c, {}, 4), 9, B), c being the list of all As,
// the older of which stay behind the gate. As the latest start is kept beside the right side of a
// join, so is the latest value of each clock, and a right side that is too old by any of them is
// not followed. Every node has an output that is the latest by start and by all clocks at once
// (engine/chains.h sees to it), so what is followed is never empty.
//
// Invariants: nodes are immutable; a child is made before its parent, so its index is smaller;
// left max_start >= right max_start. Cost: 24 bytes, 8 more for each clock, and constant time per
// node. A graph only grows;
// `Compaction` copies what is still in use into a new one (amortised constant per node), and the
// old one lives as long as somebody reads from it. (Paper 000, appendix C; paper 003, section 7.)
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/types.h"
#include "matches/block_pool.h"

namespace catena {

enum class NodeKind : uint32_t { kStart, kOutput, kJoin };

// A handle: the node's kind in the two top bits, its index below.
class NodeRef {
 public:
  NodeRef() = default;
  NodeRef(NodeKind kind, uint32_t index) : bits_((static_cast<uint32_t>(kind) << 30) | index) {}

  NodeKind kind() const { return static_cast<NodeKind>(bits_ >> 30); }
  uint32_t index() const { return bits_ & kIndexMask; }
  uint32_t bits() const { return bits_; }
  static NodeRef from_bits(uint32_t bits) {
    NodeRef ref;
    ref.bits_ = bits;
    return ref;
  }
  bool operator==(const NodeRef&) const = default;

  static constexpr uint32_t kIndexMask = (1u << 30) - 1;

 private:
  uint32_t bits_ = 0;
};

// Handles never have both top bits set, so these bits tell the marks of an output from the right
// side of a join, and a missing child from a child: a node's kind can be read off the node as well.
inline constexpr uint32_t kNoChild = 0xffffffffu;
inline constexpr uint32_t kMarksTag = 3u << 30;

struct GraphNode {
  Clock max_start;
  int64_t position_or_right_max_start;
  uint32_t first;   // Start: kNoChild. Output: the child. Join: the left side.
  uint32_t second;  // Start, output: the marks, tagged. Join: the right side.

  NodeKind kind() const {
    if (first == kNoChild) return NodeKind::kStart;
    return second >= kMarksTag ? NodeKind::kOutput : NodeKind::kJoin;
  }
  Position position() const { return position_or_right_max_start; }
  Clock right_max_start() const { return position_or_right_max_start; }
  NodeRef child() const { return NodeRef::from_bits(first); }
  NodeRef left() const { return NodeRef::from_bits(first); }
  NodeRef right() const { return NodeRef::from_bits(second); }
  MarksId marks() const { return second & ~kMarksTag; }
  // A gate is an output node in every other respect.
  bool is_gate() const { return position_or_right_max_start == kGate; }
  ClockMask resets() const { return second & ~kMarksTag; }
};
static_assert(sizeof(GraphNode) == 24);

class Graph {
 public:
  static constexpr uint32_t kBlockBits = 12;
  static constexpr uint32_t kBlockSize = 1u << kBlockBits;

  using Pool = BlockPool<GraphNode>;

  explicit Graph(uint32_t clock_count = 0,
                 std::shared_ptr<Pool> pool = std::make_shared<Pool>(kBlockSize))
      : pool_(std::move(pool)), clock_count_(clock_count) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { pool_->give_back(blocks_); }

  // An empty one for the nodes that are still in use.
  std::shared_ptr<Graph> successor() const { return std::make_shared<Graph>(clock_count_, pool_); }

  uint32_t clock_count() const { return clock_count_; }

  NodeRef start(Clock clock, Position position, MarksId marks) {
    return add({clock, position, kNoChild, marks | kMarksTag});
  }

  NodeRef output(NodeRef child, Clock child_max_start, Position position, MarksId marks) {
    return add({child_max_start, position, child.bits(), marks | kMarksTag});
  }

  // In a clock-aware graph with the right side's latest values of the clocks.
  NodeRef join(NodeRef left, Clock left_max_start, NodeRef right, Clock right_max_start,
               std::span<const Clock> right_clocks = {}) {
    assert(left_max_start >= right_max_start);
    return add({left_max_start, right_max_start, left.bits(), right.bits()}, right_clocks);
  }

  NodeRef gate(NodeRef child, Clock child_max_start, ClockMask resets,
               std::span<const Clock> thresholds) {
    return add({child_max_start, kGate, child.bits(), resets | kMarksTag}, thresholds);
  }

  // The latest values of the clocks on the right side of a join; the thresholds of a gate.
  std::span<const Clock> clocks(NodeRef ref) const {
    assert(ref.index() < size_);
    const Clock* block = clocks_[ref.index() >> kBlockBits].get();
    return {block + size_t{ref.index() & (kBlockSize - 1)} * clock_count_, clock_count_};
  }

  const GraphNode& operator[](NodeRef ref) const { return at(ref.index()); }
  const GraphNode& at(uint32_t index) const {
    assert(index < size_);
    return blocks_[index >> kBlockBits][index & (kBlockSize - 1)];
  }

  uint32_t size() const { return size_; }
  size_t bytes() const {
    return blocks_.size() * kBlockSize * (sizeof(GraphNode) + clock_count_ * sizeof(Clock));
  }

  // Adds a node as it stands; for those who copy graphs.
  NodeRef add(const GraphNode& node, std::span<const Clock> clocks = {}) {
    if ((size_ & (kBlockSize - 1)) == 0) add_block();
    last_block_[size_ & (kBlockSize - 1)] = node;
    if (clock_count_ > 0) set_clocks(clocks);
    return {node.kind(), size_++};
  }

 private:
  void add_block();
  void set_clocks(std::span<const Clock> clocks);

  std::shared_ptr<Pool> pool_;
  std::vector<Pool::Block> blocks_;
  GraphNode* last_block_ = nullptr;
  std::vector<std::unique_ptr<Clock[]>> clocks_;  // Beside the nodes, if there are clocks.
  uint32_t clock_count_;
  uint32_t size_ = 0;
};

// Whether the latest values of clocks reach thresholds.
inline bool reaches(std::span<const Clock> latest, std::span<const Clock> thresholds) {
  for (size_t i = 0; i < latest.size(); ++i) {
    if (latest[i] < thresholds[i]) return false;
  }
  return true;
}

// The thresholds that hold below a gate, from those that hold above it.
inline void pass_gate(const Graph& graph, NodeRef gate, std::span<Clock> thresholds) {
  const std::span<const Clock> own = graph.clocks(gate);
  const ClockMask resets = graph[gate].resets();
  for (size_t i = 0; i < own.size(); ++i) {
    const bool is_reset = ((resets >> i) & 1) != 0;
    thresholds[i] = is_reset ? own[i] : std::max(thresholds[i], own[i]);
  }
}

// Copies the nodes in use from one graph into a new one. First every root is marked, each with the
// clock from which on its outputs are still wanted, and, in a clock-aware graph, the thresholds of
// the clocks; then `copy` makes the new graph; then `moved` tells where a root has gone.
//
// Cost: time and memory linear in the number of nodes from the oldest one in use on.
class Compaction {
 public:
  explicit Compaction(const Graph& from);

  const Graph& from() const { return from_; }

  void mark(NodeRef root, Clock threshold, std::span<const Clock> clocks = {});

  // Right sides that nobody wants are cut off.
  std::shared_ptr<Graph> copy();

  NodeRef moved(NodeRef root) const;

 private:
  static constexpr uint32_t kUnused = 0xffffffffu;
  static constexpr uint32_t kMarked = 0xfffffffeu;

  // Nodes are numbered from the last one down, since those in use are mostly the last.
  size_t place(uint32_t index) const { return from_.size() - 1 - size_t{index}; }
  bool reach(size_t place);
  void want(NodeRef ref, Clock threshold);
  void want(NodeRef ref, std::span<const Clock> thresholds);
  void want_children(const GraphNode& node, Clock threshold);
  void want_children(NodeRef ref);
  bool is_marked(NodeRef ref) const;

  const Graph& from_;
  // By place, up to the oldest node in use: kUnused, kMarked, or the new handle's bits.
  std::vector<uint32_t> new_refs_;
  // The same: the lowest thresholds that somebody wants the node's outputs from, by start and by
  // each clock.
  size_t width_;
  std::vector<Clock> wanted_;
  std::vector<Clock> below_;  // The thresholds below the node that is looked at.
};

}  // namespace catena
