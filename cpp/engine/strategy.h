// What the engine asks of an evaluator of a selection strategy that is more than "every match".
//
// The engine knows parts, windows, consumption, compaction and snapshots; a strategy knows what is
// open in one part (`StrategyRuns`, opaque to the engine) and how a row takes it further. Graph
// nodes that open runs use are reported for compaction and moved afterwards, as in evaluator.h.
//
// Invariant: what ends at a row is appended as roots when that row is read; a root stands only for
// matches that lie inside the window and that the strategy selects.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/types.h"
#include "columns/program.h"
#include "engine/interval.h"
#include "engine/row.h"
#include "matches/graph.h"
#include "matches/result_set.h"

namespace catena {

class StrategyRuns {
 public:
  virtual ~StrategyRuns() = default;
};

class StrategyEvaluator {
 public:
  virtual ~StrategyEvaluator() = default;

  // Told before the first batch, and whenever the type of the time column changes: how long the
  // intervals of a timed automaton are.
  virtual void bind(const std::vector<Interval>&) {}

  // The same for the program: what conditions and updates of registers are.
  virtual void bind_program(const Program&) {}

  // The clocks that the graph must know (graph.h).
  virtual uint32_t graph_clock_count() const { return 0; }

  // The runs of a part of which no row has been read.
  virtual std::unique_ptr<StrategyRuns> make_runs() const = 0;

  // Takes a part over a row; appends the roots of what ends there.
  virtual void advance(StrategyRuns& runs, ClassId cls, const Row& row, Graph& graph,
                       std::vector<Root>& roots) = 0;

  // Forgets the runs that have started; what observers have seen stays (CONSUME BY).
  virtual void consume(StrategyRuns& runs) = 0;

  // Drops what lies outside the window.
  virtual void expire(StrategyRuns& runs, Clock threshold) = 0;

  // The oldest row that is not in the graph yet, but may still be shown by a match.
  virtual Position oldest_row(const StrategyRuns&) const {
    return std::numeric_limits<Position>::max();
  }

  // True if the runs hold nothing that new ones would not.
  virtual bool is_idle(const StrategyRuns& runs) const = 0;

  // For compaction: marks the nodes in use, and points to their copies afterwards.
  virtual void mark_nodes(const StrategyRuns& runs, Compaction& compaction) const = 0;
  virtual void move_nodes(StrategyRuns& runs, const Compaction& compaction) const = 0;

  // For snapshots. `read` takes nothing on trust: it throws Error of kind kSnapshot, or gives runs
  // that keep all invariants.
  virtual void write(const StrategyRuns& runs, ByteWriter& out) const = 0;
  virtual std::unique_ptr<StrategyRuns> read(ByteReader& in, const Graph& graph) = 0;

  // Bytes held by a part's runs, and, for tests of bounds, steps taken so far.
  virtual size_t bytes(const StrategyRuns& runs) const = 0;
  virtual uint64_t operations() const = 0;

  // Bytes held for the runs of all parts together.
  virtual size_t shared_bytes() const { return 0; }

  // How many different values of clocks and registers open matches of a part hold, if it is by
  // these that they are told apart.
  virtual size_t valuation_count(const StrategyRuns&) const { return 0; }

  // Whether the cache of steps has grown so large that `trim`, given all runs there are, pays.
  virtual bool wants_trim() const = 0;
  virtual void trim(std::span<StrategyRuns* const> runs) = 0;
};

}  // namespace catena
