#include "engine/timed.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "engine/frontier.h"

namespace catena {
namespace {

TimedRuns& cast(StrategyRuns& runs) { return static_cast<TimedRuns&>(runs); }
const TimedRuns& cast(const StrategyRuns& runs) { return static_cast<const TimedRuns&>(runs); }

}  // namespace

TimedEvaluator::TimedEvaluator(const Cea& cea, const ClassTrie& classes, uint32_t state_count_max,
                               uint32_t valuation_count_max)
    : cea_(cea),
      table_(cea, classes, state_count_max),
      machine_(cea, classes, valuation_count_max),
      valuation_count_max_(valuation_count_max) {}

std::unique_ptr<StrategyRuns> TimedEvaluator::make_runs() const {
  auto runs = std::make_unique<TimedRuns>();
  runs->before = table_.initial();
  return runs;
}

// ---------------------------------------------------------------------------------------------
// How long clocks can be of use

void TimedEvaluator::bind(const std::vector<Interval>& intervals) {
  intervals_ = intervals;
  is_bound_ = true;
  machine_.bind_intervals(intervals);
  find_needs();
}

void TimedEvaluator::bind_program(const Program& program) { machine_.bind(program); }

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

void TimedEvaluator::load(const Row& row) {
  if (is_loaded_) return;
  machine_.load(row, cls_);
  is_loaded_ = true;
}

const std::vector<Clock>& TimedEvaluator::unset_words(TimedSetId set) {
  unset_.assign(table_.live_clocks(set).size(), kClockMin);
  for (size_t i = 0; i < table_.live_registers(set).size(); ++i) append_register({}, unset_);
  return unset_;
}

// The step of a set whose live clocks and registers have these values. A clock that was never reset
// satisfies no check.
const TimedStep& TimedEvaluator::step_of(TimedSetId set, ClassId cls, std::span<const Clock> words,
                                         std::span<const Clock> now, const Row& row) {
  TimedSteps& steps = table_.steps(set, cls);
  const std::vector<ClockId>& live = table_.live_clocks(set);
  outcomes_.clear();
  for (const ClockCheck& check : steps.checks) {
    const Clock then = words[check.clock];
    const auto kind = static_cast<size_t>(cea_.kind_of(live[check.clock]));
    outcomes_.push_back(then != kClockMin && intervals_[check.interval].contains(then, now[kind]));
  }
  if (!steps.conditions.empty()) load(row);
  for (ConditionId condition : steps.conditions) {
    outcomes_.push_back(machine_.holds(condition, {words, table_.layout(set)}));
  }
  operations_ += 1 + outcomes_.size();
  return table_.step(set, cls, steps, outcomes_);
}

// What the row has for a step of a run: its clocks, and what registers are set to.
size_t TimedEvaluator::append_now(const TimedRuns& runs, TimedSetId set, const TimedStep& step,
                                  std::span<const Clock> words, const Row& row) {
  const size_t at = now_words_.size();
  now_words_.insert(now_words_.end(), std::begin(runs.now), std::end(runs.now));
  if (!step.updates.empty()) load(row);
  for (UpdateId update : step.updates) {
    append_register(machine_.updated(update, {words, table_.layout(set)}), now_words_);
  }
  return at;
}

std::span<const Clock> TimedEvaluator::now_of(size_t now_at, const TimedStep& step) const {
  const auto count = word_of_update(static_cast<uint32_t>(step.updates.size()));
  return std::span(now_words_).subspan(now_at, count);
}

void TimedEvaluator::advance(StrategyRuns& opaque, ClassId cls, const Row& row, Graph& graph,
                             std::vector<Root>& roots) {
  TimedRuns& runs = cast(opaque);
  read_clocks(row, runs.now);
  runs.threshold = row.threshold;
  is_loaded_ = false;
  cls_ = cls;
  now_words_.clear();
  ++round_;
  ++operations_;
  if (runs.bundles.wants_sweep()) sweep(runs, row.threshold);
  const std::vector<Clock> unset = unset_words(runs.before);
  const TimedStep& start = step_of(runs.before, cls, unset, runs.now, row);
  runs.is_split |= start.is_split;
  const size_t start_at = append_now(runs, runs.before, start, unset, row);
  find_affected(runs, cls, row);
  if (!affected_.empty() || !start.edges.empty()) {
    find_receivers(runs, start, unset, start_at);
    for (size_t i = 0, count = affected_.size(); i < count; ++i) {
      const Affected one = affected_[i];
      find_receivers(runs, *one.step, runs.bundles[one.place].values, one.now_at);
    }
    move(runs, start, start_at, row, graph, roots);
  }
  runs.before = table_.watch(runs.before, cls);
}

void TimedEvaluator::find_affected(TimedRuns& runs, ClassId cls, const Row& row) {
  affected_.clear();
  if (runs.indexes_version != machine_.version()) runs.bundles.drop_indexes();
  runs.indexes_version = machine_.version();
  for (StoredKind& kind : runs.bundles.kinds()) {
    if (!kind.places.empty()) find_affected_of_kind(runs, kind, cls, row);
  }
}

void TimedEvaluator::find_affected_of_kind(TimedRuns& runs, StoredKind& kind, ClassId cls,
                                           const Row& row) {
  ++operations_;
  TimedSteps& steps = table_.steps(kind.kind, cls);
  if (steps.rests && steps.is_unconditional()) return;
  places_.clear();
  if (steps.rests && kind.places.size() >= kIndexMin && !probes_of(steps).empty()) {
    load(row);
    for (const Probe& probe : steps.probes) {
      RegisterIndex& index = index_of(runs, kind, probe);
      index.ask(probe.op, machine_.row_value(probe), [&](const IndexEntry& entry) {
        ++operations_;
        const StoredBundle& found = runs.bundles[entry.place];
        if (found.generation != entry.generation) return false;
        places_.push_back(entry.place);
        return true;
      });
    }
  } else {
    places_.assign(kind.places.begin(), kind.places.end());
  }
  for (uint32_t place : places_) look_at(runs, place, cls, row);
}

// Drops a bundle that has left the window or is late; notes one that the row changes.
void TimedEvaluator::look_at(TimedRuns& runs, uint32_t place, ClassId cls, const Row& row) {
  StoredBundle& one = runs.bundles[place];
  if (!one.is_live || one.touched == round_) return;
  const bool is_over =
      one.bundle.max_start < row.threshold || is_late(runs, one.bundle.kind, one.values);
  if (is_over) return runs.bundles.remove(place);
  const TimedStep& step = step_of(one.bundle.kind, cls, one.values, runs.now, row);
  if (step.is_identity) return;
  one.touched = round_;
  runs.is_split |= step.is_split;
  affected_.push_back({place, &step, append_now(runs, one.bundle.kind, step, one.values, row)});
}

// Bundles that wait take part if others come to be like them.
void TimedEvaluator::find_receivers(TimedRuns& runs, const TimedStep& step,
                                    std::span<const Clock> words, size_t now_at) {
  for (const BundleEdge& edge : step.edges) {
    if (edge.target == kNoKind) continue;
    target_words_.clear();
    carry_clocks(edge, words, now_of(now_at, step), target_words_);
    const uint32_t place = runs.bundles.find(edge.target, target_words_);
    if (place == BundleStore::kNowhere || runs.bundles[place].touched == round_) continue;
    if (runs.bundles[place].bundle.max_start < runs.threshold) {
      runs.bundles.remove(place);
      continue;
    }
    runs.bundles[place].touched = round_;
    const TimedStep& resting = table_.resting(edge.target);
    affected_.push_back({place, &resting, 0});
  }
}

// Takes what is affected out of the store, over the row, and puts in what comes of it.
void TimedEvaluator::move(TimedRuns& runs, const TimedStep& start, size_t start_at, const Row& row,
                          Graph& graph, std::vector<Root>& roots) {
  std::ranges::sort(affected_, [&](const Affected& a, const Affected& b) {
    return runs.bundles.comes_before(a.place, b.place);
  });
  moving_.clear();
  for (const Affected& one : affected_) {
    const StoredBundle& stored = runs.bundles[one.place];
    moving_.all.push_back(stored.bundle);
    moving_.clocks.insert(moving_.clocks.end(), stored.values.begin(), stored.values.end());
    moving_.entries.insert(moving_.entries.end(), stored.entries.begin(), stored.entries.end());
  }
  step_.locate(moving_);
  step_.plan.clear();
  step_.plan.add(kNewRun, start.edges, unset_words(runs.before), now_of(start_at, start));
  for (uint32_t i = 0; i < affected_.size(); ++i) {
    const Affected& one = affected_[i];
    step_.plan.add(i, one.step->edges, step_.clocks_of(moving_, i), now_of(one.now_at, *one.step));
  }
  const size_t first_root = roots.size();
  step_.take(moving_, row, graph, roots);
  for (size_t i = first_root; i < roots.size(); ++i) roots[i].may_repeat = runs.is_split;
  for (const Affected& one : affected_) runs.bundles.remove(one.place);
  size_t words_at = 0;
  size_t entries_at = 0;
  for (const Bundle& bundle : moving_.all) {
    const uint32_t place =
        runs.bundles.add(bundle, std::span(moving_.clocks).subspan(words_at, bundle.clock_count),
                         std::span(moving_.entries).subspan(entries_at, bundle.length));
    add_to_indexes(runs, place);
    words_at += bundle.clock_count;
    entries_at += bundle.length;
  }
  if (runs.bundles.size() > valuation_count_max_) {
    throw Error(ErrorKind::kLimit, "open matches hold more than " +
                                       std::to_string(valuation_count_max_) +
                                       " different valuations of registers and clocks in one part "
                                       "(valuation_count_max)");
  }
}

// ---------------------------------------------------------------------------------------------
// Indexes

// One for each transition that asks, each once; none if one of them has none.
const std::vector<Probe>& TimedEvaluator::probes_of(TimedSteps& steps) {
  if (steps.probes_version == machine_.version()) return steps.probes;
  steps.probes_version = machine_.version();
  steps.probes.clear();
  for (const std::vector<ConditionId>& asked : steps.asked) {
    const Probe* best = nullptr;
    for (ConditionId condition : asked) {
      const Probe* probe = machine_.probe_of(condition);
      if (probe && (!best || (best->is_ordered() && !probe->is_ordered()))) best = probe;
    }
    if (!best) {
      steps.probes.clear();
      return steps.probes;
    }
    const auto is_best = [&](const Probe& probe) {
      return probe.key == best->key && probe.value == best->value && probe.op == best->op;
    };
    if (std::ranges::none_of(steps.probes, is_best)) steps.probes.push_back(*best);
  }
  return steps.probes;
}

// Made when it is first asked, and anew when most of its entries are of bundles that have gone.
RegisterIndex& TimedEvaluator::index_of(TimedRuns& runs, StoredKind& kind, const Probe& probe) {
  constexpr size_t kSlack = 64;
  auto found = std::ranges::find_if(
      kind.indexes, [&](const RegisterIndex& index) { return index.answers(probe); });
  if (found != kind.indexes.end() && found->size() <= 2 * kind.places.size() + kSlack) {
    return *found;
  }
  if (found != kind.indexes.end()) kind.indexes.erase(found);
  RegisterIndex& made = kind.indexes.emplace_back(probe, machine_);
  for (uint32_t place : kind.places) {
    const StoredBundle& one = runs.bundles[place];
    const Value key = machine_.key(probe, {one.values, table_.layout(kind.kind)});
    made.add(key, {place, one.generation});
  }
  operations_ += kind.places.size();
  return made;
}

void TimedEvaluator::add_to_indexes(TimedRuns& runs, uint32_t place) {
  const StoredBundle& one = runs.bundles[place];
  StoredKind& kind = runs.bundles.list_of(one.bundle.kind);
  for (RegisterIndex& index : kind.indexes) {
    const Value key = machine_.key(index.key(), {one.values, table_.layout(kind.kind)});
    index.add(key, {place, one.generation});
  }
}

// ---------------------------------------------------------------------------------------------
// Housekeeping

void TimedEvaluator::sweep(TimedRuns& runs, Clock threshold) {
  places_.clear();
  for (const StoredKind& kind : runs.bundles.kinds()) {
    places_.insert(places_.end(), kind.places.begin(), kind.places.end());
  }
  for (uint32_t place : places_) {
    const StoredBundle& one = runs.bundles[place];
    const bool is_over = one.bundle.max_start < threshold ||
                         (is_bound_ && is_late(runs, one.bundle.kind, one.values));
    if (is_over) runs.bundles.remove(place);
  }
  operations_ += places_.size();
  runs.bundles.swept();
  if (runs.bundles.size() == 0) runs.is_split = false;
}

void TimedEvaluator::consume(StrategyRuns& opaque) {
  TimedRuns& runs = cast(opaque);
  runs.bundles.clear();
  runs.is_split = false;
}

void TimedEvaluator::expire(StrategyRuns& opaque, Clock threshold) {
  TimedRuns& runs = cast(opaque);
  runs.threshold = threshold;
  sweep(runs, threshold);
  runs.bundles.cut_lists(threshold);
}

bool TimedEvaluator::is_idle(const StrategyRuns& opaque) const {
  const TimedRuns& runs = cast(opaque);
  return runs.bundles.size() == 0 && runs.before == table_.initial();
}

void TimedEvaluator::mark_nodes(const StrategyRuns& opaque, Compaction& compaction) const {
  const TimedRuns& runs = cast(opaque);
  runs.bundles.mark_nodes(compaction, runs.threshold);
}

void TimedEvaluator::move_nodes(StrategyRuns& opaque, const Compaction& compaction) const {
  cast(opaque).bundles.move_nodes(compaction);
}

// Drops the strings and the open matches that no run holds any more.
void TimedEvaluator::trim(std::span<StrategyRuns* const> all) {
  for (StrategyRuns* runs : all) cast(*runs).bundles.drop_indexes();
  const auto rehash = [&] {
    for (StrategyRuns* runs : all) cast(*runs).bundles.rehash();
  };
  machine_.trim(
      [&](auto visit) {
        for (StrategyRuns* opaque : all) {
          BundleStore& bundles = cast(*opaque).bundles;
          for (uint32_t place : bundles.in_order()) {
            StoredBundle& one = bundles[place];
            size_t word = table_.live_clocks(one.bundle.kind).size();
            for (; word < one.values.size(); word += kRegisterWords) {
              visit(one.values[word], one.values[word + 1]);
            }
          }
        }
      },
      rehash);
}

size_t TimedEvaluator::bytes(const StrategyRuns& opaque) const {
  return sizeof(TimedRuns) + cast(opaque).bundles.bytes();
}

}  // namespace catena
