// NEXT and LAST against brute force on random automata, and the bounds that they keep.
#include "check.h"
#include "machine_fixture.h"
#include "matches/counter.h"
#include "strategy_fixture.h"

using namespace catena;

namespace {

constexpr Strategy kBoth[] = {Strategy::kNext, Strategy::kLast};

void read(StrategyMachine& machine, std::string_view letters) { machine.read(rows_of(letters)); }

// Steps per row, late in a stream over early in it.
double growth(StrategyMachine& machine, std::mt19937& random) {
  const auto& steps = machine.evaluator();
  read(machine, random_letters(random, 6000, "ABCZ"));
  const uint64_t start = steps.operations();
  read(machine, random_letters(random, 6000, "ABCZ"));
  const uint64_t early = steps.operations() - start;
  read(machine, random_letters(random, 30000, "ABCZ"));
  const uint64_t before = steps.operations();
  read(machine, random_letters(random, 6000, "ABCZ"));
  return static_cast<double>(steps.operations() - before) / static_cast<double>(early);
}

}  // namespace

TEST(the_first_and_the_last_of_two_starts) {
  StrategyMachine next(Strategy::kNext, sequence_of("AB"));
  read(next, "AAB");
  CHECK_EQ(next.matches().size(), 1u);
  CHECK_EQ(next.matches()[0].start, 0);
  StrategyMachine last(Strategy::kLast, sequence_of("AB"));
  read(last, "AAB");
  CHECK_EQ(last.matches()[0].start, 1);
}

TEST(a_match_that_the_window_cuts_off_hides_nothing) {
  StrategyMachine machine(Strategy::kNext, sequence_of("AB"), {.span = 2});
  read(machine, "AAZBB");  // At row 3 the first A has left the window, at row 4 the second too.
  CHECK_EQ(machine.matches().size(), 1u);
  CHECK_EQ(machine.matches()[0].start, 1);
}

TEST(random_automata_agree_with_the_reference) {
  std::mt19937 random(1);
  for (int round = 0; round < 6000; ++round) {
    const auto cea = random_selective_cea(random, round % 3 == 0);
    const Measure measure = random_measure(random);
    const Strategy strategy = kBoth[random() % 2];
    StrategyMachine machine(strategy, cea, measure);
    NaiveSelection reference(strategy, *cea, measure);
    const std::vector<GuardBits> rows = random_rows(random, 1 + random() % 8);
    machine.read(rows);
    reference.read(rows);
    CHECK(agrees(machine, reference.matches()));
    const BigCount count = count_matches(machine.results(), std::nullopt);
    CHECK_EQ(count.limbs().empty() ? 0 : count.limbs()[0], reference.matches().size());
  }
}

TEST(what_happens_between_rows_changes_nothing) {
  std::mt19937 random(2);
  for (int round = 0; round < 4000; ++round) {
    const auto cea = random_selective_cea(random, round % 3 == 0);
    const Measure measure = random_measure(random);
    const Strategy strategy = kBoth[random() % 2];
    StrategyMachine machine(strategy, cea, measure);
    NaiveSelection reference(strategy, *cea, measure);
    for (GuardBits bits : random_rows(random, 2 + random() % 8)) {
      const auto event = random() % 8;
      if (event < 2) machine.compact();
      if (event == 2) machine.restore(machine.snapshot());
      if (event == 3) machine.trim();
      if (event == 4) machine.expire();
      if (event == 5) {
        machine.consume();
        reference.consume();
      }
      machine.read_one(bits);
      reference.read_one(bits);
    }
    CHECK(agrees(machine, reference.matches()));
  }
}

TEST(damaged_bytes_are_refused_or_harmless) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    const auto cea = random_selective_cea(random, round % 3 == 0);
    StrategyMachine machine(kBoth[random() % 2], cea, random_measure(random));
    machine.read(random_rows(random, 6));
    auto bytes = machine.snapshot();
    for (int flips = 0; flips < 3; ++flips) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random() % 256);
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    try {
      machine.restore(bytes);
      machine.read(random_rows(random, 4));
      machine.compact();
      machine.matches();
    } catch (const Error& error) {
      CHECK(error.kind == ErrorKind::kSnapshot || error.kind == ErrorKind::kLimit);
    }
  }
}

TEST(steps_per_row_do_not_grow_with_the_stream) {
  std::mt19937 random(6);
  for (Strategy strategy : kBoth) {
    for (const auto& cea : {sequence_of("ABC"), sequence_of("AAAA"), iteration_between()}) {
      for (std::optional<Clock> span : {std::optional<Clock>(), {10}, {1000}}) {
        StrategyMachine machine(strategy, cea, {.span = span});
        CHECK(growth(machine, random) < 1.2);
      }
    }
  }
}

TEST(steps_per_row_do_not_depend_on_the_window) {
  for (Strategy strategy : kBoth) {
    for (const auto& cea : {sequence_of("ABC"), sequence_of("AAAA"), iteration_between()}) {
      uint64_t steps[2];
      int i = 0;
      for (Clock span : {20, 2000}) {
        std::mt19937 random(7);
        StrategyMachine machine(strategy, cea, {.span = span});
        read(machine, random_letters(random, 20000, "ABCZ"));
        steps[i++] = machine.evaluator().operations();
      }
      CHECK(static_cast<double>(steps[1]) < 1.3 * static_cast<double>(steps[0]));
    }
  }
}

TEST(a_window_bounds_the_graph_and_the_runs) {
  std::mt19937 random(8);
  for (Strategy strategy : kBoth) {
    StrategyMachine machine(strategy, iteration_between(), {.span = 100});
    uint32_t nodes = 0;
    size_t bytes = 0;
    for (int round = 0; round < 100; ++round) {
      read(machine, random_letters(random, 1000, "ABCZ"));
      machine.compact();
      nodes = std::max(nodes, machine.graph().size());
      bytes = std::max(bytes, machine.bytes());
    }
    CHECK(nodes < 2000);
    CHECK(bytes < 20000);
  }
}

TEST(open_matches_cost_nothing_more) {
  std::mt19937 random(9);
  StrategyMachine machine(Strategy::kLast, iteration_between());
  read(machine, "A" + random_letters(random, 100000, "BZ"));  // 2^50000 open matches.
  machine.compact();
  CHECK(machine.graph().size() < 100000);
  CHECK(machine.bytes() < 1000);
}

TEST(many_subsets_of_states_are_no_trouble) {
  // C ; A : ANY : ... : ANY : B with nothing shown but C: 2^12 sets of states for ALL.
  std::vector<Transition> transitions{
      {0, letter('C'), 1, 1}, {1, kTrueGuard, kNoMarks, 1}, {1, letter('A'), kNoMarks, 2, true}};
  for (StateId state = 2; state < 14; ++state) {
    transitions.push_back({state, kTrueGuard, kNoMarks, state + 1, true});
  }
  transitions.push_back({14, letter('B'), kNoMarks, 15, true});
  const auto cea = std::make_shared<Cea>(16u, std::vector<StateId>{0}, std::vector<StateId>{15},
                                         transitions, single_marks(1), 1u, 26u);
  std::mt19937 random(10);
  for (Strategy strategy : kBoth) {
    StrategyMachine machine(strategy, cea);
    read(machine, "C" + random_letters(random, 20000, "AB"));
    CHECK(machine.matches().size() > 4000);
  }
}
