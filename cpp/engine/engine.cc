#include "engine/engine.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/error.h"
#include "engine/snapshot.h"
#include "engine/strategies.h"

namespace catena {
namespace {

// Below this many nodes a graph is not worth compacting.
constexpr uint64_t kCompactMin = 1u << 13;
// A graph is compacted when it has grown to this many times what was in use the last time: the
// first as long as it is small, so that copying a long window costs little beside making it.
constexpr uint64_t kCompactGrowth = 10;
constexpr uint64_t kCompactGrowthLarge = 3;
constexpr uint64_t kCompactLarge = 1u << 20;
// Frontiers cached before those in use are interned anew.
constexpr uint32_t kFrontierCountMin = 1u << 14;
// Rows whose parts are found together.
constexpr int64_t kRowsAhead = 64;
// Rows between two looks at the budgets above.
constexpr int64_t kRowsPerRound = 4096;

}  // namespace

Engine::Engine(std::shared_ptr<const Cea> cea, const EngineOptions& options)
    : cea_(std::move(cea)),
      options_(options),
      classes_(cea_->guard_count(), options.class_count_max),
      determinizer_(*cea_, classes_, options.state_count_max),
      frontiers_(determinizer_),
      evaluator_(frontiers_),
      strategy_(make_strategy(options.strategy, *cea_, classes_, options.has_window,
                              options.state_count_max, options.valuation_count_max)),
      compact_at_(kCompactMin),
      frontier_count_max_(kFrontierCountMin) {
  state_.graph = make_graph();
}

std::shared_ptr<Graph> Engine::make_graph() const {
  return std::make_shared<Graph>(strategy_ ? strategy_->graph_clock_count() : 0);
}

void Engine::bind(Binding binding) {
  if (binding.program.guards.size() != cea_->guard_count()) {
    throw Error(ErrorKind::kUser, "the program has another number of guards than the automaton");
  }
  if (binding.intervals.size() != cea_->interval_count()) {
    throw Error(ErrorKind::kUser, "there is another number of intervals than in the automaton");
  }
  if (binding.program.conditions.size() != cea_->condition_reads().size() ||
      binding.program.updates.size() != cea_->update_reads().size()) {
    throw Error(ErrorKind::kUser, "the program has other conditions than the automaton");
  }
  if (strategy_) strategy_->bind(binding.intervals);
  if (strategy_) strategy_->bind_program(binding.program);
  classifier_.emplace(binding.program, classes_);
  if (binding.tie_count > binding.keys.size()) {
    throw Error(ErrorKind::kUser, "there are more ties than keys");
  }
  key_encoder_.emplace(binding.keys, binding.tie_count);
  binding_ = std::move(binding);
}

std::shared_ptr<ResultSet> Engine::push(const Batch& batch) {
  if (has_failed_) {
    throw Error(ErrorKind::kUser, "this stream has stopped at an earlier error; start a new one");
  }
  BatchPlan plan = check_order(batch);
  if (std::ranges::any_of(binding_->order, &OrderColumn::is_by_part)) {
    check_order_in_parts(batch, plan);
  }
  auto results = std::make_shared<ResultSet>();
  has_failed_ = true;  // Until the batch is through: half a batch is no state to go on from.
  evaluate(batch, plan, *results);
  has_failed_ = false;
  state_.late_count += plan.late_count;
  state_.last_order = std::move(plan.last_order);
  state_.position += batch.num_rows();
  return results;
}

// Finds the rows that come too late, before anything is changed.
Engine::BatchPlan Engine::check_order(const Batch& batch) const {
  BatchPlan plan;
  const auto rows = static_cast<size_t>(batch.num_rows());
  const size_t order_count = binding_->order.size();
  plan.last_order = state_.last_order;
  if (plan.last_order.empty()) plan.last_order.assign(order_count, kClockMin);
  if (plan.last_order.size() != order_count) {
    throw Error(ErrorKind::kSnapshot, "the snapshot was taken with other time columns");
  }
  plan.order.assign(order_count, std::vector<Clock>(rows));
  for (size_t i = 0; i < order_count; ++i) {
    const OrderColumn& order = binding_->order[i];
    if (order.is_by_part) continue;
    read_order(batch, order, state_.position, 0, batch.num_rows(), plan.order[i].data());
  }
  for (size_t row = 0; row < rows && order_count > 0; ++row) {
    size_t bad = 0;
    while (bad < order_count &&
           (binding_->order[bad].is_by_part || plan.order[bad][row] >= plan.last_order[bad])) {
      ++bad;
    }
    if (bad < order_count) {
      refuse_or_drop(batch, binding_->order[bad], static_cast<int64_t>(row), plan);
      continue;
    }
    for (size_t i = 0; i < order_count; ++i) plan.last_order[i] = plan.order[i][row];
  }
  return plan;
}

// The same for what must not fall within each part.
void Engine::check_order_in_parts(const Batch& batch, BatchPlan& plan) {
  // Of the parts that this batch has rows of: the last values of the order columns.
  std::unordered_map<std::string, std::vector<Clock>> last_clocks;
  class_of_row_.resize(kRowsPerRound);
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    const int64_t in_round = row % kRowsPerRound;
    if (in_round == 0) {
      const int64_t count = std::min(kRowsPerRound, batch.num_rows() - row);
      classifier_->classify(batch, row, count, class_of_row_.data());
    }
    if (!plan.is_late.empty() && plan.is_late[static_cast<size_t>(row)]) continue;
    if (!takes_part(class_of_row_[static_cast<size_t>(in_round)])) continue;
    key_.clear();
    if (!key_encoder_->encode(batch, row, key_)) continue;
    const auto [last, is_new] = last_clocks.try_emplace(key_);
    if (const uint32_t place = state_.parts.find(key_); is_new && place != PartTable::kNowhere) {
      last->second = state_.parts[place].last_clocks;
    }
    last->second.resize(binding_->order.size(), kClockMin);
    if (falls_in_part(batch, row, last->second, plan)) continue;
    for (size_t i = 0; i < last->second.size(); ++i) {
      last->second[i] = plan.order[i][static_cast<size_t>(row)];
    }
  }
}

// Reads the order columns of a row that are by part; true if one of them goes back.
bool Engine::falls_in_part(const Batch& batch, int64_t row, std::vector<Clock>& last,
                           BatchPlan& plan) {
  for (size_t i = 0; i < binding_->order.size(); ++i) {
    const OrderColumn& order = binding_->order[i];
    if (!order.is_by_part) continue;
    Clock& clock = plan.order[i][static_cast<size_t>(row)];
    read_order(batch, order, state_.position, row, 1, &clock);
    if (clock >= last[i]) continue;
    refuse_or_drop(batch, order, row, plan);
    return true;
  }
  return false;
}

// What becomes of a row whose clock goes back.
void Engine::refuse_or_drop(const Batch& batch, const OrderColumn& order, int64_t row,
                            BatchPlan& plan) const {
  if (!options_.drops_late_rows) {
    throw Error(ErrorKind::kData,
                "column '" + std::string(batch.column(order.column).name()) +
                    "' goes back: its value is smaller than in an earlier row",
                state_.position + row);
  }
  if (plan.is_late.empty()) plan.is_late.resize(static_cast<size_t>(batch.num_rows()), false);
  plan.is_late[static_cast<size_t>(row)] = true;
  ++plan.late_count;
}

void Engine::evaluate(const Batch& batch, const BatchPlan& plan, ResultSet& results) {
  class_of_row_.resize(kRowsPerRound);
  for (int64_t begin = 0; begin < batch.num_rows(); begin += kRowsPerRound) {
    if (results.segments.empty() || results.segments.back().graph != state_.graph) {
      results.segments.push_back({state_.graph, {}});
    }
    const int64_t count = std::min(kRowsPerRound, batch.num_rows() - begin);
    classifier_->classify(batch, begin, count, class_of_row_.data());
    evaluate_rows(batch, plan, begin, count, results.segments.back().roots);
    if (state_.graph->size() >= compact_at_) compact();
    if (state_.parts.wants_sweep()) compact();
    if (frontiers_.size() >= frontier_count_max_) shrink_frontiers();
  }
}

void Engine::evaluate_rows(const Batch& batch, const BatchPlan& plan, int64_t begin, int64_t count,
                           std::vector<Root>& roots) {
  if (options_.is_partitioned) {
    for (int64_t i = 0; i < count; i += kRowsAhead) {
      find_visits(batch, plan, begin, i, std::min(i + kRowsAhead, count));
      for (const Visit& to : visits_) {
        visit(state_.parts[to.place], to.cls, plan, to.row, to.in_values, roots);
      }
    }
    return;
  }
  PartState& part = state_.parts[state_.parts.find_or_add({})];
  if (reads_at_once(plan)) return sweep(part, plan, begin, count, roots);
  for (int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<size_t>(begin + i);
    const ClassId cls = class_of_row_[static_cast<size_t>(i)];
    if (!plan.is_late.empty() && plan.is_late[row]) continue;
    if (takes_part(cls)) visit(part, cls, plan, row, static_cast<size_t>(i), roots);
  }
}

// Finds the parts of some rows, those that take part. Of many parts few are in the cache, so the
// rows take each step on the way to their parts together, and memory is asked for a step ahead.
void Engine::find_visits(const Batch& batch, const BatchPlan& plan, int64_t begin, int64_t from,
                         int64_t to) {
  visits_.clear();
  key_.clear();
  for (int64_t i = from; i < to; ++i) {
    const auto row = static_cast<size_t>(begin + i);
    const ClassId cls = class_of_row_[static_cast<size_t>(i)];
    if (!plan.is_late.empty() && plan.is_late[row]) continue;
    if (!takes_part(cls)) continue;
    const size_t key_begin = key_.size();
    if (!key_encoder_->encode(batch, begin + i, key_)) {
      key_.resize(key_begin);
      continue;
    }
    const std::string_view key = std::string_view(key_).substr(key_begin);
    visits_.push_back(
        {row, static_cast<size_t>(i), cls, 0, key_begin, key.size(), PartTable::hash_of(key)});
    state_.parts.prefetch_bucket(visits_.back().hash);
  }
  for (const Visit& visit : visits_) state_.parts.prefetch_part(visit.hash);
  for (Visit& visit : visits_) {
    const std::string_view key = std::string_view(key_).substr(visit.key_begin, visit.key_size);
    visit.place = leaves_idle(visit.cls) ? state_.parts.find(key, visit.hash)
                                         : state_.parts.find_or_add(key, visit.hash);
    if (visit.place != PartTable::kNowhere) state_.parts.prefetch_slots(visit.place);
  }
  std::erase_if(visits_, [](const Visit& visit) { return visit.place == PartTable::kNowhere; });
}

// Whether rows need nothing but the evaluator: one part, every row takes part, matches are all
// reported, and none of them consumes anything.
bool Engine::reads_at_once(const BatchPlan& plan) const {
  return !options_.is_partitioned && !strategy_ && options_.consume == Consume::kNone &&
         plan.is_late.empty() && !binding_->row_guard &&
         std::ranges::none_of(binding_->order, &OrderColumn::is_by_part);
}

void Engine::sweep(PartState& part, const BatchPlan& plan, int64_t begin, int64_t count,
                   std::vector<Root>& roots) {
  const Position position = state_.position + begin;
  RowClocks clocks{nullptr, position, binding_->window};
  if (binding_->clock) clocks.of_row = plan.order[*binding_->clock].data() + begin;
  if (binding_->window.kind == WindowKind::kEvents)
    clocks = {nullptr, part.row_count + 1, binding_->window};
  part.row_count += count;
  const std::span classes(class_of_row_);
  evaluator_.advance(part, classes.first(static_cast<size_t>(count)), clocks, position,
                     *state_.graph, roots);
}

void Engine::visit(PartState& part, ClassId cls, const BatchPlan& plan, size_t row,
                   size_t in_values, std::vector<Root>& roots) {
  const auto value = [&](uint32_t order) { return plan.order[order][row]; };
  ++part.row_count;
  for (uint32_t i = 0; i < binding_->order.size(); ++i) {
    if (!binding_->order[i].is_by_part) continue;
    part.last_clocks.resize(binding_->order.size(), kClockMin);
    part.last_clocks[i] = value(i);
  }
  if (part.epoch != state_.epoch) empty(part);
  if (!strategy_ && frontiers_.step(part.frontier, cls).is_identity) return;
  const Position position = state_.position + static_cast<Position>(row);
  Clock clock = binding_->clock ? value(*binding_->clock) : position;
  if (binding_->window.kind == WindowKind::kEvents) clock = part.row_count;
  const RowPlace place{position, clock, binding_->window.threshold(clock)};
  const size_t roots_before = roots.size();
  if (strategy_) {
    const Clock time = binding_->time ? value(*binding_->time) : 0;
    attributes_.clear();
    for (uint32_t order : binding_->attributes) attributes_.push_back(value(order));
    const RowValues& values = classifier_->row_values();
    if (!part.runs) part.runs = strategy_->make_runs();
    strategy_->advance(*part.runs, cls,
                       {place, time, part.row_count, attributes_, &values, in_values},
                       *state_.graph, roots);
    if (strategy_->wants_trim()) trim_strategy();
  } else {
    evaluator_.advance(part, cls, place, *state_.graph, roots);
  }
  if (roots.size() == roots_before || options_.consume == Consume::kNone) return;
  if (options_.consume == Consume::kAny) ++state_.epoch;
  empty(part);
}

bool Engine::takes_part(ClassId cls) const {
  return !binding_->row_guard || classes_.satisfies(cls, *binding_->row_guard);
}

// True if a new part would hold nothing after a row of this class, so that it need not be made.
bool Engine::leaves_idle(ClassId cls) {
  if (strategy_) return false;
  for (const auto& order : binding_->order) {
    if (order.is_by_part) return false;  // Its last clock is kept.
  }
  return frontiers_.step(FrontierTable::kEmpty, cls).is_identity;
}

// Forgets the runs that have started; observers go on watching.
void Engine::empty(PartState& part) {
  part.epoch = state_.epoch;
  part.frontier = frontiers_.prefix(part.frontier, 0);
  part.slots.clear();
  if (part.runs) strategy_->consume(*part.runs);
}

// Moves what is in use into a new graph and drops the parts without live runs.
void Engine::compact() {
  Compaction compaction(*state_.graph);
  state_.parts.for_each([&](std::string_view, PartState& part) {
    if (part.epoch != state_.epoch) empty(part);
    const Clock threshold = threshold_of(part);
    evaluator_.expire(part, threshold);
    evaluator_.mark_nodes(part, threshold, compaction);
    if (!part.runs) return;
    strategy_->expire(*part.runs, threshold);
    if (strategy_->is_idle(*part.runs)) {
      part.runs = nullptr;
    } else {
      strategy_->mark_nodes(*part.runs, compaction);
    }
  });
  state_.graph = compaction.copy();
  state_.parts.for_each([&](std::string_view, PartState& part) {
    evaluator_.move_nodes(part, compaction);
    if (part.runs) strategy_->move_nodes(*part.runs, compaction);
  });
  state_.parts.drop_idle();
  const uint64_t in_use = state_.graph->size();
  const uint64_t large = std::max(kCompactLarge, kCompactGrowthLarge * in_use);
  compact_at_ = std::max(kCompactMin, std::min(large, kCompactGrowth * in_use));
}

// From where on the starts of a part's runs are inside the window, as far as rows have been read.
Clock Engine::threshold_of(const PartState& part) const {
  if (!binding_) return kClockMin;
  if (binding_->window.kind == WindowKind::kEvents) {
    return binding_->window.threshold(part.row_count);
  }
  Clock last = kClockMin;
  if (const auto clock = binding_->clock) {
    const bool is_by_part = binding_->order[*clock].is_by_part;
    const std::vector<Clock>& known = is_by_part ? part.last_clocks : state_.last_order;
    if (*clock < known.size()) last = known[*clock];
  }
  return last == kClockMin ? kClockMin : binding_->window.threshold(last);
}

void Engine::trim_strategy() {
  std::vector<StrategyRuns*> in_use;
  state_.parts.for_each([&](std::string_view, PartState& part) {
    if (part.runs) in_use.push_back(part.runs.get());
  });
  strategy_->trim(in_use);
}

void Engine::shrink_frontiers() {
  std::vector<std::pair<PartState*, FrontierTable::Key>> in_use;
  state_.parts.for_each([&](std::string_view, PartState& part) {
    in_use.emplace_back(&part, frontiers_.key_of(part.frontier));
  });
  frontiers_.clear();
  for (auto& [part, key] : in_use) part->frontier = frontiers_.intern(std::move(key));
  frontier_count_max_ = std::max(kFrontierCountMin, 2 * frontiers_.size());
}

Position Engine::release() {
  compact();
  Position oldest = state_.position;
  for (uint32_t i = 0; i < state_.graph->size(); ++i) {
    const GraphNode& node = state_.graph->at(i);
    if (node.kind() != NodeKind::kJoin && node.position() >= 0) {
      oldest = std::min(oldest, node.position());
    }
  }
  state_.parts.for_each([&](std::string_view, PartState& part) {
    if (part.runs) oldest = std::min(oldest, strategy_->oldest_row(*part.runs));
  });
  return oldest;
}

std::string Engine::snapshot(const std::string& plan_hash, const std::string& extra) {
  if (has_failed_) {
    throw Error(ErrorKind::kUser, "this stream has stopped at an earlier error; start a new one");
  }
  compact();
  return write_snapshot({*cea_, determinizer_, frontiers_, strategy_.get(), state_}, plan_hash,
                        extra);
}

std::string Engine::restore(std::string_view bytes, const std::string& plan_hash) {
  assert(state_.position == 0);
  EngineState state;
  state.graph = make_graph();
  std::string extra =
      read_snapshot({*cea_, determinizer_, frontiers_, strategy_.get(), state}, bytes, plan_hash);
  state_ = std::move(state);
  return extra;
}

EngineStats Engine::stats() const {
  return {.rows = static_cast<uint64_t>(state_.position),
          .operations = strategy_ ? strategy_->operations() : evaluator_.operations(),
          .graph_nodes = state_.graph->size(),
          .graph_bytes = state_.graph->bytes(),
          .parts = state_.parts.size(),
          .part_bytes =
              state_.parts.bytes(strategy_.get()) + (strategy_ ? strategy_->shared_bytes() : 0),
          .valuations = state_.parts.valuation_count(strategy_.get()),
          .det_states = determinizer_.state_count(),
          .frontiers = frontiers_.size(),
          .classes = classes_.num_classes()};
}

}  // namespace catena
