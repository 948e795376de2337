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

}  // namespace

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
  Bundles& bundles = runs.bundles;
  while (!bundles.all.empty() && bundles.all.back().max_start < threshold) bundles.pop();
  if (!bundles.clocks.empty()) cut_clocks(runs, threshold);
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
    const uint32_t count = bundle.clock_count;
    const uint32_t inside = count_inside(std::span(clocks).subspan(from, count), threshold);
    for (uint32_t i = 0; i < inside; ++i) clocks[to + i] = clocks[from + i];
    bundle.kind = table_.cut(bundle.kind, inside);
    bundle.clock_count = inside;
    from += count;
    to += inside;
  }
  clocks.resize(to);
}

void MaxSelection::expire(StrategyRuns& opaque, Clock threshold) {
  MaxRuns& runs = max_runs(opaque);
  drop_expired(runs, threshold);
  runs.bundles.cut_lists(threshold);
}

bool MaxSelection::is_unaffected(const MaxRuns& runs, ClassId cls) {
  if (!table_.start(runs.outlook, cls, false).is_identity) return false;
  for (const Bundle& bundle : runs.bundles.all) {
    ++operations_;
    if (!table_.step(bundle.kind, cls).is_identity) return false;
  }
  return true;
}

// Works out which bundles flow into which, and takes the outlook over the row.
void MaxSelection::plan_row(MaxRuns& runs, ClassId cls, Clock now) {
  const std::span<const Clock> row_clock(&now, 1);
  step_.plan.clear();
  const bool is_tied = !runs.outlook_clocks.empty() && runs.outlook_clocks[0] >= now;
  const StandingStep& start = table_.start(runs.outlook, cls, is_tied);
  const std::span<const Clock> older = std::span(runs.outlook_clocks).subspan(is_tied ? 1 : 0);
  step_.plan.add(kNewRun, start.edges, older, row_clock);
  outlook_clocks_.clear();
  assert(start.next.target != kNoStanding);
  carry_clocks(start.next, older, row_clock, outlook_clocks_);
  runs.outlook = start.next.target;
  runs.outlook_clocks.assign(outlook_clocks_.begin(), outlook_clocks_.end());
  for (uint32_t i = 0; i < runs.bundles.all.size(); ++i) {
    step_.plan.add(i, table_.step(runs.bundles.all[i].kind, cls).edges,
                   step_.clocks_of(runs.bundles, i), row_clock);
  }
}

void MaxSelection::advance(StrategyRuns& opaque, ClassId cls, const Row& row, Graph& graph,
                           std::vector<Root>& roots) {
  MaxRuns& runs = max_runs(opaque);
  drop_expired(runs, row.threshold);
  ++operations_;
  if (is_unaffected(runs, cls)) return;
  step_.locate(runs.bundles);
  plan_row(runs, cls, row.clock);
  step_.take(runs.bundles, row, graph, roots);
}

void MaxSelection::mark_nodes(const StrategyRuns& opaque, Compaction& compaction) const {
  const MaxRuns& runs = max_runs(opaque);
  runs.bundles.mark_nodes(compaction, runs.threshold);
}

void MaxSelection::move_nodes(StrategyRuns& opaque, const Compaction& compaction) const {
  max_runs(opaque).bundles.move_nodes(compaction);
}

size_t MaxSelection::bytes(const StrategyRuns& opaque) const {
  const MaxRuns& runs = max_runs(opaque);
  return sizeof(MaxRuns) + runs.outlook_clocks.capacity() * sizeof(Clock) + runs.bundles.bytes();
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
    for (const Bundle& bundle : max_runs(*runs).bundles.all) keep(bundle.kind);
  }
  table_.clear();
  std::map<StandingId, StandingId> moved;
  for (auto& [id, standing] : standings) moved[id] = table_.intern(std::move(standing));
  for (StrategyRuns* runs : in_use) {
    max_runs(*runs).outlook = moved[max_runs(*runs).outlook];
    for (Bundle& bundle : max_runs(*runs).bundles.all) bundle.kind = moved[bundle.kind];
  }
  plan_trim();
}

}  // namespace catena
