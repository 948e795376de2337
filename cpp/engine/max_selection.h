// The evaluator of MAX: reports the matches that mark as much as possible.
//
// Of the complex events with the same end whose start is inside the window, those are reported
// whose marked positions are no proper subset of another one's. A part holds *bundles*: lists of
// open matches that stand alike among their rivals (max_standing.h), each with the clocks of those
// rivals that started earlier; and the *outlook*, how a match that starts next would stand.
//
//   A ; B+ ; C on A B B: one match per A, all in three bundles, whatever the number of As:
//     {1}, nothing better yet (the As after the last B), {1} with {2} better, {2}
//   A+ ; B within a window: a bundle for each A inside it, hidden until the A before has left.
//
// A row first drops what has left the window: bundles, and ranks, which may uncover a match. Then
// each bundle follows its standing's step, bundles that come to stand alike are united
// (bundles.h), and edges into final states that nothing hides give roots. The lists are those of
// evaluator.h and so are their bounds.
//
// Invariants: bundles are in order of falling latest start; every open match (start, shown marks)
// is in one bundle only, so no result repeats; all starts of a bundle are later than its clocks.
//
// Cost per row: the moves of the bundles' steps, looked up. Without rivals of earlier start the
// bundles are as many as there are standings, whatever the stream; with them, as many as there are
// distinct (standing, clocks): linear in the live valuations. (Paper 003, section 7.3, appendices
// C.3.4 and D.3; windows, starts and hidden marks are not in the paper.)
#pragma once

#include <memory>
#include <vector>

#include "automaton/cea.h"
#include "columns/class_trie.h"
#include "engine/bundles.h"
#include "engine/max_steps.h"
#include "engine/strategy.h"

namespace catena {

class MaxRuns : public StrategyRuns {
 public:
  StandingId outlook = kNoStanding;
  std::vector<Clock> outlook_clocks;
  Clock threshold = kClockMin;  // Of the window, as far as known.
  Bundles bundles;
};

class MaxSelection : public StrategyEvaluator {
 public:
  // The references must outlive this object.
  MaxSelection(const Cea& cea, ClassTrie& classes, bool has_window, uint32_t state_count_max);

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
  uint64_t operations() const override { return operations_ + step_.operations(); }
  bool wants_trim() const override;
  void trim(std::span<StrategyRuns* const> runs) override;

  // For tests: the standings made so far.
  const StandingTable& standings() const { return table_; }

 private:
  void plan_trim();
  void drop_expired(MaxRuns& runs, Clock threshold);
  void cut_clocks(MaxRuns& runs, Clock threshold);
  bool is_unaffected(const MaxRuns& runs, ClassId cls);
  void plan_row(MaxRuns& runs, ClassId cls, Clock now);

  const Cea& cea_;
  bool has_window_;
  uint32_t state_count_max_;
  StandingTable table_;
  uint32_t trim_at_ = 0;  // Standings to be made before a trim.
  BundleStep step_;
  std::vector<Clock> outlook_clocks_;
  uint64_t operations_ = 0;
};

}  // namespace catena
