// Timed automata: bundles by states and clocks, against a runner that keeps every run apart.
#include "check.h"
#include "engine/timed.h"
#include "matches/counter.h"
#include "timed_fixture.h"

using namespace catena;

namespace {

std::shared_ptr<const Cea> random_timed_cea(std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  Clocks clocks;
  const uint32_t clock_count = 1 + below(2);
  for (uint32_t i = 0; i < clock_count; ++i) {
    clocks.kinds.push_back(below(4) == 0 ? ClockKind::kRows : ClockKind::kTime);
  }
  clocks.interval_count = 3;
  for (int i = 0; i < 4; ++i) {
    ClockActions actions;
    if (below(2) == 0) actions.checks.push_back({below(clock_count), below(3)});
    for (ClockId z = 0; z < clock_count; ++z) {
      if (below(3) == 0) actions.resets.push_back(z);
    }
    clocks.actions.push_back(std::move(actions));
  }
  const uint32_t states = 2 + below(3);
  std::vector<Transition> transitions;
  const uint32_t count = 3 + below(8);
  for (uint32_t i = 0; i < count; ++i) {
    const GuardId guard = below(4) == 0 ? kTrueGuard : below(3);
    const MarksId marks = below(2) == 0 ? kNoMarks : below(4);
    const ActionsId actions = below(2) == 0 ? 0 : below(5);
    transitions.push_back({below(states), guard, marks, below(states), marks != kNoMarks, actions});
  }
  const std::vector<std::vector<VariableId>> marks{{}, {0}, {1}, {0, 1}};
  return std::make_shared<Cea>(states, std::vector<StateId>{0}, std::vector<StateId>{below(states)},
                               transitions, marks, 2u, 3u, std::vector<StateId>{}, clocks);
}

std::vector<Interval> random_intervals(std::mt19937& random) {
  std::vector<Interval> intervals;
  for (int i = 0; i < 3; ++i) {
    const auto low = static_cast<int64_t>(random() % 3);
    const auto length = static_cast<int64_t>(random() % 4);
    const bool is_open = random() % 4 == 0;
    intervals.emplace_back(low, is_open ? std::numeric_limits<int64_t>::max() : low + length);
  }
  return intervals;
}

size_t bundle_count(const TimedMachine& machine) {
  return static_cast<const TimedRuns&>(machine.runs()).bundles.size();
}

}  // namespace

TEST(a_gap_is_measured_from_row_to_row) {
  TimedMachine machine(gap(), {Interval(0, 5)});
  for (const TimedRow& row : {TimedRow{1, 0}, {1, 3}, {2, 6}, {2, 9}}) machine.read(row);
  CHECK_EQ(machine.matches().size(), 1u);
  CHECK_EQ(machine.matches()[0].start, 1);
}

TEST(random_timed_automata_agree_with_the_reference) {
  std::mt19937 random(1);
  for (int round = 0; round < 6000; ++round) {
    const auto cea = random_timed_cea(random);
    const auto intervals = random_intervals(random);
    const auto rows = random_timed_rows(random, 1 + random() % 7);
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

// At most eight bundles are of use; those past use are looked for once 64 have come.
TEST(what_no_clock_can_use_any_more_is_released) {
  TimedMachine machine(gap(), {Interval(0, 5)});
  std::mt19937 random(2);
  size_t bundles = 0;
  uint32_t nodes = 0;
  for (int row = 0; row < 50000; ++row) {
    machine.read({static_cast<uint8_t>(random() % 8), row});
    bundles = std::max(bundles, bundle_count(machine));
    if (row % 1000 != 0) continue;
    machine.compact();
    nodes = std::max(nodes, machine.graph().size());
  }
  CHECK(bundles <= 64 + 8);
  CHECK(nodes <= 20);
}

TEST(damaged_bytes_are_refused_or_harmless) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    TimedMachine machine(random_timed_cea(random), random_intervals(random));
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
