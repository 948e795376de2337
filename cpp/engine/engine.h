// The engine: runs one query over a stream of batches. The facade of the C++ side.
//
// The machine (automaton, classes, determinized states, frontiers) only caches and may be shared by
// all parts; the state (graph, parts, counters) is what a snapshot holds. A batch is first checked
// as a whole (times, nulls), so bad data leaves the stream as it was; then its rows are classified
// column by column, and each row takes its part one step further. A part that is dropped for having
// no live run takes its clock with it, so it may start anew at a smaller one.
//
// Between rows of different parts nothing is shared but the graph's arena. When the graph has grown
// to a multiple of what was in use, it is compacted; results already given keep the old one alive.
//
// CONSUME BY ANY must empty all parts at once: it raises the epoch, and a part that is visited with
// an older epoch is emptied then.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "automaton/cea.h"
#include "automaton/determinizer.h"
#include "columns/batch.h"
#include "columns/classifier.h"
#include "columns/values.h"
#include "engine/evaluator.h"
#include "engine/frontier.h"
#include "engine/interval.h"
#include "engine/order.h"
#include "engine/part_table.h"
#include "engine/strategy.h"
#include "engine/window.h"
#include "matches/result_set.h"

namespace catena {

enum class Consume : uint8_t { kNone, kPartition, kAny };

struct EngineOptions {
  Strategy strategy = Strategy::kAll;
  Consume consume = Consume::kNone;
  bool is_partitioned = false;
  bool has_window = false;
  bool drops_late_rows = false;
  uint32_t state_count_max = 10'000;
  uint32_t class_count_max = 65'536;
  uint32_t valuation_count_max = 1'000'000;
};

// How a query meets the columns of a batch.
struct Binding {
  Program program;
  std::vector<OrderColumn> order;
  std::optional<uint32_t> clock;     // The one of `order` that the window measures by.
  std::optional<uint32_t> time;      // The one that time operators measure by,
  std::vector<uint32_t> attributes;  // and those that WITHIN n [attribute] does.
  Window window;
  std::vector<uint32_t> keys;
  uint32_t tie_count = 0;            // So many keys, the last ones, stand for equalities.
  std::optional<GuardId> row_guard;  // Rows that fail it take no part at all.
  std::vector<Interval> intervals;   // Those of the automaton's clocks, by id.
};

struct EngineState {
  std::shared_ptr<Graph> graph;
  PartTable parts;
  Position position = 0;          // Of the next row.
  std::vector<Clock> last_order;  // Last value of each order column; empty before the first row.
  uint64_t late_count = 0;
  uint32_t epoch = 0;
};

struct EngineStats {
  uint64_t rows;
  uint64_t operations;
  uint64_t graph_nodes;
  uint64_t graph_bytes;
  uint64_t parts;
  uint64_t part_bytes;
  uint64_t valuations;
  uint64_t det_states;
  uint64_t frontiers;
  uint64_t classes;
};

class Engine {
 public:
  Engine(std::shared_ptr<const Cea> cea, const EngineOptions& options);

  // Must be called before the first batch, and again whenever the columns' layout changes.
  void bind(Binding binding);

  // Reads a batch. Throws Error and changes nothing if the batch's data is bad; if a limit is
  // passed half way, the engine refuses all further batches.
  std::shared_ptr<ResultSet> push(const Batch& batch);

  // Releases what is no longer in use; gives the oldest position that an open match may still show.
  Position release();

  // The state as bytes, for an engine of the same query; `plan_hash` and `extra` go with it.
  std::string snapshot(const std::string& plan_hash, const std::string& extra);

  // Takes over a snapshot; gives its `extra`. Only for an engine that has read nothing.
  std::string restore(std::string_view bytes, const std::string& plan_hash);

  const Cea& cea() const { return *cea_; }
  Position position() const { return state_.position; }
  uint64_t late_count() const { return state_.late_count; }
  EngineStats stats() const;

 private:
  struct BatchPlan {
    std::vector<std::vector<Clock>> order;  // By order column and row.
    std::vector<bool> is_late;              // By row; empty if no row is late.
    std::vector<Clock> last_order;
    uint64_t late_count = 0;
  };

  // A row on its way to its part.
  struct Visit {
    size_t row;        // In the batch,
    size_t in_values;  // and among the rows classified last.
    ClassId cls;
    uint32_t place;    // Of the part.
    size_t key_begin;  // In key_.
    size_t key_size;
    uint64_t hash;
  };

  std::shared_ptr<Graph> make_graph() const;
  BatchPlan check_order(const Batch& batch) const;
  void check_order_in_parts(const Batch& batch, BatchPlan& plan);
  bool falls_in_part(const Batch& batch, int64_t row, std::vector<Clock>& last, BatchPlan& plan);
  void refuse_or_drop(const Batch& batch, const OrderColumn& order, int64_t row,
                      BatchPlan& plan) const;
  void evaluate(const Batch& batch, const BatchPlan& plan, ResultSet& results);
  void evaluate_rows(const Batch& batch, const BatchPlan& plan, int64_t begin, int64_t count,
                     std::vector<Root>& roots);
  void find_visits(const Batch& batch, const BatchPlan& plan, int64_t begin, int64_t from,
                   int64_t to);
  bool reads_at_once(const BatchPlan& plan) const;
  void sweep(PartState& part, const BatchPlan& plan, int64_t begin, int64_t count,
             std::vector<Root>& roots);
  void visit(PartState& part, ClassId cls, const BatchPlan& plan, size_t row, size_t in_values,
             std::vector<Root>& roots);
  bool takes_part(ClassId cls) const;
  bool leaves_idle(ClassId cls);
  void empty(PartState& part);
  void compact();
  void trim_strategy();
  void shrink_frontiers();
  Clock threshold_of(const PartState& part) const;

  std::shared_ptr<const Cea> cea_;
  EngineOptions options_;
  ClassTrie classes_;
  Determinizer determinizer_;
  FrontierTable frontiers_;
  Evaluator evaluator_;
  std::unique_ptr<StrategyEvaluator> strategy_;  // Null for ALL.
  std::optional<Binding> binding_;
  std::optional<Classifier> classifier_;
  std::optional<KeyEncoder> key_encoder_;
  EngineState state_;
  std::vector<ClassId> class_of_row_;
  std::vector<Visit> visits_;
  std::string key_;                // The keys of the rows being looked at, one after the other.
  std::vector<Clock> attributes_;  // Of the row being read: the clocks that are attributes.
  uint64_t compact_at_;
  uint32_t frontier_count_max_;
  bool has_failed_ = false;
};

}  // namespace catena
