// The evaluator of timed queries whose time operators only bound from above: constant time per row
// (paper 000, Theorem 6.1 and appendix C).
//
// Where every check asks a clock to be at most so old, and runs that may give one result make the
// same checks and the same resets, the subset construction needs no clocks: a determinized state is
// a set of states as ever (automaton/determinizer.h), and an edge of it carries the checks and
// resets that all its transitions share. The runs of a determinized state lie in chains (chains.h).
// A row moves a chain over an edge if its first entry passes the checks; what in the chain is older
// stays behind a gate.
//
//   A ;[<= 5] B   a million As inside the five units are one chain; a B makes one gate and one
//                 output of it
//
// The window of the query is one more value that chains fall by. With one clock and no window, or
// with a window and no other resets than at the start, there is one chain for each state; else
// there may be more, at most as many as there are distinct values.
//
// What is too old for all checks that may follow (clock_needs.h) is cut off when the graph is
// compacted.
//
// Not for lower bounds: what is not yet old enough would lie in front of what is, and a reader
// would have to pass it over. Those queries are evaluated by timed.h.
#pragma once

#include <memory>
#include <vector>

#include "automaton/determinizer.h"
#include "engine/chains.h"
#include "engine/clock_needs.h"
#include "engine/interval.h"
#include "engine/strategy.h"

namespace catena {

class MonotonicRuns : public StrategyRuns {
 public:
  DetStateId before = 0;            // What runs start from.
  Clock now[kClockKindCount] = {};  // Of the last row that was read.
  Clock threshold = kClockMin;      // Of the window, as far as known.
  std::vector<DetStateId> states;   // Those of the chains, each once.
  Chains chains;
};

class MonotonicEvaluator : public StrategyEvaluator {
 public:
  // The references must outlive this object.
  MonotonicEvaluator(const Cea& cea, const ClassTrie& classes, uint32_t state_count_max);

  void bind(const std::vector<Interval>& intervals) override;
  uint32_t graph_clock_count() const override { return cea_.clock_count(); }
  std::unique_ptr<StrategyRuns> make_runs() const override;
  void advance(StrategyRuns& runs, ClassId cls, const Row& row, Graph& graph,
               std::vector<Root>& roots) override;
  void consume(StrategyRuns& runs) override;
  void expire(StrategyRuns& runs, Clock threshold) override;
  bool is_idle(const StrategyRuns& runs) const override;
  void mark_nodes(const StrategyRuns& runs, Compaction& compaction) const override;
  void move_nodes(StrategyRuns& runs, const Compaction& compaction) const override;
  void write(const StrategyRuns& runs, ByteWriter& out) const override;
  std::unique_ptr<StrategyRuns> read(ByteReader& in, const Graph& graph) override;
  size_t bytes(const StrategyRuns& runs) const override;
  uint64_t operations() const override { return operations_; }
  bool wants_trim() const override { return false; }
  void trim(std::span<StrategyRuns* const>) override {}

 private:
  // An edge of a determinized state, with what its transitions ask of and do to clocks.
  struct ClockedEdge {
    Edge edge;
    std::vector<ClockCheck> checks;
    ClockMask resets;
    ClockMask live;    // In the target.
    ClockMask closes;  // The clocks whose former values nobody asks for any more.

    bool only_waits() const { return edge.marks == kNoMarks && checks.empty() && resets == 0; }
  };
  struct Step {
    std::vector<ClockedEdge> edges;
    bool is_identity;
    DetStateId watched = kNoState;  // Where the state goes if runs start from it; once asked for.
  };
  // A chain, or a new run, taken over an edge; its latest values lie in move_values_.
  struct Move {
    uint32_t source;
    const ClockedEdge* edge;
    uint32_t values_at;
  };

  // The earliest reset that an interval allows, and the row that this is of.
  struct Threshold {
    uint64_t row = 0;
    Clock clock = kClockMin;
  };

  Step& step(DetStateId state, ClassId cls);
  std::unique_ptr<Step> make_step(DetStateId state, ClassId cls);
  ClockMask live_in(DetStateId state) const;

  bool is_unaffected(const MonotonicRuns& runs, ClassId cls);
  DetStateId watch(DetStateId before, ClassId cls);
  void locate(const Chains& chains);
  void add_moves(uint32_t source, const Step& step, std::span<const Clock> values,
                 const MonotonicRuns& runs);
  Clock threshold_of(const ClockCheck& check, const MonotonicRuns& runs);
  void sort_moves();
  ChainEntry carried(MonotonicRuns& runs, const Move& move, const Row& row, Graph& graph);
  NodeRef gated(NodeRef node, const ChainEntry& source, const ClockedEdge& edge, Clock max_start,
                const MonotonicRuns& runs, Graph& graph);
  ChainEntry merged(Chains& chains, uint32_t place, Graph& graph);
  void take(MonotonicRuns& runs, const Row& row, Graph& graph, std::vector<Root>& roots);
  void place(MonotonicRuns& runs, const Move& move, const ChainEntry& entry, const Row& row,
             Graph& graph);
  void close_lists(DetStateId state);

  std::span<const ChainEntry> entries_of(const Chains& chains, uint32_t place) const;
  std::span<const Clock> values_of(const Chains& chains, uint32_t place) const;
  std::span<const Clock> values_of(const Move& move) const {
    return std::span(move_values_).subspan(move.values_at, width_);
  }
  std::vector<Clock> release_thresholds(const MonotonicRuns& runs, DetStateId state) const;
  void note_states(MonotonicRuns& runs) const;

  const Cea& cea_;
  const ClassTrie& classes_;
  Determinizer determinizer_;
  size_t width_;  // Of an entry's latest values: the start and the clocks.
  std::vector<std::vector<bool>> live_;
  std::vector<Interval> intervals_;  // Empty before the first batch.
  ClockNeeds needs_;
  std::vector<std::vector<std::unique_ptr<Step>>> steps_;  // By state and class.

  // For the row being read.
  std::vector<Threshold> thresholds_;  // By interval and kind of clock.
  uint64_t row_number_ = 0;
  std::vector<size_t> entries_at_;  // Where each chain's entries begin.
  std::vector<Move> moves_;
  std::vector<Clock> move_values_;
  std::vector<ChainList> lists_;  // Of the target that is being built; the first list_count_.
  size_t list_count_ = 0;
  std::vector<Clock> unset_;  // The values of a run that has not started.
  std::vector<Clock> gate_;
  Chains next_;
  uint64_t operations_ = 0;
};

}  // namespace catena
