#include "engine/contest_evaluator.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "engine/frontier.h"

namespace catena {
namespace {

ContestRuns& cast(StrategyRuns& runs) { return static_cast<ContestRuns&>(runs); }
const ContestRuns& cast(const StrategyRuns& runs) { return static_cast<const ContestRuns&>(runs); }

void sort_and_unite(std::vector<Reference>& references) {
  std::ranges::sort(references);
  references.erase(std::ranges::unique(references).begin(), references.end());
}

}  // namespace

ContestEvaluator::ContestEvaluator(Strategy strategy, const Cea& cea, const ClassTrie& classes,
                                   bool has_window, uint32_t valuation_count_max)
    : cea_(cea),
      classes_(classes),
      compares_(strategy != Strategy::kAll),
      valuation_count_max_(valuation_count_max) {
  add_level(strategy, cea, has_window);
}

uint32_t ContestEvaluator::add_level(Strategy strategy, const Cea& cea, bool has_window) {
  Level level;
  std::vector<Contest*> contests;
  for (const Scope& scope : cea.scopes()) {
    level.scopes.push_back(add_level(scope.strategy, *scope.operand, false));
    contests.push_back(levels_[level.scopes.back()].contest.get());
  }
  level.contest = make_contest(strategy, cea, classes_, machine_, has_window, std::move(contests));
  levels_.push_back(std::move(level));
  return static_cast<uint32_t>(levels_.size() - 1);
}

void ContestEvaluator::bind(const std::vector<Interval>& intervals) {
  for (Level& level : levels_) level.contest->bind(intervals);
  is_bound_ = true;
}

std::unique_ptr<StrategyRuns> ContestEvaluator::make_runs() const {
  auto runs = std::make_unique<ContestRuns>();
  runs->before = cea_.initial();
  sort_and_unite(runs->before);
  runs->states.resize(levels_.size());
  return runs;
}

// ---------------------------------------------------------------------------------------------
// A row

std::span<const StateId> ContestEvaluator::starts_of(const ContestRuns& runs, size_t level) const {
  const bool is_outermost = level + 1 == levels_.size();
  return is_outermost ? std::span(runs.before) : levels_[level].contest->cea().initial();
}

bool ContestEvaluator::is_unaffected(const ContestRuns& runs, ClassId cls) {
  for (size_t i = 0; i < levels_.size(); ++i) {
    if (!levels_[i].contest->is_unaffected(runs.states[i], starts_of(runs, i), cls)) return false;
  }
  return true;
}

void ContestEvaluator::open_all(const ContestRuns& runs, ClassId cls, const Row& row) {
  if (row.values) machine_.load(*row.values, row.in_values);
  wanted_.clear();
  const size_t outermost = levels_.size() - 1;
  if (!compares_) {  // Configurations without an open match are of no use.
    wanted_.assign(runs.states[outermost].configurations.size() + 1, false);
    for (const Bundle& bundle : runs.bundles.all) {
      for (Reference reference : runs.keys[bundle.kind]) wanted_[reference] = true;
    }
  }
  for (size_t i = 0; i < levels_.size(); ++i) {
    const std::vector<bool> everything;
    levels_[i].contest->open(runs.states[i], starts_of(runs, i), cls, row,
                             i == outermost ? wanted_ : everything);
  }
}

ContestEvaluator::Edge& ContestEvaluator::edge_of(MarksId marks) {
  for (size_t i = 0; i < edge_count_; ++i) {
    if (edges_[i].marks == marks) return edges_[i];
  }
  if (edge_count_ == edges_.size()) edges_.emplace_back();
  Edge& edge = edges_[edge_count_++];
  edge.marks = marks;
  edge.is_final = false;
  edge.targets.clear();
  return edge;
}

// Where the runs of an output go, by the marks that they show.
void ContestEvaluator::add_edges(uint32_t source, std::span<const Reference> references) {
  edge_count_ = 0;
  for (Reference reference : references) {
    outermost().for_each_move(reference, [&](const Transition& t, const Followed& followed) {
      Edge& edge = edge_of(t.marks);
      edge.is_final |= followed.is_final;
      if (followed.target != kNowhere) edge.targets.push_back(followed.target);
    });
  }
  bundle_edges_.clear();
  for (size_t i = 0; i < edge_count_; ++i) {
    Edge& edge = edges_[i];
    sort_and_unite(edge.targets);
    const BundleKind kind = edge.targets.empty() ? kNoKind : keys_.find_or_add(edge.targets);
    bundle_edges_.push_back({edge.marks, edge.is_final, kind, {}});
    operations_ += 1 + edge.targets.size();
  }
  step_.plan.add(source, bundle_edges_, {}, {});
}

void ContestEvaluator::plan_row(const ContestRuns& runs) {
  static constexpr Reference kStarting[] = {kNotStarted};
  step_.locate(runs.bundles);
  step_.plan.clear();
  keys_.clear();
  add_edges(kNewRun, kStarting);
  for (uint32_t i = 0; i < runs.bundles.all.size(); ++i) {
    add_edges(i, runs.keys[runs.bundles.all[i].kind]);
  }
}

void ContestEvaluator::advance(StrategyRuns& opaque, ClassId cls, const Row& row, Graph& graph,
                               std::vector<Root>& roots) {
  ContestRuns& runs = cast(opaque);
  read_clocks(row, runs.now);
  runs.threshold = row.threshold;
  while (!runs.bundles.all.empty() && runs.bundles.all.back().max_start < row.threshold) {
    runs.bundles.pop();
  }
  ++operations_;
  if (is_unaffected(runs, cls)) return;
  open_all(runs, cls, row);
  plan_row(runs);
  step_.take(runs.bundles, row, graph, roots);
  for (size_t i = 0; i < levels_.size(); ++i) levels_[i].contest->close(runs.states[i]);
  runs.keys.copy(keys_.all());
  runs.before = watch(cea_, classes_, cls, runs.before);
  check_size(runs);
}

void ContestEvaluator::check_size(const ContestRuns& runs) const {
  size_t count = runs.keys.value_count();
  for (const ContestState& state : runs.states) count += state.size();
  if (count <= valuation_count_max_) return;
  throw Error(ErrorKind::kLimit, "the open matches of a part stand in more than " +
                                     std::to_string(valuation_count_max_) +
                                     " configurations (valuation_count_max)");
}

// ---------------------------------------------------------------------------------------------
// Housekeeping

void ContestEvaluator::consume(StrategyRuns& opaque) {
  ContestRuns& runs = cast(opaque);
  runs.bundles.clear();
  runs.keys.clear();
  runs.states.back().clear();
}

// By contest and configuration, whether its runs can end no more.
std::vector<std::vector<bool>> ContestEvaluator::find_dead(const ContestRuns& runs) const {
  std::vector<std::vector<bool>> dead(levels_.size());
  for (size_t i = 0; i < levels_.size(); ++i) {
    std::vector<const ContestState*> states;
    std::vector<const std::vector<bool>*> scope_dead;
    for (uint32_t scope : levels_[i].scopes) {
      states.push_back(&runs.states[scope]);
      scope_dead.push_back(&dead[scope]);
    }
    levels_[i].contest->find_dead(runs.states[i], runs.threshold, runs.now, states, scope_dead, dead[i]);
  }
  return dead;
}

// Bundles without a run that can still end are dropped. Configurations refer to each other, so they
// are dropped by the next row that changes anything, or here, if not one of them can still end.
void ContestEvaluator::expire(StrategyRuns& opaque, Clock threshold) {
  ContestRuns& runs = cast(opaque);
  runs.threshold = std::max(runs.threshold, threshold);
  while (!runs.bundles.all.empty() && runs.bundles.all.back().max_start < threshold) {
    runs.bundles.pop();
  }
  if (is_bound_) {
    const std::vector<std::vector<bool>> dead = find_dead(runs);
    const auto can_end = [&](Reference reference) {
      const Contest& contest = *levels_.back().contest;
      return !dead.back()[contest.configuration_of(runs.states.back(), reference)];
    };
    runs.bundles.keep_if([&](const Bundle& bundle, std::span<const Clock>) {
      return std::ranges::any_of(runs.keys[bundle.kind], can_end);
    });
    const bool all_dead = std::ranges::all_of(dead, [](const std::vector<bool>& configurations) {
      return std::ranges::find(configurations, false) == configurations.end();
    });
    if (all_dead) {
      runs.keys.clear();
      for (ContestState& state : runs.states) state.clear();
    }
  }
  runs.bundles.cut_lists(threshold);
}

bool ContestEvaluator::is_idle(const StrategyRuns& opaque) const {
  const ContestRuns& runs = cast(opaque);
  return runs.bundles.all.empty() &&
         std::ranges::all_of(runs.states, [](const ContestState& s) { return s.is_empty(); }) &&
         runs.before == cast(*make_runs()).before;
}

void ContestEvaluator::mark_nodes(const StrategyRuns& opaque, Compaction& compaction) const {
  const ContestRuns& runs = cast(opaque);
  runs.bundles.mark_nodes(compaction, runs.threshold);
}

void ContestEvaluator::move_nodes(StrategyRuns& opaque, const Compaction& compaction) const {
  cast(opaque).bundles.move_nodes(compaction);
}

// Drops the strings that no run holds any more.
void ContestEvaluator::trim(std::span<StrategyRuns* const> all) {
  StringPool& pool = machine_.pool();
  std::vector<bool> is_used(pool.size(), false);
  const auto for_each_string = [&](auto visit) {
    for (StrategyRuns* opaque : all) {
      for (size_t i = 0; i < levels_.size(); ++i) {
        levels_[i].contest->for_each_string(cast(*opaque).states[i], visit);
      }
    }
  };
  for_each_string([&](int64_t& number) { is_used[static_cast<size_t>(number)] = true; });
  const std::vector<uint32_t> moved = pool.keep(is_used);
  for_each_string([&](int64_t& number) { number = moved[static_cast<size_t>(number)]; });
  trim_at_ = std::max(kTrimMin, 2 * pool.size());
}

size_t ContestEvaluator::bytes(const StrategyRuns& opaque) const {
  const ContestRuns& runs = cast(opaque);
  size_t total = sizeof(ContestRuns) + runs.before.capacity() * sizeof(StateId) +
                 runs.keys.bytes() + runs.bundles.bytes();
  for (const ContestState& state : runs.states) total += sizeof(ContestState) + state.bytes();
  return total;
}

uint64_t ContestEvaluator::operations() const {
  uint64_t total = operations_ + step_.operations();
  for (const Level& level : levels_) total += level.contest->operations();
  return total;
}

}  // namespace catena
