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

ContestEvaluator::ContestEvaluator(Strategy strategy, const Cea& cea, ClassTrie& classes,
                                   bool has_window, uint32_t valuation_count_max)
    : cea_(cea),
      classes_(classes),
      machine_(cea, classes, valuation_count_max),
      tree_(strategy, cea, {classes, machine_}, has_window),
      keeps_history_(tree_.needs_history()),
      compares_(strategy != Strategy::kAll),
      valuation_count_max_(valuation_count_max) {
  machine_.set_first_of_history(cea.register_count());
  add_reaches(cea, false);
}

void ContestEvaluator::add_reaches(const Cea& cea, bool is_lent) {
  if (is_lent) reaches_.emplace_back(cea, classes_);
  for (const Scope& scope : cea.scopes()) {
    add_reaches(*scope.operand, is_lent || !scope.lent.empty());
  }
}

void ContestEvaluator::bind(const std::vector<Interval>& intervals) {
  machine_.bind_intervals(intervals);
  tree_.bind(intervals);
  for (ContestReach& reach : reaches_) reach.bind(intervals);
  cuts_history_ = std::ranges::all_of(reaches_, &ContestReach::is_bounded);
  is_bound_ = true;
}

std::unique_ptr<StrategyRuns> ContestEvaluator::make_runs() const {
  auto runs = std::make_unique<ContestRuns>();
  runs->before = cea_.initial();
  sort_and_unite(runs->before);
  tree_.start(runs->tree);
  return runs;
}

// ---------------------------------------------------------------------------------------------
// A row

// Configurations without an open match are of no use where nobody is compared.
void ContestEvaluator::find_wanted(const ContestRuns& runs) {
  wanted_.clear();
  if (compares_) return;
  wanted_.assign(runs.tree.own.configurations.size() + 1, false);
  for (const Bundle& bundle : runs.bundles.all) {
    for (Reference reference : runs.keys[bundle.kind]) wanted_[reference] = true;
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
  const bool is_kept = keeps_history_ && tree_.matters(cls);
  const bool is_unaffected = tree_.is_unaffected(runs.tree, runs.before, cls);
  if (!is_kept && is_unaffected) return;
  machine_.load(row, cls);
  if (!is_unaffected) step(runs, cls, row, graph, roots);
  if (is_kept) keep(runs.history, cls, runs.now);
  check_size(runs);
}

void ContestEvaluator::keep(ContestHistory& history, ClassId cls, std::span<const Clock> now) {
  history.add(cls, now, cea_.history(), machine_);
  if (!cuts_history_ || !history.wants_cut()) return;
  uint32_t first = history.size();
  for (const ContestReach& reach : reaches_) first = std::min(first, reach.first_needed(history));
  history.cut(first);
  operations_ += history.size() + first;
}

void ContestEvaluator::step(ContestRuns& runs, ClassId cls, const Row& row, Graph& graph,
                            std::vector<Root>& roots) {
  find_wanted(runs);
  const ContestRow at{cls, row, runs.history, runs.history.size()};
  tree_.open(runs.tree, runs.before, {}, at, wanted_);
  plan_row(runs);
  step_.take(runs.bundles, row, graph, roots);
  tree_.close(runs.tree);
  runs.keys.copy(keys_.all());
  runs.before = watch(cea_, classes_, cls, runs.before);
}

void ContestEvaluator::check_size(const ContestRuns& runs) const {
  const size_t count = runs.keys.value_count() + runs.tree.size() + runs.history.size();
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
  runs.tree.own.clear();
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
    std::vector<bool> dead;
    const bool is_alive = tree_.find_dead(runs.tree, runs.threshold, runs.now, dead);
    runs.bundles.keep_if([&](const Bundle& bundle, std::span<const Clock>) {
      return std::ranges::any_of(runs.keys[bundle.kind], [&](Reference reference) {
        return !dead[outermost().configuration_of(runs.tree.own, reference)];
      });
    });
    if (!is_alive) {
      runs.keys.clear();
      tree_.start(runs.tree);
    }
  }
  runs.bundles.cut_lists(threshold);
}

bool ContestEvaluator::is_idle(const StrategyRuns& opaque) const {
  const ContestRuns& runs = cast(opaque);
  return runs.bundles.all.empty() && runs.tree.is_empty() && runs.history.size() == 0 &&
         runs.before == cast(*make_runs()).before;
}

void ContestEvaluator::mark_nodes(const StrategyRuns& opaque, Compaction& compaction) const {
  const ContestRuns& runs = cast(opaque);
  runs.bundles.mark_nodes(compaction, runs.threshold);
}

void ContestEvaluator::move_nodes(StrategyRuns& opaque, const Compaction& compaction) const {
  cast(opaque).bundles.move_nodes(compaction);
}

// Drops the strings and the open matches that no run holds any more.
void ContestEvaluator::trim(std::span<StrategyRuns* const> all) {
  machine_.trim(
      [&](auto visit) {
        for (StrategyRuns* opaque : all) {
          tree_.for_each_register(cast(*opaque).tree, visit);
          cast(*opaque).history.for_each_register(visit);
        }
      },
      [] {});
}

size_t ContestEvaluator::bytes(const StrategyRuns& opaque) const {
  const ContestRuns& runs = cast(opaque);
  return sizeof(ContestRuns) + runs.before.capacity() * sizeof(StateId) + runs.keys.bytes() +
         runs.bundles.bytes() + runs.tree.bytes() + runs.history.bytes();
}

uint64_t ContestEvaluator::operations() const {
  return operations_ + step_.operations() + tree_.operations() + machine_.operations();
}

}  // namespace catena
