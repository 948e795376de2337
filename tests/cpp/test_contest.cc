// NEXT, LAST and MAX over automata with clocks, against a reference that keeps every run apart and
// compares all matches with all.
#include <set>

#include "check.h"
#include "engine/contest_evaluator.h"
#include "timed_fixture.h"

using namespace catena;

namespace {

constexpr Strategy kComparing[] = {Strategy::kNext, Strategy::kLast, Strategy::kMax};

class ContestMachine : public TimedMachine {
 public:
  ContestMachine(Strategy strategy, std::shared_ptr<const Cea> cea, std::vector<Interval> intervals,
                 std::optional<Clock> window = {})
      : TimedMachine(std::move(cea), std::move(intervals), window, strategy) {}

  size_t configuration_count() const { return static_cast<const ContestRuns&>(runs()).tree.size(); }
};

// The reference: every run with its own clocks and the set D of its marked positions.
class NaiveContest {
 public:
  NaiveContest(Strategy strategy, const Cea& cea, const std::vector<Interval>& intervals,
               std::optional<Clock> window)
      : strategy_(strategy), cea_(cea), intervals_(intervals), window_(window) {}

  void read(const TimedRow& row) {
    times_.push_back(row.time);
    row_ = row;
    std::set<Run> next;
    std::set<Ended> ended;
    for (StateId state : cea_.initial()) {
      take({state, Clocked(cea_.clock_count(), kClockMin), {0, {position_, position_, {}}}}, next,
           ended);
    }
    for (const Run& run : runs_) take(run, next, ended);
    runs_ = std::move(next);
    for (const Ended& one : ended) {
      const bool is_beaten = std::ranges::any_of(
          ended, [&](const Ended& other) { return beats(strategy_, other.marked, one.marked); });
      if (!is_beaten) matches.insert(one.match);
    }
    ++position_;
  }

  void consume() { runs_.clear(); }

  std::set<NaiveMatch> matches;

 private:
  using Clocked = std::vector<Clock>;
  struct Ended {
    uint64_t marked;
    NaiveMatch match;
    auto operator<=>(const Ended&) const = default;
  };
  struct Run {
    StateId state;
    Clocked clocks;
    Ended so_far;
    auto operator<=>(const Run&) const = default;
  };

  Clock now(ClockId clock) const {
    return cea_.kind_of(clock) == ClockKind::kTime ? row_.time : position_ + 1;
  }

  bool passes(const Transition& t, const Clocked& clocks) const {
    if (t.guard != kTrueGuard && ((row_.guards >> t.guard) & 1) == 0) return false;
    return std::ranges::all_of(cea_.actions_of(t).checks, [&](const ClockCheck& check) {
      return clocks[check.clock] != kClockMin &&
             intervals_[check.interval].contains(clocks[check.clock], now(check.clock));
    });
  }

  void take(const Run& run, std::set<Run>& next, std::set<Ended>& ended) const {
    for (const Transition& t : cea_.from(run.state)) {
      if (!passes(t, run.clocks)) continue;
      Run taken = run;
      taken.state = t.target;
      for (ClockId clock : cea_.actions_of(t).resets) taken.clocks[clock] = now(clock);
      NaiveMatch& match = taken.so_far.match;
      match.end = position_;
      if (t.is_marked) taken.so_far.marked |= uint64_t{1} << position_;
      const auto& variables = cea_.variables_of(t.marks);
      if (!variables.empty()) match.marks.emplace_back(position_, variables);
      const Clock start = times_[static_cast<size_t>(match.start)];
      if (window_ && row_.time - start > *window_) continue;
      if (cea_.is_final(t.target)) ended.insert(taken.so_far);
      next.insert(std::move(taken));
    }
  }

  Strategy strategy_;
  const Cea& cea_;
  const std::vector<Interval>& intervals_;
  std::optional<Clock> window_;
  std::vector<Clock> times_;
  TimedRow row_{};
  Position position_ = 0;
  std::set<Run> runs_;
};

struct Random {
  std::mt19937 engine;

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(engine() % n); }
  bool one_in(uint32_t n) { return below(n) == 0; }
};

Clocks random_clocks(Random& random) {
  Clocks clocks;
  const uint32_t clock_count = 1 + random.below(2);
  for (uint32_t i = 0; i < clock_count; ++i) {
    clocks.kinds.push_back(random.one_in(4) ? ClockKind::kRows : ClockKind::kTime);
  }
  clocks.interval_count = 3;
  for (int i = 0; i < 4; ++i) {
    ClockActions actions;
    if (random.one_in(2)) actions.checks.push_back({random.below(clock_count), random.below(3)});
    for (ClockId z = 0; z < clock_count; ++z) {
      if (random.one_in(3)) actions.resets.push_back(z);
    }
    clocks.actions.push_back(std::move(actions));
  }
  return clocks;
}

const std::vector<std::vector<VariableId>> kMarks{{}, {0}, {1}, {0, 1}};

// Anything at all: loops, hidden marks, unmarked starts, several initial and final states. If
// `is_operand`, nothing enters the initial state 0 or leaves the final state 1.
struct RandomParts {
  uint32_t states;
  std::vector<Transition> transitions;
  Clocks clocks;
  std::vector<StateId> initial{0};
  std::vector<StateId> final{1};
};

RandomParts random_parts(Random& random, bool is_operand) {
  RandomParts made{2 + random.below(3), {}, random_clocks(random)};
  const bool hides = random.one_in(2);
  const uint32_t count = 3 + random.below(8);
  for (uint32_t i = 0; i < count; ++i) {
    const GuardId guard = random.one_in(4) ? kTrueGuard : random.below(3);
    const MarksId marks = random.one_in(2) ? kNoMarks : random.below(4);
    const bool is_marked = marks != kNoMarks || (hides && random.one_in(2));
    const ActionsId actions = random.one_in(2) ? 0 : random.below(5);
    StateId source = random.below(made.states);
    StateId target = random.below(made.states);
    if (is_operand && source == 1) source = 0;
    if (is_operand && target == 0) target = 1;
    made.transitions.push_back({source, guard, marks, target, is_marked, actions});
  }
  std::ranges::stable_sort(made.transitions, {}, &Transition::source);
  if (!is_operand) made.final = {random.below(made.states)};
  if (!is_operand && random.one_in(4)) made.initial.push_back(made.states - 1);
  return made;
}

std::shared_ptr<const Cea> cea_of(const RandomParts& parts, Scopes scopes = {}) {
  return std::make_shared<Cea>(parts.states, parts.initial, parts.final, parts.transitions, kMarks,
                               2u, 3u, std::vector<StateId>{}, parts.clocks, Registers{},
                               std::move(scopes));
}

std::vector<Interval> random_intervals(Random& random) {
  std::vector<Interval> intervals;
  for (int i = 0; i < 3; ++i) {
    const int64_t low = random.below(3);
    const int64_t length = random.below(4);
    intervals.emplace_back(low,
                           random.one_in(4) ? std::numeric_limits<int64_t>::max() : low + length);
  }
  return intervals;
}

// An automaton whose every transition asks a scope to make it: `inner` with a strategy.
std::shared_ptr<const Cea> scoped(Strategy strategy, const RandomParts& inner,
                                  std::shared_ptr<const Cea> operand) {
  Scopes scopes{{{strategy, std::move(operand)}}, {{}}};
  RandomParts outer = inner;
  outer.clocks = Clocks{{}, 3, {{}}};
  for (uint32_t i = 0; i < outer.transitions.size(); ++i) {
    scopes.asks.push_back({{0, i}});
    outer.transitions[i].actions = 0;
    outer.transitions[i].asks = i + 1;
  }
  return cea_of(outer, std::move(scopes));
}

// A ;[<= 5] B+ ; C, each with a variable of its own.
std::shared_ptr<const Cea> gap_and_more() {
  Clocks clocks{{ClockKind::kTime}, 1, {{}, {{}, {0}}, {{{0, 0}}, {}}}};
  std::vector<Transition> transitions{
      {0, letter('A'), 1, 1, true, 1}, {1, kTrueGuard, kNoMarks, 1},
      {1, letter('B'), 2, 2, true, 2}, {2, kTrueGuard, kNoMarks, 2},
      {2, letter('B'), 2, 2, true},    {2, letter('C'), 3, 3, true}};
  return std::make_shared<Cea>(4u, std::vector<StateId>{0}, std::vector<StateId>{3}, transitions,
                               single_marks(3), 3u, 3u, std::vector<StateId>{}, clocks);
}

}  // namespace

TEST(the_best_match_that_the_clock_lets_through) {
  const auto starts = [](Strategy strategy) {
    ContestMachine machine(strategy, gap_and_more(), {Interval(0, 5)});
    for (const TimedRow& row : {TimedRow{1, 0}, {1, 3}, {1, 4}, {2, 7}, {4, 30}}) machine.read(row);
    std::vector<Position> found;
    for (const NaiveMatch& match : machine.matches()) found.push_back(match.start);
    return found;
  };
  CHECK(starts(Strategy::kNext) == std::vector<Position>{1});
  CHECK(starts(Strategy::kLast) == std::vector<Position>{2});
  CHECK(starts(Strategy::kMax).size() == 2);
}

TEST(random_timed_automata_agree_with_the_reference) {
  Random random{std::mt19937(1)};
  for (int round = 0; round < 9000; ++round) {
    const Strategy strategy = kComparing[round % 3];
    const auto cea = cea_of(random_parts(random, false));
    const auto intervals = random_intervals(random);
    std::optional<Clock> window;
    if (random.one_in(2)) window = random.below(6);
    ContestMachine machine(strategy, cea, intervals, window);
    NaiveContest reference(strategy, *cea, intervals, window);
    for (const TimedRow& row : random_timed_rows(random.engine, 1 + random.below(7))) {
      machine.read(row);
      reference.read(row);
      if (random.one_in(6)) machine.compact();
      if (random.one_in(6)) machine.restore(machine.snapshot());
      if (random.one_in(12)) {
        machine.consume();
        reference.consume();
      }
    }
    CHECK(agrees(machine, reference.matches));
  }
}

TEST(a_strategy_inside_is_the_strategy_of_the_whole) {
  Random random{std::mt19937(2)};
  for (int round = 0; round < 6000; ++round) {
    const Strategy strategy = kComparing[round % 3];
    const RandomParts inner = random_parts(random, true);
    const auto operand = cea_of(inner);
    const auto twice = scoped(strategy, inner, scoped(strategy, inner, operand));
    const auto intervals = random_intervals(random);
    const bool is_nested = random.one_in(2);  // Selecting twice changes nothing.
    ContestMachine machine(Strategy::kAll, is_nested ? twice : scoped(strategy, inner, operand),
                           intervals);
    NaiveContest reference(strategy, *operand, intervals, std::nullopt);
    for (const TimedRow& row : random_timed_rows(random.engine, 1 + random.below(7))) {
      machine.read(row);
      reference.read(row);
      if (random.one_in(6)) machine.compact();
      if (random.one_in(6)) machine.restore(machine.snapshot());
    }
    CHECK(agrees(machine, reference.matches));
  }
}

TEST(what_no_clock_can_use_any_more_is_released) {
  for (Strategy strategy : kComparing) {
    ContestMachine machine(strategy, gap_and_more(), {Interval(0, 5)}, 20);
    Random random{std::mt19937(3)};
    size_t configurations = 0;
    uint32_t nodes = 0;
    for (int row = 0; row < 5000; ++row) {
      machine.read({static_cast<GuardBits>(random.below(8)), row});
      configurations = std::max(configurations, machine.configuration_count());
      if (row % 1000 != 0) continue;
      machine.compact();
      nodes = std::max(nodes, machine.graph().size());
    }
    CHECK(configurations <= 2000);
    CHECK(nodes <= 500);
    for (int row = 0; row < 30; ++row) machine.read({0, 5000 + row});
    machine.compact();
    CHECK(machine.is_idle());
  }
}

TEST(too_many_configurations_are_refused) {
  ContestMachine machine(Strategy::kNext, gap_and_more(), {Interval(0, 100'000)});
  bool is_refused = false;
  try {
    for (int row = 0; row < 20'000; ++row) machine.read({1, row});
  } catch (const Error& error) {
    is_refused = error.kind == ErrorKind::kLimit;
  }
  CHECK(is_refused);
}

TEST(damaged_bytes_are_refused_or_harmless) {
  Random random{std::mt19937(4)};
  for (int round = 0; round < 3000; ++round) {
    const Strategy strategy = kComparing[round % 3];
    const RandomParts inner = random_parts(random, true);
    const auto cea = random.one_in(2) ? cea_of(inner) : scoped(strategy, inner, cea_of(inner));
    ContestMachine machine(strategy, cea, random_intervals(random));
    for (const TimedRow& row : random_timed_rows(random.engine, 6)) machine.read(row);
    auto bytes = machine.snapshot();
    for (int flips = 0; flips < 3; ++flips) {
      bytes[random.below(static_cast<uint32_t>(bytes.size()))] =
          static_cast<std::byte>(random.below(256));
    }
    if (random.one_in(4)) bytes.resize(random.below(static_cast<uint32_t>(bytes.size())));
    try {
      machine.restore(bytes);
      for (const TimedRow& row : random_timed_rows(random.engine, 3, 100)) machine.read(row);
      machine.compact();
      machine.matches();
    } catch (const Error& error) {
      CHECK(error.kind == ErrorKind::kSnapshot);
    }
  }
}
