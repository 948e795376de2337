#include "engine/evaluator.h"

#include <limits>

namespace catena {
namespace {

const NodeRef kNotMerged = NodeRef::from_bits(0xffffffffu);

size_t slot_size(const Entry& header) { return header.length == 1 ? 1 : 1 + header.length; }

}  // namespace

void Evaluator::locate_slots(const PartState& part) {
  slot_at_.clear();
  for (size_t at = 0; at < part.lists.size(); at += slot_size(part.lists[at])) {
    slot_at_.push_back(at);
  }
}

void Evaluator::expire(PartState& part, Clock threshold) {
  size_t kept = 0;
  size_t at = 0;
  while (at < part.lists.size() && part.lists[at].max_start >= threshold) {
    at += slot_size(part.lists[at]);
    ++kept;
  }
  if (at == part.lists.size()) return;
  part.lists.resize(at);
  part.frontier = frontiers_.prefix(part.frontier, kept);
}

Entry Evaluator::merged(PartState& part, uint32_t slot, Clock threshold, Graph& graph) {
  Entry& header = part.lists[slot_at_[slot]];
  if (header.node == kNotMerged) {
    header.node = merge(graph, {&header + 1, header.length}, threshold);
    operations_ += header.length;
  }
  return {header.max_start, header.node};
}

// The node that a move carries.
Entry Evaluator::take(PartState& part, const Move& move, const Row& row, Graph& graph) {
  if (move.source == kNewRun) {
    return {row.clock, graph.start(row.clock, row.position, move.marks)};
  }
  const Entry source = merged(part, move.source, row.threshold, graph);
  if (move.marks == kNoMarks) return source;
  return {source.max_start, graph.output(source.node, source.max_start, row.position, move.marks)};
}

// Starts the list of a slot after its header: a copy of the source's list if the move only waits,
// else one node.
void Evaluator::open_list(const PartState& part, const Move& move, Clock threshold,
                          const Entry& entry) {
  if (move.source == kNewRun || move.marks != kNoMarks) {
    next_.push_back(entry);
    return;
  }
  const Entry* header = &part.lists[slot_at_[move.source]];
  if (header->length == 1) {
    next_.push_back(*header);
    return;
  }
  uint32_t length = header->length;
  while (length > 1 && header[length].max_start < threshold) --length;
  next_.insert(next_.end(), header + 1, header + 1 + length);
  operations_ += length;
}

// Turns [header, list...] into a slot. A list of one needs no header of its own.
void Evaluator::close_list(std::vector<Entry>& lists, size_t header, bool was_inserted_into) {
  const auto length = static_cast<uint32_t>(lists.size() - header - 1);
  if (length == 1) {
    lists[header] = lists.back();
    lists[header].length = 1;
    lists.pop_back();
    return;
  }
  lists[header].max_start = lists[header + 1].max_start;
  lists[header].length = length;
  if (was_inserted_into) lists[header].node = kNotMerged;
}

void Evaluator::advance(PartState& part, ClassId cls, const Row& row, Graph& graph,
                        std::vector<Root>& roots) {
  expire(part, row.threshold);
  const Step& step = frontiers_.step(part.frontier, cls);
  locate_slots(part);
  next_.clear();
  operations_ += 1 + step.moves.size();
  for (size_t i = 0; i < step.moves.size();) {
    const uint32_t target = step.moves[i].target;
    const size_t header = next_.size();
    bool is_open = false;
    bool was_inserted_into = false;
    for (; i < step.moves.size() && step.moves[i].target == target; ++i) {
      const Move& move = step.moves[i];
      const bool waits = move.source != kNewRun && move.marks == kNoMarks;
      const bool needs_node = move.is_final || (target != kNoSlot && (is_open || !waits));
      const Entry entry = needs_node ? take(part, move, row, graph) : Entry{};
      if (move.is_final && entry.max_start >= row.threshold) {
        roots.push_back({row.position, row.threshold, entry.node});
      }
      if (target == kNoSlot) continue;
      if (is_open) {
        insert(graph, next_, header + 1, entry);
        was_inserted_into = true;
      } else {
        next_.push_back(waits ? part.lists[slot_at_[move.source]] : entry);
        open_list(part, move, row.threshold, entry);
        is_open = true;
      }
    }
    if (is_open) close_list(next_, header, was_inserted_into);
  }
  part.lists.assign(next_.begin(), next_.end());  // Not swapped: parts keep only what they need.
  part.frontier = step.next;
}

void Evaluator::mark_nodes(PartState& part, Clock threshold, Compaction& compaction) {
  std::vector<Entry> kept;
  for (size_t at = 0; at < part.lists.size(); at += slot_size(part.lists[at])) {
    const Entry* header = &part.lists[at];
    if (header->node != kNotMerged) compaction.mark(header->node, threshold);
    kept.push_back(*header);
    if (header->length == 1) continue;
    const size_t header_at = kept.size() - 1;
    for (uint32_t i = 1; i <= header->length && header[i].max_start >= threshold; ++i) {
      kept.push_back(header[i]);
      compaction.mark(header[i].node, threshold);
    }
    close_list(kept, header_at, false);
  }
  part.lists = std::move(kept);
}

void Evaluator::move_nodes(PartState& part, const Compaction& compaction) {
  for (Entry& entry : part.lists) {
    if (entry.node != kNotMerged) entry.node = compaction.moved(entry.node);
  }
}

bool Evaluator::is_unmerged(const Entry& header) { return header.node == kNotMerged; }

bool Evaluator::has_consistent_lists(const PartState& part, size_t slot_count) {
  Clock latest = std::numeric_limits<Clock>::max();
  size_t at = 0;
  for (size_t slot = 0; slot < slot_count; ++slot) {
    if (at >= part.lists.size()) return false;
    const Entry* header = &part.lists[at];
    const size_t room = part.lists.size() - at;
    if (header->length == 0 || header->max_start > latest) return false;
    if (header->length >= room && header->length != 1) return false;
    const Entry* first = header->length == 1 ? header : header + 1;
    if (is_unmerged(*first) || first->node.kind() == NodeKind::kJoin) return false;
    if (first->max_start != header->max_start) return false;
    for (uint32_t i = 1; i < header->length; ++i) {
      if (is_unmerged(first[i]) || first[i].length != 1) return false;
      const Clock before = first[i - 1].max_start;
      if (i == 1 ? first[i].max_start > before : first[i].max_start >= before) return false;
    }
    latest = header->max_start;
    at += slot_size(*header);
  }
  return at == part.lists.size();
}

}  // namespace catena
