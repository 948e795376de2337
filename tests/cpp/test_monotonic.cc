// Timed automata with bounds from above: chains and gates, against a runner that keeps every run
// apart; constant time per row, bounded delay, bounded memory.
#include "engine/monotonic.h"

#include "check.h"
#include "matches/counter.h"
#include "timed_fixture.h"

using namespace catena;

namespace {

size_t chain_count(const TimedMachine& machine) {
  return static_cast<const MonotonicRuns&>(machine.runs()).chains.all.size();
}

// Anything that the compiler may call monotonic: nothing enters the initial state, what leaves it
// resets all clocks, and else the marks decide what a transition does with clocks.
std::shared_ptr<const Cea> random_monotonic_cea(std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  Clocks clocks;
  clocks.is_monotonic = true;
  const uint32_t clock_count = 1 + below(3);
  ClockActions starts;
  for (ClockId clock = 0; clock < clock_count; ++clock) {
    clocks.kinds.push_back(below(4) == 0 ? ClockKind::kRows : ClockKind::kTime);
    starts.resets.push_back(clock);
  }
  clocks.interval_count = 3;
  clocks.actions.push_back(starts);  // 1: of what leaves the initial state.
  for (MarksId marks = 1; marks < 4; ++marks) {
    ClockActions actions;
    for (ClockId clock = 0; clock < clock_count; ++clock) {
      if (below(2) == 0) actions.checks.push_back({clock, below(3)});
      if (below(2) == 0) actions.resets.push_back(clock);
    }
    clocks.actions.push_back(std::move(actions));  // 1 + marks.
  }
  const uint32_t states = 2 + below(4);
  std::vector<Transition> transitions{{0, below(3), below(4), 1, false, 1}};
  transitions[0].is_marked = transitions[0].marks != kNoMarks;
  const uint32_t count = 3 + below(8);
  for (uint32_t i = 0; i < count; ++i) {
    const StateId source = below(states);
    const GuardId guard = below(3) == 0 ? kTrueGuard : below(3);
    const MarksId marks = below(3) == 0 ? kNoMarks : 1 + below(3);
    const ActionsId actions = source == 0 ? 1 : marks == kNoMarks ? 0 : 1 + marks;
    transitions.push_back(
        {source, guard, marks, 1 + below(states - 1), marks != kNoMarks, actions});
  }
  const std::vector<std::vector<VariableId>> marks{{}, {0}, {1}, {0, 1}};
  return std::make_shared<Cea>(states, std::vector<StateId>{0},
                               std::vector<StateId>{1 + below(states - 1)}, transitions, marks, 2u,
                               3u, std::vector<StateId>{}, clocks);
}

std::vector<Interval> random_upper_bounds(std::mt19937& random) {
  std::vector<Interval> intervals;
  for (int i = 0; i < 3; ++i) {
    const bool is_open = random() % 5 == 0;
    intervals.emplace_back(
        0, is_open ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(random() % 5));
  }
  return intervals;
}

// A ;[<= gap] B ;[<= gap] C, the gaps measured by one clock.
std::shared_ptr<const Cea> two_gaps() {
  Clocks clocks{{ClockKind::kTime}, 1, {{}, {{}, {0}}, {{{0, 0}}, {0}}, {{{0, 0}}, {}}}, true};
  std::vector<Transition> transitions{{0, letter('A'), 1, 1, true, 1},
                                      {1, kTrueGuard, kNoMarks, 1},
                                      {1, letter('B'), 2, 2, true, 2},
                                      {2, kTrueGuard, kNoMarks, 2},
                                      {2, letter('C'), 3, 3, true, 3}};
  return std::make_shared<Cea>(4u, std::vector<StateId>{0}, std::vector<StateId>{3}, transitions,
                               single_marks(3), 3u, 3u, std::vector<StateId>{}, clocks);
}

// Steps per row for a gap of so many rows, when a third of the rows are of each kind.
double steps_per_row(Clock gap, std::optional<Clock> window) {
  TimedMachine machine(two_gaps(), {Interval(0, gap)}, window);
  const int rows = 30'000;
  for (int row = 0; row < rows; ++row) {
    machine.read({static_cast<uint8_t>(1 << (row * 7 % 3)), row});
    if (row % 5000 == 0) machine.compact();
  }
  return static_cast<double>(machine.evaluator().operations()) / rows;
}

}  // namespace

TEST(a_gap_with_an_upper_bound_is_one_chain) {
  TimedMachine machine(gap(true), {Interval(0, 5)});
  for (const TimedRow& row : {TimedRow{1, 0}, {1, 3}, {2, 6}, {2, 9}}) machine.read(row);
  CHECK_EQ(machine.matches().size(), 1u);
  CHECK_EQ(machine.matches()[0].start, 1);
  CHECK_EQ(chain_count(machine), 1u);
}

TEST(random_monotonic_automata_agree_with_the_reference) {
  std::mt19937 random(1);
  for (int round = 0; round < 8000; ++round) {
    const auto cea = random_monotonic_cea(random);
    const auto intervals = random_upper_bounds(random);
    const auto rows = random_timed_rows(random, 1 + random() % 9);
    std::optional<Clock> window;
    if (random() % 2 == 0) window = static_cast<Clock>(random() % 6);
    TimedMachine machine(cea, intervals, window);
    for (const TimedRow& row : rows) {
      machine.read(row);
      if (random() % 6 == 0) machine.compact();
      if (random() % 6 == 0) machine.restore(machine.snapshot());
    }
    const auto wanted = run_timed_naively(*cea, intervals, rows, window);
    CHECK(agrees(machine, wanted));
    const BigCount count = count_matches(machine.results(), std::nullopt);
    CHECK_EQ(count.limbs().empty() ? 0 : count.limbs()[0], wanted.size());
  }
}

TEST(steps_per_row_do_not_depend_on_the_gap_nor_on_the_window) {
  for (const std::optional<Clock> window : {std::optional<Clock>{}, std::optional<Clock>{20'000}}) {
    const double few = steps_per_row(10, window);
    const double many = steps_per_row(10'000, window);
    CHECK(many < 1.2 * few);
  }
}

TEST(the_delay_is_linear_in_the_next_match) {
  TimedMachine machine(two_gaps(), {Interval(0, 1000)}, Clock{1500});
  for (int row = 0; row < 3000; ++row) {
    machine.read({static_cast<uint8_t>(1 << (row * 7 % 3)), row});
  }
  Enumerator enumerator(machine.results(), 3);
  uint64_t before = 0;
  uint64_t count = 0;
  while (enumerator.next()) {
    CHECK(enumerator.steps() - before <= 12 * enumerator.mark_count());
    before = enumerator.steps();
    ++count;
  }
  CHECK(count > 2000);
}

TEST(memory_is_that_of_the_rows_that_a_gap_can_still_use) {
  TimedMachine machine(two_gaps(), {Interval(0, 50)});
  uint32_t nodes = 0;
  for (int row = 0; row < 100'000; ++row) {
    machine.read({static_cast<uint8_t>(1 << (row * 7 % 3)), row});
    if (row % 1000 != 0) continue;
    machine.compact();
    nodes = std::max(nodes, machine.graph().size());
  }
  CHECK(nodes <= 400);
}

TEST(damaged_bytes_are_refused_or_harmless) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    TimedMachine machine(random_monotonic_cea(random), random_upper_bounds(random));
    for (const TimedRow& row : random_timed_rows(random, 6)) machine.read(row);
    auto bytes = machine.snapshot();
    for (int flips = 0; flips < 3; ++flips) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random() % 256);
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    try {
      machine.restore(bytes);
      for (const TimedRow& row : random_timed_rows(random, 3, 100)) machine.read(row);
      machine.compact();
      machine.matches();
    } catch (const Error& error) {
      CHECK(error.kind == ErrorKind::kSnapshot);
    }
  }
}
