// The evaluator of timed queries: runs told apart by their states and their clocks.
//
// A bundle (bundles.h) holds the runs of one set of states with one valuation of its live clocks
// (timed_table.h): those that time operators can still tell apart. A row makes the checks of each
// bundle, looks up the step that follows, and bundles that come out alike are united. So the price
// of a row is that of the distinct live valuations and never that of the runs.
//
//   (A AS x) ;[<= 5] (B AS y)+ ; C   a bundle for each A of the last five units, and one for all
//                                    that has had a B: 2^n runs over n rows B share its graph
//
// The window of the query is not a clock: lists are ordered by start as ever.
//
// What no clock can use any more is released: from the ends of the intervals it is worked out, for
// every state and clock, how long after its reset the clock can at most be checked with success on
// the way to a match (`need`). A run that is late for all ways is dropped.
//
// Where resets are not synchronous (the table splits a set), one output may come from several
// bundles; from then on the roots of a part are marked as repeating, and readers drop repetitions.
//
// (Paper 000, sections 4 and 5; Theorem 5.3.)
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/bundles.h"
#include "engine/interval.h"
#include "engine/strategy.h"
#include "engine/timed_table.h"

namespace catena {

class TimedRuns : public StrategyRuns {
 public:
  TimedSetId before = 0;            // What runs start from.
  bool is_split = false;            // One output may be in several bundles.
  Clock now[kClockKindCount] = {};  // Of the last row that was read.
  Clock threshold = kClockMin;      // Of the window, as far as known.
  std::vector<TimedSetId> kinds;    // Those of the bundles, each once.
  Bundles bundles;
};

class TimedEvaluator : public StrategyEvaluator {
 public:
  // The references must outlive this object.
  TimedEvaluator(const Cea& cea, const ClassTrie& classes, uint32_t state_count_max);

  void bind(const std::vector<Interval>& intervals) override;
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
  bool wants_trim() const override { return false; }
  void trim(std::span<StrategyRuns* const>) override {}

 private:
  // How long a clock can be of use: for ever, never, or as long as an interval lasts.
  static constexpr uint32_t kForEver = 0xffffffffu;
  static constexpr uint32_t kNever = 0xfffffffeu;

  void find_needs();
  uint32_t later(uint32_t a, uint32_t b) const;
  uint32_t earlier(uint32_t a, uint32_t b) const;
  uint32_t need_along(const Transition& t, ClockId clock) const;

  bool is_unaffected(const TimedRuns& runs, ClassId cls);
  bool is_late(const TimedRuns& runs, TimedSetId set, std::span<const Clock> clocks) const;
  const TimedStep& step_of(TimedSetId set, ClassId cls, std::span<const Clock> clocks,
                           std::span<const Clock> now);
  void drop_outside(TimedRuns& runs, Clock threshold);
  void note_kinds(TimedRuns& runs);

  const Cea& cea_;
  TimedTable table_;
  std::vector<Interval> intervals_;           // Empty before the first batch.
  std::vector<std::vector<uint32_t>> needs_;  // By state and clock; an interval, or as above.
  BundleStep step_;
  std::vector<bool> outcomes_;
  std::vector<Clock> unset_;  // The clocks of what has not started.
  uint64_t operations_ = 0;
};

}  // namespace catena
