#include "engine/max_selection.h"

#include <algorithm>
#include <cassert>
#include <map>

#include "engine/frontier.h"

namespace catena {
namespace {

// Steps cached before those in use are made anew.
constexpr uint32_t kStepCountMax = 1u << 17;

MaxRuns& max_runs(StrategyRuns& runs) { return static_cast<MaxRuns&>(runs); }
const MaxRuns& max_runs(const StrategyRuns& runs) { return static_cast<const MaxRuns&>(runs); }

// How many of these falling clocks are inside the window.
uint32_t count_inside(std::span<const Clock> clocks, Clock threshold) {
  size_t count = clocks.size();
  while (count > 0 && clocks[count - 1] < threshold) --count;
  return static_cast<uint32_t>(count);
}

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

MaxSelection::MaxSelection(const Cea& cea, ClassTrie& classes, bool has_window,
                           uint32_t state_count_max)
    : cea_(cea),
      has_window_(has_window),
      state_count_max_(state_count_max),
      table_(cea, classes, has_window, state_count_max) {
  plan_trim();
}

std::unique_ptr<StrategyRuns> MaxSelection::make_runs() const {
  auto runs = std::make_unique<MaxRuns>();
  runs->outlook = table_.initial();
  return runs;
}

void MaxSelection::consume(StrategyRuns& opaque) {
  MaxRuns& runs = max_runs(opaque);
  runs.bundles.clear();
  runs.outlook = table_.without_rivals(runs.outlook);
  runs.outlook_clocks.clear();
}

bool MaxSelection::is_idle(const StrategyRuns& opaque) const {
  const MaxRuns& runs = max_runs(opaque);
  return runs.bundles.all.empty() && runs.outlook == table_.initial();
}

// Drops the bundles and the ranks that have left the window; lists keep their ends.
void MaxSelection::drop_expired(MaxRuns& runs, Clock threshold) {
  runs.threshold = threshold;
  auto& [all, clocks, entries] = runs.bundles;
  while (!all.empty() && all.back().max_start < threshold) {
    clocks.resize(clocks.size() - table_.rank_count(all.back().standing));
    entries.resize(entries.size() - all.back().length);
    all.pop_back();
  }
  if (!clocks.empty()) cut_clocks(runs, threshold);
  const uint32_t inside = count_inside(runs.outlook_clocks, threshold);
  runs.outlook = table_.cut(runs.outlook, inside);
  runs.outlook_clocks.resize(inside);
}

void MaxSelection::cut_clocks(MaxRuns& runs, Clock threshold) {
  std::vector<Clock>& clocks = runs.bundles.clocks;
  operations_ += clocks.size();
  size_t from = 0;
  size_t to = 0;
  for (Bundle& bundle : runs.bundles.all) {
    const uint32_t count = table_.rank_count(bundle.standing);
    const uint32_t inside = count_inside(std::span(clocks).subspan(from, count), threshold);
    for (uint32_t i = 0; i < inside; ++i) clocks[to + i] = clocks[from + i];
    bundle.standing = table_.cut(bundle.standing, inside);
    from += count;
    to += inside;
  }
  clocks.resize(to);
}

void MaxSelection::expire(StrategyRuns& opaque, Clock threshold) {
  MaxRuns& runs = max_runs(opaque);
  drop_expired(runs, threshold);
  std::vector<Entry>& entries = runs.bundles.entries;
  size_t from = 0;
  size_t to = 0;
  for (Bundle& bundle : runs.bundles.all) {
    const uint32_t length = bundle.length;
    uint32_t kept = 0;
    for (; kept < length && entries[from + kept].max_start >= threshold; ++kept) {
      entries[to + kept] = entries[from + kept];
    }
    close_list(bundle, std::span(entries).subspan(to, kept));
    from += length;
    to += kept;
  }
  entries.resize(to);
}

void MaxSelection::locate(const MaxRuns& runs) {
  clocks_at_.clear();
  entries_at_.clear();
  size_t clocks_at = 0;
  size_t entries_at = 0;
  for (const Bundle& bundle : runs.bundles.all) {
    clocks_at_.push_back(clocks_at);
    entries_at_.push_back(entries_at);
    clocks_at += table_.rank_count(bundle.standing);
    entries_at += bundle.length;
  }
  assert(clocks_at == runs.bundles.clocks.size() && entries_at == runs.bundles.entries.size());
}

bool MaxSelection::is_unaffected(const MaxRuns& runs, ClassId cls) {
  if (!table_.start(runs.outlook, cls, false).is_identity) return false;
  for (const Bundle& bundle : runs.bundles.all) {
    ++operations_;
    if (!table_.step(bundle.standing, cls).is_identity) return false;
  }
  return true;
}

// Works out which bundles flow into which, and takes the outlook over the row.
void MaxSelection::plan_row(MaxRuns& runs, ClassId cls, Clock now) {
  plan_.clear();
  const bool is_tied = !runs.outlook_clocks.empty() && runs.outlook_clocks[0] >= now;
  const StandingStep& start = table_.start(runs.outlook, cls, is_tied);
  const std::span<const Clock> older = std::span(runs.outlook_clocks).subspan(is_tied ? 1 : 0);
  plan_.add(kNewRun, start.edges, older, now);
  outlook_clocks_.clear();
  assert(start.next.target != kNoStanding);
  carry_clocks(start.next, older, now, outlook_clocks_);
  runs.outlook = start.next.target;
  runs.outlook_clocks.assign(outlook_clocks_.begin(), outlook_clocks_.end());
  for (uint32_t i = 0; i < runs.bundles.all.size(); ++i) {
    const StandingId standing = runs.bundles.all[i].standing;
    const auto clocks =
        std::span(runs.bundles.clocks).subspan(clocks_at_[i], table_.rank_count(standing));
    plan_.add(i, table_.step(standing, cls).edges, clocks, now);
  }
  operations_ += plan_.move_count() + plan_.clocks().size();
}

Entry MaxSelection::merged(MaxRuns& runs, uint32_t place, Clock threshold, Graph& graph) {
  Bundle& bundle = runs.bundles.all[place];
  if (bundle.merged == kNotMerged) {
    const auto list = std::span(runs.bundles.entries).subspan(entries_at_[place], bundle.length);
    bundle.merged = merge(graph, list, threshold);
    operations_ += bundle.length;
  }
  return {bundle.max_start, bundle.merged};
}

// The node that a move carries.
Entry MaxSelection::take(MaxRuns& runs, const MaxPlan::Move& move, const Row& row, Graph& graph) {
  if (move.source == kNewRun) {
    return {row.clock, graph.start(row.clock, row.position, move.marks)};
  }
  const Entry source = merged(runs, move.source, row.threshold, graph);
  if (move.marks == kNoMarks) return source;
  return {source.max_start, graph.output(source.node, source.max_start, row.position, move.marks)};
}

void MaxSelection::copy_list(const MaxRuns& runs, uint32_t place, Clock threshold) {
  const Entry* list = &runs.bundles.entries[entries_at_[place]];
  uint32_t length = runs.bundles.all[place].length;
  while (length > 1 && list[length - 1].max_start < threshold) --length;
  next_.entries.insert(next_.entries.end(), list, list + length);
  operations_ += length;
}

// Makes the bundle of a target out of the moves into it, and the roots of those that are final.
void MaxSelection::build(MaxRuns& runs, const MaxPlan::Target& target, const Row& row, Graph& graph,
                         std::vector<Root>& roots) {
  const size_t begin = next_.entries.size();
  Bundle bundle{row.clock, target.standing, 0, kNotMerged};
  for (uint32_t at = target.first_move; at != MaxPlan::kEnd; at = plan_.move(at).next) {
    const MaxPlan::Move& move = plan_.move(at);
    const bool is_first = at == target.first_move;
    const bool waits = move.source != kNewRun && move.marks == kNoMarks;
    const Entry entry =
        move.is_final || !is_first || !waits ? take(runs, move, row, graph) : Entry{};
    if (move.is_final) add_root(row, entry, roots);
    if (!is_first) {
      insert(graph, next_.entries, begin, entry);
      bundle.merged = kNotMerged;
    } else if (waits) {
      copy_list(runs, move.source, row.threshold);
      bundle.merged = runs.bundles.all[move.source].merged;
    } else {
      next_.entries.push_back(entry);
    }
  }
  close_list(bundle, std::span(next_.entries).subspan(begin));
  next_.all.push_back(bundle);
}

void MaxSelection::advance(StrategyRuns& opaque, ClassId cls, const Row& row, Graph& graph,
                           std::vector<Root>& roots) {
  MaxRuns& runs = max_runs(opaque);
  drop_expired(runs, row.threshold);
  ++operations_;
  if (is_unaffected(runs, cls)) return;
  locate(runs);
  plan_row(runs, cls, row.clock);
  next_.clear();
  for (const MaxPlan::Target& target : plan_.targets()) build(runs, target, row, graph, roots);
  for (uint32_t at = plan_.first_into_nothing(); at != MaxPlan::kEnd; at = plan_.move(at).next) {
    assert(plan_.move(at).is_final);
    add_root(row, take(runs, plan_.move(at), row, graph), roots);
  }
  // Not swapped: parts keep only what they need.
  runs.bundles.all.assign(next_.all.begin(), next_.all.end());
  runs.bundles.entries.assign(next_.entries.begin(), next_.entries.end());
  runs.bundles.clocks.assign(plan_.clocks().begin(), plan_.clocks().end());
}

void MaxSelection::mark_nodes(const StrategyRuns& opaque, Compaction& compaction) const {
  const MaxRuns& runs = max_runs(opaque);
  for (const Bundle& bundle : runs.bundles.all) {
    if (bundle.merged != kNotMerged) compaction.mark(bundle.merged, runs.threshold);
  }
  for (const Entry& entry : runs.bundles.entries) compaction.mark(entry.node, runs.threshold);
}

void MaxSelection::move_nodes(StrategyRuns& opaque, const Compaction& compaction) const {
  MaxRuns& runs = max_runs(opaque);
  for (Bundle& bundle : runs.bundles.all) {
    if (bundle.merged != kNotMerged) bundle.merged = compaction.moved(bundle.merged);
  }
  for (Entry& entry : runs.bundles.entries) entry.node = compaction.moved(entry.node);
}

size_t MaxSelection::bytes(const StrategyRuns& opaque) const {
  const MaxRuns& runs = max_runs(opaque);
  return sizeof(MaxRuns) + runs.outlook_clocks.capacity() * sizeof(Clock) +
         runs.bundles.all.capacity() * sizeof(Bundle) +
         runs.bundles.clocks.capacity() * sizeof(Clock) +
         runs.bundles.entries.capacity() * sizeof(Entry);
}

bool MaxSelection::wants_trim() const {
  return table_.size() >= trim_at_ || table_.step_count() >= kStepCountMax;
}

// Half way from what is in use to the limit.
void MaxSelection::plan_trim() {
  const uint32_t room = state_count_max_ - std::min(state_count_max_, table_.size());
  trim_at_ = table_.size() + std::max(1u, room / 2);
}

// Keeps the standings in use and forgets all steps.
void MaxSelection::trim(std::span<StrategyRuns* const> in_use) {
  std::map<StandingId, Standing> standings;
  const auto keep = [&](StandingId id) { standings.try_emplace(id, table_[id]); };
  for (StrategyRuns* runs : in_use) {
    keep(max_runs(*runs).outlook);
    for (const Bundle& bundle : max_runs(*runs).bundles.all) keep(bundle.standing);
  }
  table_.clear();
  std::map<StandingId, StandingId> moved;
  for (auto& [id, standing] : standings) moved[id] = table_.intern(std::move(standing));
  for (StrategyRuns* runs : in_use) {
    max_runs(*runs).outlook = moved[max_runs(*runs).outlook];
    for (Bundle& bundle : max_runs(*runs).bundles.all) bundle.standing = moved[bundle.standing];
  }
  plan_trim();
}

}  // namespace catena
