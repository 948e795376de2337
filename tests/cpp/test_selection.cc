// NEXT and LAST against brute force on random automata, and the bounds that they keep.
#include "check.h"
#include "matches/counter.h"
#include "strategy_fixture.h"

using namespace catena;

namespace {

constexpr Strategy kBoth[] = {Strategy::kNext, Strategy::kLast};

Window random_window(std::mt19937& random) {
  return random() % 3 == 0 ? Window{} : events_window(1 + static_cast<int64_t>(random() % 5));
}

Position rows_of(const Window& window) {
  return window.kind == WindowKind::kNone ? 1000 : window.bound;
}

}  // namespace

TEST(the_first_and_the_last_of_two_starts) {
  StrategyMachine next(Strategy::kNext, sequence_of("AB"));
  next.read("AAB");
  CHECK_EQ(next.matches().size(), 1u);
  CHECK_EQ(next.matches()[0].start, 0);
  StrategyMachine last(Strategy::kLast, sequence_of("AB"));
  last.read("AAB");
  CHECK_EQ(last.matches()[0].start, 1);
}

TEST(a_match_that_the_window_cuts_off_hides_nothing) {
  StrategyMachine machine(Strategy::kNext, sequence_of("AB"), events_window(3));
  machine.read("AAZBB");  // At row 3 the first A has left the window, at row 4 the second too.
  CHECK_EQ(machine.matches().size(), 1u);
  CHECK_EQ(machine.matches()[0].start, 1);
}

TEST(random_automata_agree_with_brute_force) {
  std::mt19937 random(1);
  for (int round = 0; round < 4000; ++round) {
    const auto cea = random_selective_cea(random);
    const std::string letters = random_letters(random, 1 + random() % 8, "ABCZ");
    const Window window = random_window(random);
    const Strategy strategy = kBoth[random() % 2];
    StrategyMachine machine(strategy, cea, window);
    machine.read(letters);
    const auto events = events_naively(*cea, letters, rows_of(window));
    CHECK(machine.agrees(select_naively(strategy, events)));
  }
}

TEST(compaction_snapshots_and_trimming_at_any_row_change_nothing) {
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    const auto cea = random_selective_cea(random);
    const std::string letters = random_letters(random, 2 + random() % 7, "ABC");
    const Window window = random_window(random);
    const Strategy strategy = kBoth[random() % 2];
    StrategyMachine machine(strategy, cea, window);
    for (char c : letters) {
      machine.read(std::string_view(&c, 1));
      if (random() % 2 == 0) machine.compact();
      if (random() % 3 == 0) machine.restore(machine.snapshot());
      if (random() % 3 == 0) machine.trim();
    }
    const auto events = events_naively(*cea, letters, rows_of(window));
    CHECK(machine.agrees(select_naively(strategy, events)));
  }
}

TEST(consumed_rows_take_no_part_but_are_still_watched) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    const auto cea = random_selective_cea(random);
    const std::string letters = random_letters(random, 2 + random() % 7, "ABC");
    const Window window = random_window(random);
    const Strategy strategy = kBoth[random() % 2];
    const size_t cut = random() % letters.size();
    StrategyMachine machine(strategy, cea, window);
    machine.read(letters.substr(0, cut + 1));
    const size_t before = machine.matches().size();
    machine.consume();
    machine.read(letters.substr(cut + 1));
    const auto events = events_naively(*cea, letters, rows_of(window), static_cast<Position>(cut));
    const auto wanted = select_naively(strategy, events);
    const auto found = machine.matches();
    CHECK(std::set<NaiveMatch>(found.begin() + static_cast<std::ptrdiff_t>(before), found.end()) ==
          wanted);
  }
}

TEST(counting_agrees_with_enumerating) {
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    const auto cea = random_selective_cea(random);
    StrategyMachine machine(kBoth[random() % 2], cea, random_window(random));
    machine.read(random_letters(random, 9, "ABC"));
    const BigCount count = count_matches(machine.results(), std::nullopt);
    CHECK_EQ(count.limbs().empty() ? 0 : count.limbs()[0], machine.matches().size());
  }
}

TEST(damaged_snapshots_are_refused_or_harmless) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    const auto cea = random_selective_cea(random);
    StrategyMachine machine(kBoth[random() % 2], cea, random_window(random));
    machine.read(random_letters(random, 6, "ABC"));
    auto bytes = machine.snapshot();
    for (int flips = 0; flips < 3; ++flips) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random() % 256);
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    try {
      machine.restore(bytes);
      machine.read(random_letters(random, 4, "ABC"));
      machine.compact();
      machine.matches();
    } catch (const Error& error) {
      CHECK(error.kind == ErrorKind::kSnapshot || error.kind == ErrorKind::kLimit);
    }
  }
}

// Steps per row, late in a stream over early in it.
double growth(StrategyMachine& machine, std::mt19937& random) {
  machine.read(random_letters(random, 6000, "ABCZ"));
  const uint64_t start = machine.operations();
  machine.read(random_letters(random, 6000, "ABCZ"));
  const uint64_t early = machine.operations() - start;
  machine.read(random_letters(random, 30000, "ABCZ"));
  const uint64_t before = machine.operations();
  machine.read(random_letters(random, 6000, "ABCZ"));
  return static_cast<double>(machine.operations() - before) / static_cast<double>(early);
}

TEST(steps_per_row_do_not_grow_with_the_stream) {
  std::mt19937 random(6);
  for (Strategy strategy : kBoth) {
    for (const auto& cea : {sequence_of("ABC"), sequence_of("AAAA"), iteration_between()}) {
      for (const Window& window : {Window{}, events_window(10), events_window(1000)}) {
        StrategyMachine machine(strategy, cea, window);
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
      for (int64_t rows : {20, 2000}) {
        std::mt19937 random(7);
        StrategyMachine machine(strategy, cea, events_window(rows));
        machine.read(random_letters(random, 20000, "ABCZ"));
        steps[i++] = machine.operations();
      }
      CHECK(static_cast<double>(steps[1]) < 1.3 * static_cast<double>(steps[0]));
    }
  }
}

TEST(a_window_bounds_the_graph_and_the_runs) {
  std::mt19937 random(8);
  for (Strategy strategy : kBoth) {
    StrategyMachine machine(strategy, iteration_between(), events_window(100));
    uint32_t nodes = 0;
    size_t bytes = 0;
    for (int round = 0; round < 100; ++round) {
      machine.read(random_letters(random, 1000, "ABCZ"));
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
  machine.read("A" + random_letters(random, 100000, "BZ"));  // 2^50000 open matches.
  machine.compact();
  CHECK(machine.graph().size() < 100000);
  CHECK(machine.bytes() < 1000);
}

TEST(many_subsets_of_states_are_no_trouble) {
  // S ; A : ANY : ... : ANY : B with nothing shown but S: 2^12 sets of states for ALL.
  std::vector<Transition> transitions{
      {0, letter('S'), 1, 1}, {1, kTrueGuard, kNoMarks, 1}, {1, letter('A'), kNoMarks, 2, true}};
  for (StateId state = 2; state < 14; ++state) {
    transitions.push_back({state, kTrueGuard, kNoMarks, state + 1, true});
  }
  transitions.push_back({14, letter('B'), kNoMarks, 15, true});
  const auto cea = std::make_shared<Cea>(16u, std::vector<StateId>{0}, std::vector<StateId>{15},
                                         transitions, single_marks(1), 1u, 26u);
  std::mt19937 random(10);
  for (Strategy strategy : kBoth) {
    StrategyMachine machine(strategy, cea);
    machine.read("S" + random_letters(random, 20000, "AB"));
    CHECK(machine.matches().size() > 4000);
  }
}
