// Determinizer, frontiers, evaluator, graph and enumerator together, against the naive runner.
#include <algorithm>
#include <set>

#include "check.h"
#include "machine_fixture.h"
#include "matches/counter.h"

using namespace catena;

namespace {

std::set<NaiveMatch> expected(const Cea& cea, std::string_view letters, Position rows_max) {
  return run_naively(cea, static_cast<Position>(letters.size()), rows_max,
                     [&](Position row, GuardId guard) {
                       return letters[static_cast<size_t>(row)] == static_cast<char>('A' + guard);
                     });
}

bool agrees(const LetterMachine& machine, const std::set<NaiveMatch>& wanted) {
  const std::vector<NaiveMatch> found = machine.matches();
  const std::set<NaiveMatch> as_set(found.begin(), found.end());
  return as_set.size() == found.size() && as_set == wanted &&
         std::ranges::is_sorted(found, {}, &NaiveMatch::end);
}

}  // namespace

TEST(a_sequence_finds_every_pair) {
  LetterMachine machine(sequence_of("AB"));
  machine.read("AAB");
  CHECK_EQ(machine.matches().size(), 2u);
  CHECK(agrees(machine, expected(*sequence_of("AB"), "AAB", 100)));
}

TEST(rows_that_change_nothing_make_no_nodes) {
  LetterMachine machine(sequence_of("AB"));
  machine.read("A");
  const uint32_t nodes = machine.graph().size();
  machine.read("ZZZZZZZZ");
  CHECK_EQ(machine.graph().size(), nodes);
}

TEST(random_automata_agree_with_the_naive_runner) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    const auto cea = random_cea(random);
    const std::string letters = random_letters(random, 1 + random() % 7, "ABCZ");
    LetterMachine machine(cea);
    machine.read(letters);
    CHECK(agrees(machine, expected(*cea, letters, 100)));
  }
}

TEST(random_automata_agree_in_windows) {
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    const auto cea = random_cea(random);
    const std::string letters = random_letters(random, 1 + random() % 8, "ABC");
    const Position rows_max = 1 + static_cast<Position>(random() % 5);
    LetterMachine machine(cea, events_window(rows_max));
    machine.read(letters);
    CHECK(agrees(machine, expected(*cea, letters, rows_max)));
  }
}

TEST(compaction_at_any_row_changes_nothing) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    const auto cea = random_cea(random);
    const std::string letters = random_letters(random, 2 + random() % 6, "ABC");
    const Position rows_max = random() % 2 == 0 ? 100 : 1 + static_cast<Position>(random() % 5);
    LetterMachine machine(cea, events_window(rows_max));
    const size_t cut = random() % letters.size();
    machine.read(letters.substr(0, cut));
    machine.compact();
    machine.read(letters.substr(cut));
    CHECK(agrees(machine, expected(*cea, letters, rows_max)));
  }
}

TEST(lists_keep_their_invariants_on_long_random_streams) {
  std::mt19937 random(4);
  for (int round = 0; round < 200; ++round) {
    const auto cea = random_cea(random);
    LetterMachine machine(cea, events_window(20));
    for (int row = 0; row < 200; ++row) {
      machine.read(random_letters(random, 1, "ABC"));
      const size_t slots = machine.frontiers().states_of(machine.part().frontier).size();
      CHECK(Evaluator::has_consistent_slots(machine.part(), machine.graph(), slots));
    }
  }
}

TEST(counting_agrees_with_enumerating) {
  std::mt19937 random(5);
  for (int round = 0; round < 1000; ++round) {
    const auto cea = random_cea(random);
    LetterMachine machine(cea, events_window(1 + static_cast<int64_t>(random() % 8)));
    machine.read(random_letters(random, 8, "ABC"));
    const BigCount count = count_matches(machine.results(), std::nullopt);
    const uint64_t small = count.limbs().empty() ? 0 : count.limbs()[0];
    CHECK_EQ(small, machine.matches().size());
  }
}

TEST(counting_follows_a_window_that_moves_on) {
  std::mt19937 random(9);
  const std::vector<std::shared_ptr<const Cea>> fixed{sequence_of("ABC"), sequence_of("AAAAAA"),
                                                      iteration_between()};
  for (int round = 0; round < 100; ++round) {
    const bool is_random = round % 2 == 0;
    const auto cea = is_random ? random_cea(random) : fixed[random() % fixed.size()];
    LetterMachine machine(cea, events_window(1 + random() % 9));
    for (int part = 0; part < 4; ++part) {
      machine.read(random_letters(random, random() % 60, "ABC"));
      if (random() % 2 == 0) machine.compact();
    }
    const BigCount count = count_matches(machine.results(), std::nullopt);
    CHECK_EQ(count.limbs().empty() ? 0 : count.limbs()[0], machine.matches().size());
  }
}

TEST(counting_is_exact_past_64_bits_in_a_window) {
  LetterMachine machine(iteration_between(), events_window(102));
  machine.read("A" + std::string(100, 'B') + "C" + "A" + std::string(10, 'B') + "C");
  // The first A with its 100 Bs, and the second with its 10.
  const BigCount count = count_matches(machine.results(), std::nullopt);
  CHECK_EQ(count.limbs().size(), 2u);
  CHECK_EQ(count.limbs()[0], (uint64_t{1} << 10) - 2);
  CHECK_EQ(count.limbs()[1], uint64_t{1} << 36);
}

TEST(counting_is_exact_past_64_bits) {
  LetterMachine machine(iteration_between());
  machine.read("A" + std::string(200, 'B') + "C");  // 2^200 - 1 matches.
  const BigCount count = count_matches(machine.results(), std::nullopt);
  CHECK_EQ(count.limbs().size(), 4u);
  CHECK_EQ(count.limbs()[0], ~uint64_t{0});
  CHECK_EQ(count.limbs()[3], (uint64_t{1} << 8) - 1);
}

// The most nodes visited for a match, per element of the match.
double worst_delay(const LetterMachine& machine, uint64_t match_count_max) {
  Enumerator enumerator(machine.results(), std::nullopt);
  double worst = 0;
  uint64_t before = 0;
  for (uint64_t i = 0; i < match_count_max && enumerator.next(); ++i) {
    const auto steps = static_cast<double>(enumerator.steps() - before);
    worst = std::max(worst, steps / static_cast<double>(enumerator.mark_count() + 1));
    before = enumerator.steps();
  }
  return worst;
}

TEST(the_delay_is_linear_in_the_next_match) {
  constexpr double kStepsPerElementMax = 5;  // Left depth at most three, then the element itself.
  std::mt19937 random(6);
  for (int64_t window : {10, 1000, 100000}) {
    for (const auto& cea : {sequence_of("ABC"), sequence_of("ABABAB"), iteration_between()}) {
      LetterMachine machine(cea, events_window(window));
      machine.read(random_letters(random, 3000, "ABCZ"));
      CHECK(worst_delay(machine, 200000) <= kStepsPerElementMax);
    }
  }
  for (int round = 0; round < 300; ++round) {  // Deep unions, equal starts, dead branches.
    LetterMachine machine(random_cea(random),
                          events_window(5 + static_cast<int64_t>(random() % 50)));
    machine.read(random_letters(random, 300, "AB"));
    CHECK(worst_delay(machine, 20000) <= kStepsPerElementMax);
  }
}

TEST(steps_per_row_do_not_grow_with_the_stream) {
  std::mt19937 random(7);
  for (const auto& cea : {sequence_of("ABC"), iteration_between(), sequence_of("AAAAAA")}) {
    LetterMachine machine(cea);
    machine.read(random_letters(random, 1000, "ABCZ"));  // Warm.
    const uint64_t start = machine.operations();
    machine.read(random_letters(random, 2000, "ABCZ"));
    const uint64_t early = machine.operations() - start;
    machine.read(random_letters(random, 50000, "ABCZ"));
    const uint64_t before = machine.operations();
    machine.read(random_letters(random, 2000, "ABCZ"));
    const uint64_t late = machine.operations() - before;
    CHECK(static_cast<double>(late) < 1.2 * static_cast<double>(early));
  }
}

TEST(a_window_bounds_the_graph) {
  std::mt19937 random(8);
  LetterMachine machine(iteration_between(), events_window(100));
  uint32_t largest = 0;
  for (int round = 0; round < 200; ++round) {
    machine.read(random_letters(random, 1000, "ABCZ"));
    machine.compact();
    largest = std::max(largest, machine.graph().size());
  }
  CHECK(largest < 2000);
}
