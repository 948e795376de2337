// The evaluator per valuation: runs told apart by their states, their clocks and their registers.
//
// A bundle (bundles.h) holds the runs of one set of states with one valuation of its live clocks
// and registers (timed_table.h): those that time operators and conditions over several events can
// still tell apart. A row makes the checks of each bundle it may concern, looks up the step that
// follows, and bundles that come out alike are united. So the price of a row is that of distinct
// live valuations and never that of the runs.
//
//   (A AS x) ;[<= 5] (B AS y)+ ; C   a bundle for each A of the last five units, and one for all
//                                    that has had a B: 2^n runs over n rows B share its graph
//   (A AS x ; (B AS y)+ ; C AS z) FILTER z.p > x.p    two bundles for each p of an A
//
// Which bundles a row concerns: those of a set that does more than wait on rows of its class. Where
// a set waits unless a condition holds, and every such condition compares registers with the row,
// the bundles that satisfy one of them are found through an index (register_index.h), and the
// others are not looked at. A row of a class that changes nothing touches nothing.
//
// The window of the query is not a clock: lists are ordered by start as ever. What has left the
// window, and what no clock can use any more, is dropped when it is met, and by looking through all
// once as many bundles have come as there were: from the ends of the intervals it is worked out,
// for every state and clock, how long after its reset the clock can at most be checked with success
// on the way to a match (`need`). A run that is late for all ways is dropped.
//
// Where resets and updates are not synchronous (the table splits a set), one output may come from
// several bundles; from then on the roots of a part are marked as repeating, and readers drop
// repetitions.
//
// (Paper 000, sections 4 and 5; Theorem 5.3. Paper 001, sections 3 to 5: registers.)
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/bundle_store.h"
#include "engine/bundles.h"
#include "engine/interval.h"
#include "engine/register_machine.h"
#include "engine/strategy.h"
#include "engine/timed_table.h"

namespace catena {

// The valuations that one part may have alive, unless said otherwise.
inline constexpr uint32_t kValuationCountMax = 1'000'000;

class TimedRuns : public StrategyRuns {
 public:
  TimedSetId before = 0;            // What runs start from.
  bool is_split = false;            // One output may be in several bundles.
  Clock now[kClockKindCount] = {};  // Of the last row that was read.
  Clock threshold = kClockMin;      // Of the window, as far as known.
  uint32_t indexes_version = 0;     // Of the machine that the indexes are of.
  BundleStore bundles;
};

class TimedEvaluator : public StrategyEvaluator {
 public:
  // The references must outlive this object.
  TimedEvaluator(const Cea& cea, const ClassTrie& classes, uint32_t state_count_max,
                 uint32_t valuation_count_max = kValuationCountMax);

  void bind(const std::vector<Interval>& intervals) override;
  void bind_program(const Program& program) override;
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
  uint64_t operations() const override {
    return operations_ + step_.operations() + machine_.operations();
  }
  size_t valuation_count(const StrategyRuns& runs) const override {
    return static_cast<const TimedRuns&>(runs).bundles.size();
  }
  size_t shared_bytes() const override { return machine_.bytes(); }
  // Of the strings and open matches that registers hold.
  bool wants_trim() const override { return machine_.wants_trim(); }
  void trim(std::span<StrategyRuns* const> all) override;

 private:
  // How long a clock can be of use: for ever, never, or as long as an interval lasts.
  static constexpr uint32_t kForEver = 0xffffffffu;
  static constexpr uint32_t kNever = 0xfffffffeu;

  void find_needs();
  uint32_t later(uint32_t a, uint32_t b) const;
  uint32_t earlier(uint32_t a, uint32_t b) const;
  uint32_t need_along(const Transition& t, ClockId clock) const;

  bool is_late(const TimedRuns& runs, TimedSetId set, std::span<const Clock> words) const;

  // Whose step over the row is more than waiting, and what the row has for it.
  struct Affected {
    uint32_t place;  // In the store.
    const TimedStep* step;
    size_t now_at;  // In now_words_.
  };

  void find_affected(TimedRuns& runs, ClassId cls, const Row& row);
  void find_affected_of_kind(TimedRuns& runs, StoredKind& kind, ClassId cls, const Row& row);
  void look_at(TimedRuns& runs, uint32_t place, ClassId cls, const Row& row);
  const std::vector<Probe>& probes_of(TimedSteps& steps);
  RegisterIndex& index_of(TimedRuns& runs, StoredKind& kind, const Probe& probe);
  void add_to_indexes(TimedRuns& runs, uint32_t place);
  void find_receivers(TimedRuns& runs, const TimedStep& step, std::span<const Clock> words,
                      size_t now_at);
  void move(TimedRuns& runs, const TimedStep& start, size_t start_at, const Row& row, Graph& graph,
            std::vector<Root>& roots);
  void load(const Row& row);
  const TimedStep& step_of(TimedSetId set, ClassId cls, std::span<const Clock> words,
                           std::span<const Clock> now, const Row& row);
  size_t append_now(const TimedRuns& runs, TimedSetId set, const TimedStep& step,
                    std::span<const Clock> words, const Row& row);
  std::span<const Clock> now_of(size_t now_at, const TimedStep& step) const;
  const std::vector<Clock>& unset_words(TimedSetId set);
  void sweep(TimedRuns& runs, Clock threshold);

  static constexpr size_t kIndexMin = 8;  // Fewer bundles are looked through.

  const Cea& cea_;
  TimedTable table_;
  RegisterMachine machine_;
  uint32_t valuation_count_max_;
  bool is_bound_ = false;
  bool is_loaded_ = false;                    // The machine has the row at hand.
  ClassId cls_ = 0;                           // Of that row.
  std::vector<Interval> intervals_;           // Empty before the first batch.
  std::vector<std::vector<uint32_t>> needs_;  // By state and clock; an interval, or as above.
  BundleStep step_;
  uint32_t round_ = 0;  // Counts rows, to tell whether a bundle was looked at.
  std::vector<Affected> affected_;
  std::vector<uint32_t> places_;
  std::vector<Clock> now_words_;
  std::vector<Clock> target_words_;
  Bundles moving_;
  std::vector<bool> outcomes_;
  std::vector<Clock> unset_;  // The words of what has not started.
  uint64_t operations_ = 0;
};

}  // namespace catena
