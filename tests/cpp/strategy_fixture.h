// Selection strategies without the language: automata by constructors, rows by the guards they
// satisfy; and their reference, which keeps every run apart and compares all matches with all.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string_view>
#include <vector>

#include "automaton/cea.h"
#include "columns/class_trie.h"
#include "engine/strategies.h"
#include "matches/enumerator.h"
#include "matches/result_set.h"
#include "naive_runner.h"

namespace catena {

// Bit g tells whether the row satisfies guard g.
using GuardBits = uint8_t;

// Rows of letters: 'A' satisfies guard 0 only, and so on; 'Z' satisfies none.
inline std::vector<GuardBits> rows_of(std::string_view letters) {
  std::vector<GuardBits> rows;
  for (char c : letters) rows.push_back(static_cast<GuardBits>(c == 'Z' ? 0 : 1 << (c - 'A')));
  return rows;
}

// How a stream is measured and cut: `rows_per_tick` rows share a clock; a match is inside the
// window if the clocks of its end and start differ by at most `span`.
struct Measure {
  std::optional<Clock> span;
  int64_t rows_per_tick = 1;

  Clock clock(Position position) const { return position / rows_per_tick; }
  Clock threshold(Clock clock) const { return span ? clock - *span : kClockMin; }
};

// A part under a strategy, over rows given by their guards.
class StrategyMachine {
 public:
  StrategyMachine(Strategy strategy, std::shared_ptr<const Cea> cea, Measure measure = {},
                  uint32_t state_count_max = 10'000, std::vector<Interval> intervals = {})
      : strategy_(strategy),
        cea_(std::move(cea)),
        measure_(measure),
        state_count_max_(state_count_max),
        intervals_(std::move(intervals)),
        classes_(cea_->guard_count(), 1000),
        evaluator_(make_evaluator()),
        runs_(evaluator_->make_runs()) {
    results_.segments.push_back({graph_, {}});
  }

  void read(const std::vector<GuardBits>& rows) {
    for (GuardBits bits : rows) read_one(bits);
  }

  void read_one(GuardBits bits) {
    const Clock clock = measure_.clock(position_);
    read_one(bits, {position_, clock, measure_.threshold(clock)});
  }

  void read_one(GuardBits bits, const Row& row) {
    std::vector<bool> satisfied(cea_->guard_count(), false);
    for (size_t g = 0; g < satisfied.size() && g < 8; ++g) satisfied[g] = ((bits >> g) & 1) != 0;
    evaluator_->advance(*runs_, classes_.class_of(satisfied), row, *graph_,
                        results_.segments.back().roots);
    position_ = row.position + 1;
    threshold_ = row.threshold;
  }

  void consume() { evaluator_->consume(*runs_); }

  void compact() {
    Compaction compaction(*graph_);
    expire();
    evaluator_->mark_nodes(*runs_, compaction);
    graph_ = compaction.copy();
    evaluator_->move_nodes(*runs_, compaction);
    results_.segments.push_back({graph_, {}});
  }

  void expire() { evaluator_->expire(*runs_, threshold_); }

  void trim() {
    StrategyRuns* runs = runs_.get();
    evaluator_->trim({&runs, 1});
  }

  std::vector<std::byte> snapshot() const {
    ByteWriter out;
    evaluator_->write(*runs_, out);
    return out.take();
  }

  // Goes on from a snapshot with a new evaluator.
  void restore(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    auto evaluator = make_evaluator();
    auto runs = evaluator->read(in, *graph_);
    in.expect_end();
    evaluator_ = std::move(evaluator);
    runs_ = std::move(runs);
  }

  std::vector<NaiveMatch> matches() const {
    std::vector<NaiveMatch> found;
    Enumerator enumerator(results_, std::nullopt);
    while (enumerator.next()) {
      NaiveMatch match{enumerator.start(), enumerator.end(), {}};
      enumerator.for_each_mark([&](const MarkedPosition& mark) {
        match.marks.emplace_back(mark.position, cea_->variables_of(mark.marks));
      });
      found.push_back(std::move(match));
    }
    return found;
  }

  const ResultSet& results() const { return results_; }
  const Graph& graph() const { return *graph_; }
  const StrategyRuns& runs() const { return *runs_; }
  const StrategyEvaluator& evaluator() const { return *evaluator_; }
  size_t bytes() const { return evaluator_->bytes(*runs_); }
  Position position() const { return position_; }
  bool is_idle() const { return evaluator_->is_idle(*runs_); }

 private:
  std::unique_ptr<StrategyEvaluator> make_evaluator() {
    auto made = make_strategy(strategy_, *cea_, classes_, measure_.span.has_value(),
                              state_count_max_, valuation_count_max_);
    made->bind(intervals_);
    return made;
  }

  Strategy strategy_;
  std::shared_ptr<const Cea> cea_;
  Measure measure_;
  uint32_t state_count_max_;
  static constexpr uint32_t valuation_count_max_ = 3'000;
  std::vector<Interval> intervals_;  // Of a timed automaton.
  ClassTrie classes_;
  std::unique_ptr<StrategyEvaluator> evaluator_;
  std::unique_ptr<StrategyRuns> runs_;
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>(evaluator_->graph_clock_count());
  ResultSet results_;
  Position position_ = 0;
  Clock threshold_ = kClockMin;  // Of the last row.
};

// Every match that is wanted, once, ordered by end.
inline bool agrees(const StrategyMachine& machine, const std::set<NaiveMatch>& wanted) {
  const std::vector<NaiveMatch> found = machine.matches();
  const std::set<NaiveMatch> as_set(found.begin(), found.end());
  return as_set.size() == found.size() && as_set == wanted &&
         std::ranges::is_sorted(found, {}, &NaiveMatch::end);
}

// Whether a set of marked positions, as bits, beats another one.
inline bool beats(Strategy strategy, uint64_t winner, uint64_t loser) {
  const uint64_t apart = winner ^ loser;
  if (apart == 0) return false;
  switch (strategy) {
    case Strategy::kNext:
      return (winner & (apart & (~apart + 1))) != 0;
    case Strategy::kLast:
      return (winner & std::bit_floor(apart)) != 0;
    case Strategy::kMax:
      return (loser & ~winner) == 0;
    case Strategy::kAll:
      return false;
  }
  return false;
}

// The reference.
class NaiveSelection {
 public:
  NaiveSelection(Strategy strategy, const Cea& cea, Measure measure)
      : strategy_(strategy),
        cea_(cea),
        measure_(measure),
        before_(cea.initial().begin(), cea.initial().end()) {}

  void read(const std::vector<GuardBits>& rows) {
    for (GuardBits bits : rows) read_one(bits);
  }

  void read_one(GuardBits bits) {
    bits_ = bits;
    std::set<Run> next;
    std::set<Ended> ended;
    for (StateId state : before_) take({state, {0, {position_, position_, {}}}}, next, ended);
    for (const Run& run : runs_) take(run, next, ended);
    runs_ = std::move(next);
    select(ended);
    watch();
    ++position_;
  }

  void consume() { runs_.clear(); }

  const std::set<NaiveMatch>& matches() const { return matches_; }

 private:
  struct Ended {
    uint64_t marked;  // The set D of marked positions.
    NaiveMatch match;
    auto operator<=>(const Ended&) const = default;
  };
  struct Run {
    StateId state;
    Ended so_far;
    auto operator<=>(const Run&) const = default;
  };

  bool is_open(const Transition& t) const {
    return t.guard == kTrueGuard || ((bits_ >> t.guard) & 1) != 0;
  }

  void take(const Run& run, std::set<Run>& next, std::set<Ended>& ended) const {
    for (const Transition& t : cea_.from(run.state)) {
      if (!is_open(t) || cea_.is_observer(t.target)) continue;
      Run taken{t.target, run.so_far};
      taken.so_far.match.end = position_;
      if (t.is_marked) taken.so_far.marked |= uint64_t{1} << position_;
      const auto& variables = cea_.variables_of(t.marks);
      if (!variables.empty()) taken.so_far.match.marks.emplace_back(position_, variables);
      if (cea_.is_final(t.target)) ended.insert(taken.so_far);
      next.insert(std::move(taken));
    }
  }

  void select(const std::set<Ended>& ended) {
    std::vector<Ended> inside;
    const Clock threshold = measure_.threshold(measure_.clock(position_));
    std::ranges::copy_if(ended, std::back_inserter(inside), [&](const Ended& one) {
      return measure_.clock(one.match.start) >= threshold;
    });
    for (const Ended& one : inside) {
      const bool is_beaten = std::ranges::any_of(
          inside, [&](const Ended& other) { return beats(strategy_, other.marked, one.marked); });
      if (!is_beaten) matches_.insert(one.match);
    }
  }

  void watch() {
    std::set<StateId> next;
    for (StateId state : before_) {
      bool moves = false;
      for (const Transition& t : cea_.from(state)) {
        if (!is_open(t) || !cea_.is_observer(t.target)) continue;
        next.insert(t.target);
        moves = true;
      }
      if (!moves) next.insert(state);
    }
    before_ = std::move(next);
  }

  Strategy strategy_;
  const Cea& cea_;
  Measure measure_;
  std::set<StateId> before_;
  GuardBits bits_ = 0;
  Position position_ = 0;
  std::set<Run> runs_;
  std::set<NaiveMatch> matches_;
};

// Anything at all: loops, hidden marks, unmarked starts, several initial and final states, and, if
// wanted, observers.
inline std::shared_ptr<const Cea> random_selective_cea(std::mt19937& random, bool with_observers) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  const uint32_t states = 2 + below(4);
  const uint32_t observers = with_observers ? 1 + below(2) : 0;
  const bool hides = below(2) == 0;
  std::vector<Transition> transitions;
  const auto guard = [&] { return below(4) == 0 ? kTrueGuard : below(3); };
  const uint32_t count = 2 + below(9);
  for (uint32_t i = 0; i < count; ++i) {
    const MarksId marks = below(4) == 0 ? 1 + below(3) : below(2);
    const bool is_marked = marks != kNoMarks || (hides && below(2) == 0);
    transitions.push_back({below(states), guard(), marks, below(states), is_marked});
  }
  std::vector<StateId> initial;
  std::vector<StateId> watching;
  for (uint32_t i = 0; i < observers; ++i) {
    const StateId observer = states + i;
    watching.push_back(observer);
    if (i == 0 || below(2) == 0) initial.push_back(observer);
    const MarksId marks = below(3);
    transitions.push_back({observer, guard(), marks, below(states)});
    transitions.push_back({observer, guard(), kNoMarks, states + below(observers)});
  }
  if (observers == 0) initial.push_back(0);
  if (observers == 0 && below(4) == 0) initial.push_back(below(states));
  std::vector<StateId> final{below(states)};
  if (below(3) == 0) final.push_back(below(states));
  const std::vector<std::vector<VariableId>> marks{{}, {0}, {1}, {0, 1}};
  return std::make_shared<Cea>(states + observers, initial, final, transitions, marks, 2u, 3u,
                               watching);
}

inline std::vector<GuardBits> random_rows(std::mt19937& random, size_t count) {
  std::vector<GuardBits> rows;
  for (size_t i = 0; i < count; ++i) {
    const auto bits = static_cast<GuardBits>(random() % 8);
    rows.push_back(random() % 2 == 0 ? bits : static_cast<GuardBits>(1 << (random() % 3)));
  }
  return rows;
}

inline Measure random_measure(std::mt19937& random) {
  Measure measure;
  if (random() % 3 != 0) measure.span = static_cast<Clock>(random() % 5);
  measure.rows_per_tick = 1 + static_cast<int64_t>(random() % 4 == 0);
  return measure;
}

}  // namespace catena
