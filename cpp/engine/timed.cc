#include "engine/timed.h"

#include <algorithm>

#include "engine/frontier.h"

namespace catena {
namespace {

TimedRuns& cast(StrategyRuns& runs) { return static_cast<TimedRuns&>(runs); }
const TimedRuns& cast(const StrategyRuns& runs) { return static_cast<const TimedRuns&>(runs); }

}  // namespace

TimedEvaluator::TimedEvaluator(const Cea& cea, const ClassTrie& classes, uint32_t state_count_max)
    : cea_(cea), table_(cea, classes, state_count_max), unset_(cea.clock_count(), kClockMin) {}

std::unique_ptr<StrategyRuns> TimedEvaluator::make_runs() const {
  auto runs = std::make_unique<TimedRuns>();
  runs->before = table_.initial();
  return runs;
}

// ---------------------------------------------------------------------------------------------
// How long clocks can be of use

void TimedEvaluator::bind(const std::vector<Interval>& intervals) {
  intervals_ = intervals;
  find_needs();
}

uint32_t TimedEvaluator::later(uint32_t a, uint32_t b) const {
  if (a == kForEver || b == kNever) return a;
  if (b == kForEver || a == kNever) return b;
  return intervals_[b].ends_after(intervals_[a]) ? b : a;
}

uint32_t TimedEvaluator::earlier(uint32_t a, uint32_t b) const { return later(a, b) == a ? b : a; }

// Until when a run that waits for this transition can use the clock's present value.
uint32_t TimedEvaluator::need_along(const Transition& t, ClockId clock) const {
  const ClockActions& actions = cea_.actions_of(t);
  const bool is_reset = std::ranges::binary_search(actions.resets, clock);
  uint32_t need = cea_.is_final(t.target) || is_reset ? kForEver : needs_[t.target][clock];
  if (is_reset && !cea_.is_final(t.target) && !cea_.has_future(t.target)) need = kNever;
  for (const ClockCheck& check : actions.checks) {
    if (check.clock == clock) need = earlier(need, check.interval);
  }
  return need;
}

// The least fixed point: what leads to no match needs nothing.
void TimedEvaluator::find_needs() {
  needs_.assign(cea_.state_count(), std::vector<uint32_t>(cea_.clock_count(), kNever));
  for (bool changed = true; changed;) {
    changed = false;
    for (StateId state = 0; state < cea_.state_count(); ++state) {
      for (const Transition& t : cea_.from(state)) {
        for (ClockId clock = 0; clock < cea_.clock_count(); ++clock) {
          uint32_t& need = needs_[state][clock];
          const uint32_t longest = later(need, need_along(t, clock));
          changed |= longest != need;
          need = longest;
        }
      }
    }
  }
}

// True if no run of the set can still get through its checks.
bool TimedEvaluator::is_late(const TimedRuns& runs, TimedSetId set,
                             std::span<const Clock> clocks) const {
  const std::vector<ClockId>& live = table_.live_clocks(set);
  return std::ranges::all_of(table_.states_of(set), [&](StateId state) {
    for (size_t i = 0; i < live.size(); ++i) {
      if (!table_.live_in(state)[live[i]]) continue;
      const uint32_t need = needs_[state][live[i]];
      const Clock now = runs.now[static_cast<size_t>(cea_.kind_of(live[i]))];
      if (need == kNever) return true;
      if (need != kForEver && intervals_[need].is_past(clocks[i], now)) return true;
    }
    return false;
  });
}

// ---------------------------------------------------------------------------------------------
// A row

bool TimedEvaluator::is_unaffected(const TimedRuns& runs, ClassId cls) {
  const std::vector<bool> none;
  TimedSteps& start = table_.steps(runs.before, cls);
  if (!start.checks.empty() || !table_.step(runs.before, cls, start, none).edges.empty()) {
    return false;
  }
  if (table_.watch(runs.before, cls) != runs.before) return false;
  for (TimedSetId kind : runs.kinds) {
    ++operations_;
    TimedSteps& steps = table_.steps(kind, cls);
    if (!steps.checks.empty() || !table_.step(kind, cls, steps, none).is_identity) return false;
  }
  return true;
}

// The step of a set whose live clocks have these values. A clock that was never reset satisfies no
// check.
const TimedStep& TimedEvaluator::step_of(TimedSetId set, ClassId cls, std::span<const Clock> clocks,
                                         std::span<const Clock> now) {
  TimedSteps& steps = table_.steps(set, cls);
  const std::vector<ClockId>& live = table_.live_clocks(set);
  outcomes_.clear();
  for (const ClockCheck& check : steps.checks) {
    const Clock then = clocks[check.clock];
    const auto kind = static_cast<size_t>(cea_.kind_of(live[check.clock]));
    outcomes_.push_back(then != kClockMin && intervals_[check.interval].contains(then, now[kind]));
  }
  operations_ += 1 + steps.checks.size();
  return table_.step(set, cls, steps, outcomes_);
}

void TimedEvaluator::advance(StrategyRuns& opaque, ClassId cls, const Row& row, Graph& graph,
                             std::vector<Root>& roots) {
  TimedRuns& runs = cast(opaque);
  runs.now[static_cast<size_t>(ClockKind::kTime)] = row.time;
  runs.now[static_cast<size_t>(ClockKind::kRows)] = row.number;
  drop_outside(runs, row.threshold);
  ++operations_;
  if (is_unaffected(runs, cls)) return;
  step_.locate(runs.bundles);
  step_.plan.clear();
  const auto start_clocks = std::span(unset_).first(table_.live_clocks(runs.before).size());
  const TimedStep& start = step_of(runs.before, cls, start_clocks, runs.now);
  runs.is_split |= start.is_split;
  step_.plan.add(kNewRun, start.edges, start_clocks, runs.now);
  for (uint32_t i = 0; i < runs.bundles.all.size(); ++i) {
    const TimedSetId set = runs.bundles.all[i].kind;
    const auto clocks = step_.clocks_of(runs.bundles, i);
    if (is_late(runs, set, clocks)) continue;
    const TimedStep& step = step_of(set, cls, clocks, runs.now);
    runs.is_split |= step.is_split;
    step_.plan.add(i, step.edges, clocks, runs.now);
  }
  const size_t first_root = roots.size();
  step_.take(runs.bundles, row, graph, roots);
  for (size_t i = first_root; i < roots.size(); ++i) roots[i].may_repeat = runs.is_split;
  runs.before = table_.watch(runs.before, cls);
  note_kinds(runs);
}

void TimedEvaluator::drop_outside(TimedRuns& runs, Clock threshold) {
  runs.threshold = threshold;
  Bundles& bundles = runs.bundles;
  while (!bundles.all.empty() && bundles.all.back().max_start < threshold) bundles.pop();
}

void TimedEvaluator::note_kinds(TimedRuns& runs) {
  runs.kinds.clear();
  for (const Bundle& bundle : runs.bundles.all) runs.kinds.push_back(bundle.kind);
  std::ranges::sort(runs.kinds);
  runs.kinds.erase(std::ranges::unique(runs.kinds).begin(), runs.kinds.end());
}

// ---------------------------------------------------------------------------------------------
// Housekeeping

void TimedEvaluator::consume(StrategyRuns& opaque) {
  TimedRuns& runs = cast(opaque);
  runs.bundles.clear();
  runs.kinds.clear();
  runs.is_split = false;
}

void TimedEvaluator::expire(StrategyRuns& opaque, Clock threshold) {
  TimedRuns& runs = cast(opaque);
  drop_outside(runs, threshold);
  if (!intervals_.empty()) {
    runs.bundles.keep_if([&](const Bundle& bundle, std::span<const Clock> clocks) {
      return !is_late(runs, bundle.kind, clocks);
    });
  }
  runs.bundles.cut_lists(threshold);
  note_kinds(runs);
  if (runs.bundles.all.empty()) runs.is_split = false;
}

bool TimedEvaluator::is_idle(const StrategyRuns& opaque) const {
  const TimedRuns& runs = cast(opaque);
  return runs.bundles.all.empty() && runs.before == table_.initial();
}

void TimedEvaluator::mark_nodes(const StrategyRuns& opaque, Compaction& compaction) const {
  const TimedRuns& runs = cast(opaque);
  runs.bundles.mark_nodes(compaction, runs.threshold);
}

void TimedEvaluator::move_nodes(StrategyRuns& opaque, const Compaction& compaction) const {
  cast(opaque).bundles.move_nodes(compaction);
}

size_t TimedEvaluator::bytes(const StrategyRuns& opaque) const {
  const TimedRuns& runs = cast(opaque);
  return sizeof(TimedRuns) + runs.kinds.capacity() * sizeof(TimedSetId) + runs.bundles.bytes();
}

}  // namespace catena
