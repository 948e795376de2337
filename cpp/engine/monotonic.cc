#include "engine/monotonic.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "engine/frontier.h"
#include "engine/liveness.h"

namespace catena {
namespace {

MonotonicRuns& cast(StrategyRuns& runs) { return static_cast<MonotonicRuns&>(runs); }
const MonotonicRuns& cast(const StrategyRuns& runs) {
  return static_cast<const MonotonicRuns&>(runs);
}

bool has(ClockMask mask, ClockId clock) { return ((mask >> clock) & 1) != 0; }

}  // namespace

MonotonicEvaluator::MonotonicEvaluator(const Cea& cea, const ClassTrie& classes,
                                       uint32_t state_count_max)
    : cea_(cea),
      classes_(classes),
      determinizer_(cea, classes, state_count_max),
      width_(1 + cea.clock_count()),
      live_(live_values(cea)),
      unset_(width_, kClockMin) {
  assert(cea.clock_count() <= kMonotonicClocksMax);
}

std::unique_ptr<StrategyRuns> MonotonicEvaluator::make_runs() const {
  auto runs = std::make_unique<MonotonicRuns>();
  runs->before = determinizer_.initial();
  return runs;
}

void MonotonicEvaluator::bind(const std::vector<Interval>& intervals) {
  intervals_ = intervals;
  needs_ = ClockNeeds(cea_, intervals_);
  thresholds_.assign(intervals.size() * kClockKindCount, {});
}

// ---------------------------------------------------------------------------------------------
// Steps, worked out once for each state and class

ClockMask MonotonicEvaluator::live_in(DetStateId state) const {
  ClockMask mask = 0;
  for (StateId member : determinizer_.states_of(state)) {
    for (ClockId clock = 0; clock < cea_.clock_count(); ++clock) {
      if (live_[member][clock]) mask |= ClockMask{1} << clock;
    }
  }
  return mask;
}

MonotonicEvaluator::Step& MonotonicEvaluator::step(DetStateId state, ClassId cls) {
  if (steps_.size() <= state) steps_.resize(state + 1);
  auto& by_class = steps_[state];
  if (by_class.size() <= cls) by_class.resize(cls + 1);
  if (!by_class[cls]) by_class[cls] = make_step(state, cls);
  return *by_class[cls];
}

std::unique_ptr<MonotonicEvaluator::Step> MonotonicEvaluator::make_step(DetStateId state,
                                                                        ClassId cls) {
  auto made = std::make_unique<Step>();
  for (const Edge& edge : determinizer_.edges(state, cls)) {
    ClockedEdge clocked{edge, {}, 0, edge.target == kNoState ? 0 : live_in(edge.target), 0};
    for (StateId source : determinizer_.states_of(state)) {
      for (const Transition& t : cea_.from(source)) {
        if (t.marks != edge.marks || cea_.is_observer(t.target)) continue;
        if (!cea_.is_final(t.target) && !cea_.has_future(t.target)) continue;
        if (!is_open(t, classes_, cls)) continue;
        const ClockActions& actions = cea_.actions_of(t);
        clocked.checks = actions.checks;  // The same for all of them.
        for (ClockId clock : actions.resets) clocked.resets |= ClockMask{1} << clock;
      }
    }
    clocked.resets &= clocked.live;
    const ClockMask all = (ClockMask{1} << cea_.clock_count()) - 1;
    clocked.closes = all & (clocked.resets | ~clocked.live);
    made->edges.push_back(std::move(clocked));
  }
  made->is_identity = made->edges.size() == 1 && made->edges[0].only_waits() &&
                      !made->edges[0].edge.is_final && made->edges[0].edge.target == state;
  return made;
}

DetStateId MonotonicEvaluator::watch(DetStateId before, ClassId cls) {
  Step& known = step(before, cls);
  if (known.watched == kNoState) known.watched = determinizer_.watch(before, cls);
  return known.watched;
}

bool MonotonicEvaluator::is_unaffected(const MonotonicRuns& runs, ClassId cls) {
  ++operations_;
  if (!step(runs.before, cls).edges.empty() || watch(runs.before, cls) != runs.before) return false;
  return std::ranges::all_of(runs.states, [&](DetStateId state) {
    ++operations_;
    return step(state, cls).is_identity;
  });
}

// ---------------------------------------------------------------------------------------------
// A row

void MonotonicEvaluator::advance(StrategyRuns& opaque, ClassId cls, const Row& row, Graph& graph,
                                 std::vector<Root>& roots) {
  MonotonicRuns& runs = cast(opaque);
  read_clocks(row, runs.now);
  runs.threshold = row.threshold;
  if (is_unaffected(runs, cls)) return;
  ++row_number_;
  locate(runs.chains);
  moves_.clear();
  move_values_.clear();
  unset_[0] = row.clock;
  add_moves(kNewRun, step(runs.before, cls), unset_, runs);
  for (uint32_t i = 0; i < runs.chains.all.size(); ++i) {
    const auto values = values_of(runs.chains, i).first(width_);
    if (values[0] >= row.threshold) add_moves(i, step(runs.chains.all[i].state, cls), values, runs);
  }
  sort_moves();
  take(runs, row, graph, roots);
  runs.before = watch(runs.before, cls);
  note_states(runs);
}

void MonotonicEvaluator::locate(const Chains& chains) {
  entries_at_.clear();
  size_t at = 0;
  for (const Chain& chain : chains.all) {
    entries_at_.push_back(at);
    at += chain.length;
  }
}

std::span<const ChainEntry> MonotonicEvaluator::entries_of(const Chains& chains,
                                                           uint32_t place) const {
  return std::span(chains.entries).subspan(entries_at_[place], chains.all[place].length);
}

std::span<const Clock> MonotonicEvaluator::values_of(const Chains& chains, uint32_t place) const {
  return std::span(chains.values)
      .subspan(entries_at_[place] * width_, chains.all[place].length * width_);
}

// The earliest reset that passes a check on this row; worked out once a row.
Clock MonotonicEvaluator::threshold_of(const ClockCheck& check, const MonotonicRuns& runs) {
  const auto kind = static_cast<size_t>(cea_.kind_of(check.clock));
  Threshold& known = thresholds_[check.interval * kClockKindCount + kind];
  if (known.row != row_number_) {
    known = {row_number_, intervals_[check.interval].threshold(runs.now[kind])};
  }
  return known.clock;
}

// Adds the moves over the edges whose checks the latest values pass.
void MonotonicEvaluator::add_moves(uint32_t source, const Step& step, std::span<const Clock> values,
                                   const MonotonicRuns& runs) {
  for (const ClockedEdge& edge : step.edges) {
    ++operations_;
    const bool passes = std::ranges::all_of(edge.checks, [&](const ClockCheck& check) {
      return values[1 + check.clock] >= threshold_of(check, runs);
    });
    if (!passes) continue;
    moves_.push_back({source, &edge, static_cast<uint32_t>(move_values_.size())});
    move_values_.push_back(values[0]);
    for (ClockId clock = 0; clock + 1 < width_; ++clock) {
      const auto kind = static_cast<size_t>(cea_.kind_of(clock));
      const Clock kept = has(edge.resets, clock) ? runs.now[kind] : values[1 + clock];
      move_values_.push_back(has(edge.live, clock) ? kept : kClockMin);
    }
  }
}

// By target, then latest first, so that no move comes after one that it would have to stand before.
void MonotonicEvaluator::sort_moves() {
  std::ranges::stable_sort(moves_, [&](const Move& a, const Move& b) {
    if (a.edge->edge.target != b.edge->edge.target) {
      return a.edge->edge.target < b.edge->edge.target;
    }
    return std::ranges::lexicographical_compare(values_of(a), values_of(b), std::greater{});
  });
}

ChainEntry MonotonicEvaluator::merged(Chains& chains, uint32_t place, Graph& graph) {
  Chain& chain = chains.all[place];
  const auto entries = entries_of(chains, place);
  if (chain.merged == kNoNode) {
    chain.merged = merge_chain(graph, entries, values_of(chains, place));
    operations_ += chain.length;
  }
  return {chain.merged, chain.length == 1 ? entries[0].open : ~ClockMask{0}};
}

// A node behind a gate, where checks or resets meet clocks that are open in it. Two gates in a row
// become one.
NodeRef MonotonicEvaluator::gated(NodeRef node, const ChainEntry& source, const ClockedEdge& edge,
                                  Clock max_start, const MonotonicRuns& runs, Graph& graph) {
  gate_.assign(cea_.clock_count(), kClockMin);
  bool is_needed = (source.open & edge.resets) != 0;
  for (const ClockCheck& check : edge.checks) {
    if (!has(source.open, check.clock)) continue;
    gate_[check.clock] = std::max(gate_[check.clock], threshold_of(check, runs));
    is_needed = true;
  }
  if (!is_needed) return node;
  ClockMask resets = edge.closes;
  if (node.kind() == NodeKind::kOutput && graph[node].is_gate()) {
    pass_gate(graph, node, gate_);
    resets |= graph[node].resets();
    node = graph[node].child();
  }
  return graph.gate(node, max_start, resets, gate_);
}

// The node that a move carries, with the clocks that are open in it.
ChainEntry MonotonicEvaluator::carried(MonotonicRuns& runs, const Move& move, const Row& row,
                                       Graph& graph) {
  const MarksId marks = move.edge->edge.marks;
  if (move.source == kNewRun) return {graph.start(row.clock, row.position, marks), 0};
  const ChainEntry source = merged(runs.chains, move.source, graph);
  const Clock max_start = values_of(move)[0];
  NodeRef node = gated(source.node, source, *move.edge, max_start, runs, graph);
  const bool is_behind_gate = node != source.node;
  if (marks != kNoMarks) node = graph.output(node, max_start, row.position, marks);
  return {node, source.open & ~(is_behind_gate ? move.edge->closes : move.edge->resets)};
}

// Builds the chains of each target out of the moves into it, and the roots of those that are final.
void MonotonicEvaluator::take(MonotonicRuns& runs, const Row& row, Graph& graph,
                              std::vector<Root>& roots) {
  next_.clear();
  for (size_t i = 0; i < moves_.size();) {
    const DetStateId target = moves_[i].edge->edge.target;
    for (; i < moves_.size() && moves_[i].edge->edge.target == target; ++i) {
      const Move& move = moves_[i];
      const bool copies = move.edge->only_waits() && move.source != kNewRun && list_count_ == 0;
      ChainEntry entry{};
      if (move.edge->edge.is_final || !copies) entry = carried(runs, move, row, graph);
      if (move.edge->edge.is_final) roots.push_back({row.position, row.threshold, entry.node});
      if (target != kNoState) place(runs, move, entry, row, graph);
    }
    if (target != kNoState) close_lists(target);
  }
  // Not swapped: parts keep only what they need.
  runs.chains.all.assign(next_.all.begin(), next_.all.end());
  runs.chains.entries.assign(next_.entries.begin(), next_.entries.end());
  runs.chains.values.assign(next_.values.begin(), next_.values.end());
}

// Puts what a move carries into the first list that takes it, or begins one: with the whole chain
// if it only waits.
void MonotonicEvaluator::place(MonotonicRuns& runs, const Move& move, const ChainEntry& entry,
                               const Row& row, Graph& graph) {
  for (size_t i = 0; i < list_count_; ++i) {
    operations_ += lists_[i].length();
    if (lists_[i].insert(graph, entry, values_of(move))) return;
  }
  if (list_count_ == lists_.size()) lists_.emplace_back(width_);
  ChainList& list = lists_[list_count_++];
  if (move.edge->only_waits() && move.source != kNewRun) {
    const auto entries = entries_of(runs.chains, move.source);
    list.begin(entries, values_of(runs.chains, move.source), runs.chains.all[move.source].merged,
               row.threshold);
  } else {
    list.begin(entry, values_of(move));
  }
  operations_ += list.length();
}

void MonotonicEvaluator::close_lists(DetStateId state) {
  for (size_t i = 0; i < list_count_; ++i) lists_[i].append_to(next_, state);
  list_count_ = 0;
}

void MonotonicEvaluator::note_states(MonotonicRuns& runs) const {
  runs.states.clear();
  for (const Chain& chain : runs.chains.all) runs.states.push_back(chain.state);
  std::ranges::sort(runs.states);
  runs.states.erase(std::ranges::unique(runs.states).begin(), runs.states.end());
}

// ---------------------------------------------------------------------------------------------
// Housekeeping

void MonotonicEvaluator::consume(StrategyRuns& opaque) {
  MonotonicRuns& runs = cast(opaque);
  runs.chains.clear();
  runs.states.clear();
}

// For each value of the chains of a state, from where on it can still lead to a match.
std::vector<Clock> MonotonicEvaluator::release_thresholds(const MonotonicRuns& runs,
                                                          DetStateId state) const {
  std::vector<Clock> thresholds(width_, kClockMin);
  thresholds[0] = runs.threshold;
  if (intervals_.empty()) return thresholds;
  for (ClockId clock = 0; clock < cea_.clock_count(); ++clock) {
    const Clock now = runs.now[static_cast<size_t>(cea_.kind_of(clock))];
    Clock lowest = std::numeric_limits<Clock>::max();
    for (StateId member : determinizer_.states_of(state)) {
      const uint32_t need = needs_.of(member, clock);
      if (need == ClockNeeds::kNever) continue;
      const bool counts = need != ClockNeeds::kForEver && live_[member][clock];
      lowest = std::min(lowest, counts ? intervals_[need].threshold(now) : kClockMin);
    }
    thresholds[1 + clock] = lowest;
  }
  return thresholds;
}

void MonotonicEvaluator::expire(StrategyRuns& opaque, Clock threshold) {
  MonotonicRuns& runs = cast(opaque);
  runs.threshold = threshold;
  Chains kept;
  size_t at = 0;
  for (const Chain& chain : runs.chains.all) {
    const auto thresholds = release_thresholds(runs, chain.state);
    uint32_t length = 0;
    while (length < chain.length &&
           reaches(std::span(runs.chains.values).subspan((at + length) * width_, width_),
                   thresholds)) {
      ++length;
    }
    if (length > 0) {
      const NodeRef merged = length == 1 ? runs.chains.entries[at].node : chain.merged;
      kept.all.push_back({chain.state, length, merged});
      const auto entries = std::span(runs.chains.entries).subspan(at, length);
      const auto values = std::span(runs.chains.values).subspan(at * width_, length * width_);
      kept.entries.insert(kept.entries.end(), entries.begin(), entries.end());
      kept.values.insert(kept.values.end(), values.begin(), values.end());
    }
    at += chain.length;
  }
  runs.chains = std::move(kept);
  note_states(runs);
}

bool MonotonicEvaluator::is_idle(const StrategyRuns& opaque) const {
  const MonotonicRuns& runs = cast(opaque);
  return runs.chains.all.empty() && runs.before == determinizer_.initial();
}

void MonotonicEvaluator::mark_nodes(const StrategyRuns& opaque, Compaction& compaction) const {
  const MonotonicRuns& runs = cast(opaque);
  size_t at = 0;
  for (const Chain& chain : runs.chains.all) {
    const auto thresholds = release_thresholds(runs, chain.state);
    const auto clocks = std::span(thresholds).subspan(1);
    if (chain.merged != kNoNode) compaction.mark(chain.merged, thresholds[0], clocks);
    for (uint32_t i = 0; i < chain.length; ++i) {
      compaction.mark(runs.chains.entries[at + i].node, thresholds[0], clocks);
    }
    at += chain.length;
  }
}

void MonotonicEvaluator::move_nodes(StrategyRuns& opaque, const Compaction& compaction) const {
  MonotonicRuns& runs = cast(opaque);
  for (Chain& chain : runs.chains.all) {
    if (chain.merged != kNoNode) chain.merged = compaction.moved(chain.merged);
  }
  for (ChainEntry& entry : runs.chains.entries) entry.node = compaction.moved(entry.node);
}

size_t MonotonicEvaluator::bytes(const StrategyRuns& opaque) const {
  const MonotonicRuns& runs = cast(opaque);
  return sizeof(MonotonicRuns) + runs.states.capacity() * sizeof(DetStateId) + runs.chains.bytes();
}

}  // namespace catena
