// Selection strategies without the language: a machine over letters that any StrategyEvaluator can
// drive, random automata with hidden marks and observers, and the strategies by brute force.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "engine/strategies.h"
#include "engine/window.h"
#include "machine_fixture.h"

namespace catena {

// A match, and the rows that it marks whether or not it shows them.
struct NaiveEvent {
  NaiveMatch match;
  std::set<Position> rows;

  auto operator<=>(const NaiveEvent&) const = default;
};

// All complex events over the letters that span at most `rows_max` rows and start after `consumed`.
inline std::set<NaiveEvent> events_naively(const Cea& cea, std::string_view letters,
                                           Position rows_max, Position consumed = -1) {
  using Run = std::pair<StateId, NaiveEvent>;
  const auto is_open = [&](const Transition& t, size_t row) {
    return t.guard == kTrueGuard || letters[row] == static_cast<char>('A' + t.guard);
  };
  std::set<NaiveEvent> found;
  std::set<Run> runs;
  std::set<StateId> before(cea.initial().begin(), cea.initial().end());
  for (size_t row = 0; row < letters.size(); ++row) {
    const auto position = static_cast<Position>(row);
    std::set<Run> sources = runs;
    for (StateId state : before) sources.insert({state, {{position, position, {}}, {}}});
    runs.clear();
    for (const auto& [state, event] : sources) {
      for (const Transition& t : cea.from(state)) {
        if (cea.is_observer(t.target) || !is_open(t, row)) continue;
        Run taken{t.target, event};
        taken.second.match.end = position;
        const auto& variables = cea.variables_of(t.marks);
        if (!variables.empty()) taken.second.match.marks.emplace_back(position, variables);
        if (t.is_marked) taken.second.rows.insert(position);
        const Position start = event.match.start;
        const bool counts = position - start + 1 <= rows_max && start > consumed;
        if (cea.is_final(t.target) && counts) found.insert(taken.second);
        runs.insert(std::move(taken));
      }
    }
    std::set<StateId> next;
    for (StateId state : before) {
      bool moved = false;
      for (const Transition& t : cea.from(state)) {
        if (!cea.is_observer(t.target) || !is_open(t, row)) continue;
        next.insert(t.target);
        moved = true;
      }
      if (!moved) next.insert(state);
    }
    before = std::move(next);
  }
  return found;
}

inline bool beats(Strategy strategy, const std::set<Position>& winner,
                  const std::set<Position>& loser) {
  std::vector<Position> apart;
  std::ranges::set_symmetric_difference(winner, loser, std::back_inserter(apart));
  if (apart.empty()) return false;
  switch (strategy) {
    case Strategy::kNext:
      return winner.contains(apart.front());
    case Strategy::kLast:
      return winner.contains(apart.back());
    case Strategy::kMax:
      return std::ranges::includes(winner, loser);
    case Strategy::kAll:
      return false;
  }
  return false;
}

// What a strategy leaves of the matches.
inline std::set<NaiveMatch> select_naively(Strategy strategy, const std::set<NaiveEvent>& events) {
  std::set<NaiveMatch> selected;
  for (const NaiveEvent& event : events) {
    const bool is_beaten = std::ranges::any_of(events, [&](const NaiveEvent& other) {
      return other.match.end == event.match.end && beats(strategy, other.rows, event.rows);
    });
    if (!is_beaten) selected.insert(event.match);
  }
  return selected;
}

// A part under a strategy, over a string of letters.
class StrategyMachine {
 public:
  StrategyMachine(Strategy strategy, std::shared_ptr<const Cea> cea, Window window = {})
      : cea_(std::move(cea)),
        classes_(cea_->guard_count(), 1000),
        evaluator_(make_strategy(strategy, *cea_, classes_, window.kind != WindowKind::kNone, 10000)),
        window_(window),
        runs_(evaluator_->make_runs()) {
    results_.segments.push_back({graph_, {}});
  }

  void read(std::string_view letters) {
    for (char c : letters) read_one(c);
  }

  void compact() {
    Compaction compaction(*graph_);
    evaluator_->expire(*runs_, window_.threshold(row_count_));
    evaluator_->mark_nodes(*runs_, compaction);
    graph_ = compaction.copy();
    evaluator_->move_nodes(*runs_, compaction);
    results_.segments.push_back({graph_, {}});
  }

  std::vector<std::byte> snapshot() const {
    ByteWriter out;
    evaluator_->write(*runs_, out);
    return out.take();
  }
  void restore(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    runs_ = evaluator_->read(in, *graph_);
    in.expect_end();
  }

  void consume() { evaluator_->consume(*runs_); }
  void trim() {
    StrategyRuns* all[] = {runs_.get()};
    evaluator_->trim(all);
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

  // Every match once, ordered by end.
  bool agrees(const std::set<NaiveMatch>& wanted) const {
    const std::vector<NaiveMatch> found = matches();
    const std::set<NaiveMatch> as_set(found.begin(), found.end());
    return as_set.size() == found.size() && as_set == wanted &&
           std::ranges::is_sorted(found, {}, &NaiveMatch::end);
  }

  const ResultSet& results() const { return results_; }
  const Graph& graph() const { return *graph_; }
  uint64_t operations() const { return evaluator_->operations(); }
  size_t bytes() const { return evaluator_->bytes(*runs_); }

 private:
  void read_one(char c) {
    std::vector<bool> bits(cea_->guard_count(), false);
    if (letter(c) < bits.size()) bits[letter(c)] = true;
    const Position position = row_count_++;
    const Clock clock = row_count_;
    evaluator_->advance(*runs_, classes_.class_of(bits),
                        {position, clock, window_.threshold(clock)}, *graph_,
                        results_.segments.back().roots);
  }

  std::shared_ptr<const Cea> cea_;
  ClassTrie classes_;
  std::unique_ptr<StrategyEvaluator> evaluator_;
  Window window_;
  std::unique_ptr<StrategyRuns> runs_;
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  ResultSet results_;
  Position row_count_ = 0;
};

// As random_cea, with marks that are not shown and, now and then, observers.
inline std::shared_ptr<const Cea> random_selective_cea(std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  const uint32_t observers = below(3) == 0 ? 1 + below(3) : 0;
  const uint32_t runs = 2 + below(3);
  const std::vector<std::vector<VariableId>> marks{{}, {0}, {1}, {0, 1}};
  const auto guard = [&] { return below(4) == 0 ? kTrueGuard : below(3); };
  std::vector<Transition> transitions;
  for (uint32_t i = 0; i < observers; ++i) {
    transitions.push_back({i, guard(), kNoMarks, below(observers)});
    transitions.push_back({i, guard(), below(4), observers + below(runs)});
  }
  const uint32_t count = 2 + below(9);
  for (uint32_t i = 0; i < count; ++i) {
    const MarksId shown = below(4);
    const bool is_marked = shown != kNoMarks || below(4) == 0;
    transitions.push_back(
        {observers + below(runs), guard(), shown, observers + below(runs), is_marked});
  }
  std::vector<StateId> initial{0};
  if (observers == 0 && below(4) == 0) initial.push_back(below(runs));
  std::vector<StateId> final{observers + below(runs)};
  if (below(3) == 0) final.push_back(observers + below(runs));
  std::vector<StateId> watching;
  for (uint32_t i = 0; i < observers; ++i) watching.push_back(i);
  return std::make_shared<Cea>(observers + runs, initial, final, transitions, marks, 2u, 3u,
                               watching);
}

}  // namespace catena
