#include "engine/evaluator.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

namespace catena {
namespace {

constexpr size_t kBlockSize = 64;  // Rows whose steps are looked at together.

void add_root(const RowPlace& row, NodeRef node, std::vector<Root>& roots) {
  roots.push_back({row.position, row.threshold, node});
}

// The node that a move carries.
Entry carried(const Move& move, const std::vector<Slot>& slots, const RowPlace& row, Graph& graph) {
  if (move.source == kNewRun) {
    return {row.clock, graph.start(row.clock, row.position, move.marks)};
  }
  const Slot& source = slots[move.source];
  if (move.marks == kNoMarks) return {source.max_start, source.node};
  return {source.max_start, graph.output(source.node, source.max_start, row.position, move.marks)};
}

// The list of a new node and of what an operation sets behind it.
Slot joined(const SlotOp& op, Clock max_start, NodeRef head, const Slot* slots, const RowPlace& row,
            Graph& graph) {
  if (op.rest == SlotRest::kNothing) return {max_start, head, 1};
  const Slot& second = slots[op.second];
  const Clock late = second.max_start;
  NodeRef rest = second.node;
  if (op.rest == SlotRest::kWaitsAndOutput) {
    rest = graph.join(graph.output(rest, late, row.position, op.add_marks), late, rest, late);
  }
  return {max_start, graph.join(head, max_start, rest, late), 2};
}

bool is_simple(NodeRef ref) { return ref.kind() != NodeKind::kJoin; }

// A join whose left side is simple, or simple itself (union_list.h).
bool is_safe(NodeRef ref, const Graph& graph) {
  return is_simple(ref) || is_simple(graph[ref].left());
}

// Whether a node is a list of this length: the first entry simple, the others safe and each but the
// second later than the one before.
bool is_list(NodeRef node, uint32_t length, const Graph& graph) {
  Clock before = std::numeric_limits<Clock>::max();
  for (uint32_t i = 0; i + 1 < length; ++i) {
    if (is_simple(node)) return false;
    const GraphNode& join = graph[node];
    if (i == 0 ? !is_simple(join.left()) : !is_safe(join.left(), graph)) return false;
    if (i > 0 && join.max_start >= before) return false;
    if (i > 0) before = join.max_start;
    node = join.right();
  }
  if (length == 1) return is_simple(node);
  return is_safe(node, graph) && graph[node].max_start < before;
}

}  // namespace

void Evaluator::expire(PartState& part, Clock threshold) {
  size_t kept = part.slots.size();
  while (kept > 0 && part.slots[kept - 1].max_start < threshold) --kept;
  if (kept == part.slots.size()) return;
  part.slots.resize(kept);
  part.frontier = frontiers_.prefix(part.frontier, kept);
}

// Starts a list as that of a slot, up to what is outside the window.
void Evaluator::open_list(const Slot& slot, Clock threshold, const Graph& graph) {
  Entry rest{slot.max_start, slot.node};
  for (uint32_t length = slot.length; length > 1; --length) {
    const GraphNode& join = graph[rest.node];
    list_.push_back({rest.max_start, join.left()});
    if (join.right_max_start() < threshold) return;
    rest = {join.right_max_start(), join.right()};
  }
  list_.push_back(rest);
}

// Works through the moves into one slot, or one move into none; gives the slot, if there is one.
Slot Evaluator::take(std::span<const Move> moves, const std::vector<Slot>& slots,
                     const RowPlace& row, Graph& graph, std::vector<Root>& roots) {
  list_.clear();
  for (const Move& move : moves) {
    const bool is_only = moves.size() == 1;
    if (is_only && move.waits() && !move.is_final) return slots[move.source];
    const Entry entry = carried(move, slots, row, graph);
    if (move.is_final) add_root(row, entry.node, roots);
    if (!list_.empty()) {
      insert(graph, list_, 0, entry);
    } else if (move.waits()) {
      if (is_only) return slots[move.source];
      open_list(slots[move.source], row.threshold, graph);
    } else {
      list_.push_back(entry);
    }
  }
  operations_ += list_.size();
  return {list_[0].max_start, merge(graph, list_, row.threshold),
          static_cast<uint32_t>(list_.size())};
}

// A step whose operations can be carried out in place.
void Evaluator::carry_out(const Step& step, std::vector<Slot>& slots, const RowPlace& row,
                          Graph& graph, std::vector<Root>& roots) {
  if (slots.size() < step.slot_count) slots.resize(step.slot_count);
  Slot* at = slots.data();
  for (const SlotOp& op : step.ops) {
    if (op.code == SlotOpCode::kList) {
      const Slot made =
          take(std::span(step.moves).subspan(op.source, op.second), slots, row, graph, roots);
      if (op.target != kNoSlot) at[op.target] = made;
      continue;
    }
    const bool is_new = op.code == SlotOpCode::kStart;
    const Clock max_start = is_new ? row.clock : at[op.source].max_start;
    const NodeRef head = is_new
                             ? graph.start(row.clock, row.position, op.marks)
                             : graph.output(at[op.source].node, max_start, row.position, op.marks);
    if (op.is_final) add_root(row, head, roots);
    if (op.target != kNoSlot) at[op.target] = joined(op, max_start, head, at, row, graph);
  }
  slots.resize(step.slot_count);
}

// Any step: builds all slots anew.
void Evaluator::carry_over(const Step& step, std::vector<Slot>& slots, const RowPlace& row,
                           Graph& graph, std::vector<Root>& roots) {
  next_.clear();
  const std::span<const Move> moves = step.moves;
  for (size_t begin = 0; begin < moves.size();) {
    const uint32_t target = moves[begin].target;
    size_t end = begin + 1;
    while (end < moves.size() && target != kNoSlot && moves[end].target == target) ++end;
    const Slot made = take(moves.subspan(begin, end - begin), slots, row, graph, roots);
    if (target != kNoSlot) next_.push_back(made);
    begin = end;
  }
  slots.assign(next_.begin(), next_.end());  // Not swapped: parts keep only what they need.
}

void Evaluator::advance(PartState& part, ClassId cls, const RowPlace& row, Graph& graph,
                        std::vector<Root>& roots) {
  if (!part.slots.empty() && part.slots.back().max_start < row.threshold) {
    expire(part, row.threshold);
  }
  const Step& step = frontiers_.step(part.frontier, cls);
  if (step.is_identity) return;
  operations_ += 1 + step.moves.size();
  if (step.is_in_place) {
    carry_out(step, part.slots, row, graph, roots);
  } else {
    carry_over(step, part.slots, row, graph, roots);
  }
  part.frontier = step.next;
}

void Evaluator::advance(PartState& part, std::span<const ClassId> classes, const RowClocks& clocks,
                        Position position, Graph& graph, std::vector<Root>& roots) {
  for (size_t begin = 0; begin < classes.size(); begin += kBlockSize) {
    const auto block = classes.subspan(begin, std::min(kBlockSize, classes.size() - begin));
    uint64_t pending = frontiers_.changing(part.frontier, block);
    while (pending != 0) {
      const auto i = static_cast<size_t>(std::countr_zero(pending));
      const FrontierId frontier = part.frontier;
      advance(part, block[i], clocks.place(position, begin + i), graph, roots);
      if (part.frontier != frontier) {
        const uint64_t read = (uint64_t{2} << i) - 1;
        pending = frontiers_.changing(part.frontier, block) & ~read;
      } else {
        pending &= pending - 1;
      }
    }
  }
}

void Evaluator::mark_nodes(PartState& part, Clock threshold, Compaction& compaction) {
  for (Slot& slot : part.slots) {
    compaction.mark(slot.node, threshold);
    NodeRef node = slot.node;
    for (uint32_t i = 1; i < slot.length; ++i) {
      const GraphNode& join = compaction.from()[node];
      if (join.right_max_start() < threshold) slot.length = i;
      node = join.right();
    }
  }
}

void Evaluator::move_nodes(PartState& part, const Compaction& compaction) {
  for (Slot& slot : part.slots) slot.node = compaction.moved(slot.node);
}

bool Evaluator::has_consistent_slots(const PartState& part, const Graph& graph, size_t slot_count) {
  Clock latest = std::numeric_limits<Clock>::max();
  for (const Slot& slot : part.slots) {
    if (slot.length == 0 || slot.max_start > latest) return false;
    if (graph[slot.node].max_start != slot.max_start) return false;
    if (!is_list(slot.node, slot.length, graph)) return false;
    latest = slot.max_start;
  }
  return part.slots.size() == slot_count;
}

}  // namespace catena
