// MAX: standings, plan, evaluator and its snapshots, against the naive reference.
#include <limits>

#include "check.h"
#include "engine/max_selection.h"
#include "machine_fixture.h"
#include "matches/counter.h"
#include "strategy_fixture.h"

using namespace catena;

namespace {

const MaxRuns& runs_of(const StrategyMachine& machine) {
  return static_cast<const MaxRuns&>(machine.runs());
}

const StandingTable& standings_of(const StrategyMachine& machine) {
  return static_cast<const MaxSelection&>(machine.evaluator()).standings();
}

// Starts and ends of what MAX reports for a stream of letters.
std::set<std::pair<Position, Position>> ends_of(const std::shared_ptr<const Cea>& cea,
                                                std::string_view letters, Measure measure = {}) {
  StrategyMachine machine(Strategy::kMax, cea, measure);
  machine.read(rows_of(letters));
  std::set<std::pair<Position, Position>> ends;
  for (const NaiveMatch& match : machine.matches()) ends.emplace(match.start, match.end);
  return ends;
}

using Ends = std::set<std::pair<Position, Position>>;

// A+ ; B, whose marks are shown or not.
std::shared_ptr<const Cea> iteration_first(bool shows = true) {
  const MarksId a = shows ? 1 : kNoMarks;
  const MarksId b = shows ? 2 : kNoMarks;
  std::vector<Transition> transitions{{0, letter('A'), a, 1, true},
                                      {1, kTrueGuard, kNoMarks, 1, false},
                                      {1, letter('A'), a, 1, true},
                                      {1, letter('B'), b, 2, true}};
  return std::make_shared<Cea>(3u, std::vector<StateId>{0}, std::vector<StateId>{2},
                               std::move(transitions), single_marks(2), 2u, 26u);
}

// first ; second ; ... of which only the first is shown.
std::shared_ptr<const Cea> sequence_showing_first(std::string_view letters) {
  std::vector<Transition> transitions;
  const auto count = static_cast<uint32_t>(letters.size());
  for (uint32_t i = 0; i < count; ++i) {
    const MarksId marks = i == 0 ? 1 : kNoMarks;
    transitions.push_back({i, letter(letters[i]), marks, i + 1, true});
    if (i > 0) transitions.push_back({i, kTrueGuard, kNoMarks, i, false});
  }
  return std::make_shared<Cea>(count + 1, std::vector<StateId>{0}, std::vector<StateId>{count},
                               std::move(transitions), single_marks(1), 1u, 26u);
}

// What a part holds keeps its invariants.
bool is_consistent(const StrategyMachine& machine) {
  const auto& [bundles, clocks, entries] = runs_of(machine).bundles;
  const StandingTable& standings = standings_of(machine);
  size_t clock_at = 0;
  size_t entry_at = 0;
  Clock latest = std::numeric_limits<Clock>::max();
  for (const Bundle& bundle : bundles) {
    const uint32_t ranks = standings.rank_count(bundle.kind);
    if (clock_at + ranks > clocks.size() || entry_at + bundle.length > entries.size()) return false;
    const auto older = std::span(clocks).subspan(clock_at, ranks);
    const auto list = std::span(entries).subspan(entry_at, bundle.length);
    if (list.empty() || list[0].node.kind() == NodeKind::kJoin) return false;
    if (bundle.max_start > latest || bundle.max_start != list[0].max_start) return false;
    for (size_t i = 1; i < list.size(); ++i) {
      const Clock before = list[i - 1].max_start;
      if (i == 1 ? list[i].max_start > before : list[i].max_start >= before) return false;
    }
    for (size_t i = 1; i < older.size(); ++i) {
      if (older[i] >= older[i - 1]) return false;
    }
    if (!older.empty() && older[0] >= list.back().max_start) return false;
    latest = bundle.max_start;
    clock_at += ranks;
    entry_at += bundle.length;
  }
  return clock_at == clocks.size() && entry_at == entries.size();
}

std::vector<GuardBits> letters_rows(std::mt19937& random, size_t count, std::string_view alphabet) {
  return rows_of(random_letters(random, count, alphabet));
}

}  // namespace

TEST(all_pairs_of_a_sequence_are_maximal) {
  CHECK((ends_of(sequence_of("AB"), "AAB") == Ends{{0, 2}, {1, 2}}));
}

TEST(an_iteration_takes_all_it_can) {
  StrategyMachine machine(Strategy::kMax, iteration_between());
  machine.read(rows_of("ABZBC"));
  const std::vector<NaiveMatch> found = machine.matches();
  CHECK_EQ(found.size(), 1u);
  CHECK_EQ(found[0].marks.size(), 4u);
}

TEST(a_match_outside_the_window_hides_none_inside) {
  CHECK((ends_of(iteration_first(), "AAB") == Ends{{0, 2}}));
  CHECK((ends_of(iteration_first(), "AAB", {.span = 1}) == Ends{{1, 2}}));
  CHECK((ends_of(iteration_first(), "AAZBB", {.span = 3}) == Ends{{0, 3}, {1, 4}}));
}

TEST(rows_at_the_same_time_leave_together) {
  const Measure measure{.span = 1, .rows_per_tick = 2};  // Clocks 0 0 1 1 2 2.
  CHECK((ends_of(iteration_first(), "AAZBBB", measure) == Ends{{0, 3}}));
  CHECK((ends_of(iteration_first(), "AAAAZB", measure) == Ends{{2, 5}}));
}

TEST(hidden_marks_are_compared_but_not_shown) {
  CHECK((ends_of(iteration_first(false), "AAB") == Ends{{0, 2}}));
  CHECK((ends_of(iteration_first(false), "AAZBB", {.span = 3}) == Ends{{0, 3}, {1, 4}}));
}

TEST(random_automata_agree_with_the_reference) {
  std::mt19937 random(1);
  for (int round = 0; round < 6000; ++round) {
    const auto cea = random_selective_cea(random, round % 3 == 0);
    const Measure measure = random_measure(random);
    const std::vector<GuardBits> rows = random_rows(random, 1 + random() % 8);
    StrategyMachine machine(Strategy::kMax, cea, measure);
    NaiveSelection reference(Strategy::kMax, *cea, measure);
    for (GuardBits bits : rows) {
      machine.read_one(bits);
      reference.read_one(bits);
      CHECK(is_consistent(machine));
    }
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
    StrategyMachine machine(Strategy::kMax, cea, measure);
    NaiveSelection reference(Strategy::kMax, *cea, measure);
    for (GuardBits bits : random_rows(random, 2 + random() % 7)) {
      const auto event = random() % 8;
      if (event == 0) machine.compact();
      if (event == 1) machine.restore(machine.snapshot());
      if (event == 2) machine.trim();
      if (event == 3) machine.expire();
      if (event == 4) {
        machine.consume();
        reference.consume();
      }
      machine.read_one(bits);
      reference.read_one(bits);
    }
    CHECK(agrees(machine, reference.matches()));
  }
}

TEST(long_streams_keep_the_invariants_and_the_matches) {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    const auto cea = random_selective_cea(random, round % 3 == 0);
    const Measure measure{.span = 3 + static_cast<Clock>(random() % 3)};
    StrategyMachine whole(Strategy::kMax, cea, measure);
    StrategyMachine broken(Strategy::kMax, cea, measure);
    for (GuardBits bits : random_rows(random, 60)) {
      whole.read_one(bits);
      broken.read_one(bits);
      CHECK(is_consistent(whole));
      if (random() % 5 == 0) broken.compact();
      if (random() % 5 == 0) broken.restore(broken.snapshot());
    }
    CHECK(whole.matches() == broken.matches());
  }
}

TEST(consuming_leaves_nothing_but_what_observers_saw) {
  StrategyMachine machine(Strategy::kMax, iteration_first(), {.span = 100});
  CHECK(machine.is_idle());
  machine.read(rows_of("AA"));
  CHECK(!machine.is_idle());
  machine.consume();
  CHECK(machine.is_idle());
  machine.read(rows_of("AB"));
  CHECK_EQ(machine.matches().size(), 1u);
  CHECK_EQ(machine.matches()[0].start, 2);
}

TEST(a_part_without_a_run_in_the_window_is_idle) {
  StrategyMachine machine(Strategy::kMax, iteration_first(), {.span = 2});
  machine.read(rows_of("AAZZ"));
  CHECK(!machine.is_idle());
  machine.read(rows_of("Z"));
  CHECK(machine.is_idle());
}

TEST(rivals_of_the_same_start_do_not_tell_bundles_apart) {
  std::mt19937 random(4);
  StrategyMachine machine(Strategy::kMax, iteration_between(), {.span = 1000});
  machine.read(letters_rows(random, 5000, "ABCZ"));
  CHECK(runs_of(machine).bundles.all.size() <= 3);
  CHECK(runs_of(machine).bundles.clocks.empty());
  CHECK(standings_of(machine).size() < 30);
}

TEST(a_sequence_has_no_rivals) {
  std::mt19937 random(9);
  StrategyMachine machine(Strategy::kMax, sequence_of("ABC"), {.span = 1000});
  machine.read(random_rows(random, 2000));  // Rows that satisfy several guards at once.
  CHECK_EQ(runs_of(machine).bundles.all.size(), 2u);
  CHECK(runs_of(machine).bundles.clocks.empty() && runs_of(machine).outlook_clocks.empty());
  const Rivals rivals(*sequence_of("ABC"));
  for (StateId state = 1; state <= 2; ++state) {
    CHECK(!rivals.can_overtake(state, state) && !rivals.can_beat(rivals.waiting(), state));
  }
  CHECK(!rivals.can_beat(1, 2) && rivals.can_beat(1, 1));
}

TEST(steps_per_row_do_not_grow_with_the_stream) {
  std::mt19937 random(5);
  for (const std::optional<Clock> span : {std::optional<Clock>{}, std::optional<Clock>{100'000}}) {
    for (const auto& cea : {sequence_of("ABC"), iteration_between(), sequence_of("AAAAAA")}) {
      StrategyMachine machine(Strategy::kMax, cea, {.span = span});
      machine.read(letters_rows(random, 1000, "ABCZ"));  // Warm.
      const uint64_t start = machine.evaluator().operations();
      machine.read(letters_rows(random, 2000, "ABCZ"));
      const uint64_t early = machine.evaluator().operations() - start;
      machine.read(letters_rows(random, 50'000, "ABCZ"));
      const uint64_t before = machine.evaluator().operations();
      machine.read(letters_rows(random, 2000, "ABCZ"));
      const uint64_t late = machine.evaluator().operations() - before;
      CHECK(static_cast<double>(late) < 1.2 * static_cast<double>(early));
    }
  }
}

TEST(a_window_bounds_bundles_and_graph) {
  std::mt19937 random(6);
  StrategyMachine machine(Strategy::kMax, iteration_first(), {.span = 99});
  uint32_t largest = 0;
  for (int round = 0; round < 50; ++round) {
    machine.read(letters_rows(random, 1000, "ABCZ"));
    machine.compact();
    CHECK(runs_of(machine).bundles.all.size() <= 100);
    largest = std::max(largest, machine.graph().size());
  }
  CHECK(largest < 100 * 100);
}

// The most nodes visited for a match, per element of the match.
double worst_delay(const StrategyMachine& machine, uint64_t match_count_max) {
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
  constexpr double kStepsPerElementMax = 5;  // As in test_evaluation.cc.
  std::mt19937 random(7);
  for (const Clock span : {10, 100, 1000}) {
    for (const auto& cea : {sequence_of("ABC"), iteration_first(), iteration_between(),
                            sequence_showing_first("ABBB")}) {
      StrategyMachine machine(Strategy::kMax, cea, {.span = span});
      machine.read(letters_rows(random, 1500, "ABCZ"));
      CHECK(worst_delay(machine, 100'000) <= kStepsPerElementMax);
    }
  }
  for (int round = 0; round < 200; ++round) {  // Deep unions, equal starts, dead branches.
    StrategyMachine machine(Strategy::kMax, random_selective_cea(random, round % 3 == 0),
                            {.span = 5 + static_cast<Clock>(random() % 20)});
    machine.read(random_rows(random, 200));
    CHECK(worst_delay(machine, 10'000) <= kStepsPerElementMax);
  }
}

TEST(hidden_marks_make_no_repetition) {
  StrategyMachine machine(Strategy::kMax, sequence_showing_first("ABBBC"));
  machine.read(rows_of("AA" + std::string(60, 'B') + "C"));  // 34220 ways to each of two matches.
  CHECK_EQ(machine.matches().size(), 2u);
  CHECK(std::ranges::none_of(machine.results().segments[0].roots, &Root::may_repeat));
}

TEST(the_number_of_standings_is_limited) {
  const auto read_all = [](uint32_t state_count_max) {
    StrategyMachine machine(Strategy::kMax, iteration_between(), {}, state_count_max);
    machine.read(rows_of("ABBABBC"));
  };
  read_all(20);
  CHECK_THROWS(read_all(3), ErrorKind::kLimit);
}

// Whatever is read back keeps its invariants, and can go on.
TEST(damaged_bytes_are_refused_or_harmless) {
  std::mt19937 random(8);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto cea = random_selective_cea(random, round % 3 == 0);
    const Measure measure = random_measure(random);
    StrategyMachine machine(Strategy::kMax, cea, measure);
    machine.read(random_rows(random, 4 + random() % 12));
    std::vector<std::byte> bytes = machine.snapshot();
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << (random() % 8));
    }
    if (random() % 10 == 0) bytes.resize(random() % bytes.size());
    try {
      machine.restore(bytes);
    } catch (const Error& error) {
      CHECK(error.kind == ErrorKind::kSnapshot);
      ++refused;
      continue;
    }
    CHECK(is_consistent(machine));
    machine.compact();
    Clock clock = std::numeric_limits<Clock>::max() - 100;  // No start is later.
    for (GuardBits bits : random_rows(random, 10)) {
      machine.read_one(bits, {machine.position(), ++clock, kClockMin});
      CHECK(is_consistent(machine));
    }
  }
  CHECK(refused > 1000);
}
