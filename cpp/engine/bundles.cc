#include "engine/bundles.h"

#include <cassert>

#include "engine/frontier.h"
#include "engine/snapshot.h"

namespace catena {
namespace {

void add_root(const Row& row, const Entry& entry, std::vector<Root>& roots) {
  assert(entry.max_start >= row.threshold);
  roots.push_back({row.position, row.threshold, entry.node});
}

void close_list(Bundle& bundle, std::span<const Entry> list) {
  bundle.max_start = list.front().max_start;
  bundle.length = static_cast<uint32_t>(list.size());
  if (list.size() == 1) bundle.merged = list.front().node;
}

}  // namespace

void Bundles::clear() {
  all.clear();
  clocks.clear();
  entries.clear();
}

void Bundles::pop() {
  clocks.resize(clocks.size() - all.back().clock_count);
  entries.resize(entries.size() - all.back().length);
  all.pop_back();
}

void Bundles::cut_lists(Clock threshold) {
  size_t from = 0;
  size_t to = 0;
  for (Bundle& bundle : all) {
    const uint32_t length = bundle.length;
    uint32_t kept = 0;
    for (; kept < length && entries[from + kept].max_start >= threshold; ++kept) {
      entries[to + kept] = entries[from + kept];
    }
    assert(kept > 0);
    close_list(bundle, std::span(entries).subspan(to, kept));
    from += length;
    to += kept;
  }
  entries.resize(to);
}

void Bundles::mark_nodes(Compaction& compaction, Clock threshold) const {
  for (const Bundle& bundle : all) {
    if (bundle.merged != kNotMerged) compaction.mark(bundle.merged, threshold);
  }
  for (const Entry& entry : entries) compaction.mark(entry.node, threshold);
}

void Bundles::move_nodes(const Compaction& compaction) {
  for (Bundle& bundle : all) {
    if (bundle.merged != kNotMerged) bundle.merged = compaction.moved(bundle.merged);
  }
  for (Entry& entry : entries) entry.node = compaction.moved(entry.node);
}

size_t Bundles::bytes() const {
  return all.capacity() * sizeof(Bundle) + clocks.capacity() * sizeof(Clock) +
         entries.capacity() * sizeof(Entry);
}

void BundleStep::locate(const Bundles& bundles) {
  clocks_at_.clear();
  entries_at_.clear();
  size_t clocks_at = 0;
  size_t entries_at = 0;
  for (const Bundle& bundle : bundles.all) {
    clocks_at_.push_back(clocks_at);
    entries_at_.push_back(entries_at);
    clocks_at += bundle.clock_count;
    entries_at += bundle.length;
  }
  assert(clocks_at == bundles.clocks.size() && entries_at == bundles.entries.size());
}

Entry BundleStep::merged(Bundles& bundles, uint32_t place, Clock threshold, Graph& graph) {
  Bundle& bundle = bundles.all[place];
  if (bundle.merged == kNotMerged) {
    const auto list = std::span(bundles.entries).subspan(entries_at_[place], bundle.length);
    bundle.merged = merge(graph, list, threshold);
    operations_ += bundle.length;
  }
  return {bundle.max_start, bundle.merged};
}

// The node that a move carries.
Entry BundleStep::carried(Bundles& bundles, const BundlePlan::Move& move, const Row& row,
                          Graph& graph) {
  if (move.source == kNewRun) {
    return {row.clock, graph.start(row.clock, row.position, move.marks)};
  }
  const Entry source = merged(bundles, move.source, row.threshold, graph);
  if (move.marks == kNoMarks) return source;
  return {source.max_start, graph.output(source.node, source.max_start, row.position, move.marks)};
}

void BundleStep::copy_list(const Bundles& bundles, uint32_t place, Clock threshold) {
  const Entry* list = &bundles.entries[entries_at_[place]];
  uint32_t length = bundles.all[place].length;
  while (length > 1 && list[length - 1].max_start < threshold) --length;
  next_.entries.insert(next_.entries.end(), list, list + length);
  operations_ += length;
}

// Makes the bundle of a target out of the moves into it, and the roots of those that are final.
void BundleStep::build(Bundles& bundles, uint32_t place, const Row& row, Graph& graph,
                       std::vector<Root>& roots) {
  const BundlePlan::Target& target = plan.targets()[place];
  const size_t begin = next_.entries.size();
  const auto clock_count = static_cast<uint32_t>(plan.clocks_of(place).size());
  Bundle bundle{row.clock, target.kind, clock_count, 0, kNotMerged};
  for (uint32_t at = target.first_move; at != BundlePlan::kEnd; at = plan.move(at).next) {
    const BundlePlan::Move& move = plan.move(at);
    const bool is_first = at == target.first_move;
    const bool waits = move.source != kNewRun && move.marks == kNoMarks;
    const Entry entry =
        move.is_final || !is_first || !waits ? carried(bundles, move, row, graph) : Entry{};
    if (move.is_final) add_root(row, entry, roots);
    if (!is_first) {
      insert(graph, next_.entries, begin, entry);
      bundle.merged = kNotMerged;
    } else if (waits) {
      copy_list(bundles, move.source, row.threshold);
      bundle.merged = bundles.all[move.source].merged;
    } else {
      next_.entries.push_back(entry);
    }
  }
  close_list(bundle, std::span(next_.entries).subspan(begin));
  next_.all.push_back(bundle);
}

void BundleStep::take(Bundles& bundles, const Row& row, Graph& graph, std::vector<Root>& roots) {
  operations_ += plan.move_count() + plan.clocks().size();
  next_.clear();
  for (uint32_t target = 0; target < plan.targets().size(); ++target) {
    build(bundles, target, row, graph, roots);
  }
  for (uint32_t at = plan.first_into_nothing(); at != BundlePlan::kEnd; at = plan.move(at).next) {
    if (plan.move(at).is_final) {
      add_root(row, carried(bundles, plan.move(at), row, graph), roots);
    }
  }
  // Not swapped: parts keep only what they need.
  bundles.all.assign(next_.all.begin(), next_.all.end());
  bundles.entries.assign(next_.entries.begin(), next_.entries.end());
  bundles.clocks.assign(plan.clocks().begin(), plan.clocks().end());
}

void write_list(ByteWriter& out, std::span<const Entry> list) {
  out.u64(list.size());
  for (const Entry& entry : list) {
    out.i64(entry.max_start);
    out.u32(entry.node.bits());
  }
}

void read_list(ByteReader& in, const Graph& graph, Bundles& bundles, Bundle& bundle) {
  bundle.length = static_cast<uint32_t>(in.count(12));
  require_intact(bundle.length > 0, "a list is empty");
  const size_t begin = bundles.entries.size();
  for (uint32_t i = 0; i < bundle.length; ++i) {
    const Clock max_start = in.i64();
    const NodeRef node = checked_ref(graph, in.u32());
    require_intact(graph[node].max_start == max_start, "a list and its node differ");
    if (i > 0) {
      const Clock before = bundles.entries.back().max_start;
      require_intact(i == 1 ? max_start <= before : max_start < before, "a list is out of order");
    }
    bundles.entries.push_back({max_start, node});
  }
  const Entry& head = bundles.entries[begin];
  require_intact(head.node.kind() != NodeKind::kJoin, "a list begins with a join");
  bundle.max_start = head.max_start;
  bundle.merged = bundle.length == 1 ? head.node : kNotMerged;
  require_intact(bundles.all.empty() || bundle.max_start <= bundles.all.back().max_start,
                 "bundles are out of order");
}

}  // namespace catena
