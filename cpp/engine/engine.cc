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
constexpr uint32_t kCompactMin = 1u << 16;
// A graph is compacted when it has grown to this many times what was in use the last time.
constexpr uint32_t kCompactGrowth = 3;
// Frontiers cached before those in use are interned anew.
constexpr uint32_t kFrontierCountMin = 1u << 14;
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
  for (size_t row = 0; row < rows; ++row) {
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
    if (const PartState* part = state_.parts.find(key_); is_new && part) {
      last->second = part->last_clocks;
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
  PartState* part = options_.is_partitioned ? nullptr : &state_.parts[state_.parts.find_or_add({})];
  for (int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<size_t>(begin + i);
    const ClassId cls = class_of_row_[static_cast<size_t>(i)];
    if (!plan.is_late.empty() && plan.is_late[row]) continue;
    if (!takes_part(cls)) continue;
    if (options_.is_partitioned) part = part_of_row(batch, begin + i);
    if (!part) continue;
    visit(*part, cls, plan, row, static_cast<size_t>(i), roots);
    if (strategy_ && strategy_->wants_trim()) trim_strategy();
  }
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
  const Clock time = binding_->time ? value(*binding_->time) : 0;
  attributes_.clear();
  for (uint32_t order : binding_->attributes) attributes_.push_back(value(order));
  const size_t roots_before = roots.size();
  const Row read{position,       clock,       binding_->window.threshold(clock), time,
                 part.row_count, attributes_, &classifier_->row_values(),        in_values};
  if (strategy_) {
    if (!part.runs) part.runs = strategy_->make_runs();
    strategy_->advance(*part.runs, cls, read, *state_.graph, roots);
  } else {
    evaluator_.advance(part, cls, read, *state_.graph, roots);
  }
  if (roots.size() == roots_before || options_.consume == Consume::kNone) return;
  if (options_.consume == Consume::kAny) ++state_.epoch;
  empty(part);
}

bool Engine::takes_part(ClassId cls) const {
  return !binding_->row_guard || classes_.satisfies(cls, *binding_->row_guard);
}

PartState* Engine::part_of_row(const Batch& batch, int64_t row) {
  key_.clear();
  if (!key_encoder_->encode(batch, row, key_)) return nullptr;
  return &state_.parts[state_.parts.find_or_add(key_)];
}

// Forgets the runs that have started; observers go on watching.
void Engine::empty(PartState& part) {
  part.epoch = state_.epoch;
  part.frontier = frontiers_.prefix(part.frontier, 0);
  part.lists.clear();
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
  compact_at_ = std::max(kCompactMin, kCompactGrowth * state_.graph->size());
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
          .det_states = determinizer_.state_count(),
          .frontiers = frontiers_.size(),
          .classes = classes_.num_classes()};
}

}  // namespace catena
