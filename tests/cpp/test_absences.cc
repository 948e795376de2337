// What runs must pass over, without the language: the sets of open matches that they hold stay as
// small as the bounds of what is absent allow, and outlive snapshots and the numbers of sets.
#include "check.h"
#include "register_fixture.h"

using namespace catena;

namespace {

constexpr uint8_t kA = 1;
constexpr uint8_t kB = 2;
constexpr uint8_t kC = 4;
constexpr uint8_t kD = 8;

// By number: the open matches of the absence (register 0), and what a B had (register 1).
constexpr ConditionId kEnds = 0;
constexpr ConditionId kSame = 1;
constexpr UpdateId kNone = 0;
constexpr UpdateId kGoOn = 1;
constexpr UpdateId kSetValue = 2;

Registers registers_with(std::vector<RegisterActions> actions) {
  const Follow follow{0, 0, 0};
  return {2,
          {{0}, {1}},
          {{}, {0}, {}},
          std::move(actions),
          {},
          {follow, std::nullopt},
          {std::nullopt, follow, std::nullopt}};
}

// B ; D, the time between them in interval 0 if it is timed, else with the same value.
std::shared_ptr<const Cea> b_then_d(bool is_timed) {
  Clocks clocks{{}, 1, {{}, {}, {}}};
  std::vector<RegisterActions> actions(3);
  if (is_timed) {
    clocks.kinds = {ClockKind::kTime};
    clocks.actions[1].resets = {0};
    clocks.actions[2].checks = {{0, 0}};
  } else {
    actions[1].updates = {{1, kSetValue}};
    actions[2].conditions = {kSame};
  }
  const std::vector<Transition> transitions{{0, letter('B'), kNoMarks, 1, false, 1},
                                            {1, kTrueGuard, kNoMarks, 1},
                                            {1, letter('D'), kNoMarks, 2, false, 2}};
  return std::make_shared<Cea>(3u, std::vector<StateId>{0}, std::vector<StateId>{2}, transitions,
                               single_marks(3), 3u, 4u, std::vector<StateId>{}, clocks,
                               registers_with(actions));
}

// A ; NOT (B ; D) ; C
std::shared_ptr<const Cea> a_then_c(bool is_timed) {
  Clocks clocks{{}, 1, {{}, {}, {}}};
  std::vector<RegisterActions> actions(3);
  actions[1].updates = {{0, kNone}};
  actions[2].updates = {{0, kGoOn}};
  actions[2].forbids = {{kEnds}};
  Registers registers = registers_with(actions);
  registers.absences = {{b_then_d(is_timed)}};
  const std::vector<Transition> transitions{{0, letter('A'), 1, 1, true, 1},
                                            {1, kTrueGuard, kNoMarks, 1, false, 2},
                                            {1, letter('C'), 3, 2}};
  return std::make_shared<Cea>(3u, std::vector<StateId>{0}, std::vector<StateId>{2}, transitions,
                               single_marks(3), 3u, 4u, std::vector<StateId>{}, clocks, registers);
}

// Conditions and updates about open matches have a place in the program and nothing in it.
Program program() {
  ProgramBuilder made;
  const uint32_t row = made.row();
  const uint32_t held = made.reg(1);
  const uint32_t nothing = made.add(Op::kUnbound, ValueType::kInt);
  made.condition(Op::kEq, held, held);
  made.condition(Op::kEq, held, row);
  made.update(nothing);
  made.update(nothing);
  made.update(row);
  return made.program;
}

RegisterPart timed_part(Interval interval, uint32_t valuation_max = 1000) {
  return {a_then_c(true), program(), valuation_max, {interval}};
}

RegisterPart compared_part(uint32_t valuation_max = 1'000'000) {
  return {a_then_c(false), program(), valuation_max, {Interval(0, 0)}};
}

ValuedRow row(uint8_t guards, int64_t value = 0) { return {guards, Value::of_int(value)}; }

// As, Bs and Ds at random, and what is left by the Cs.
std::vector<ValuedRow> random_rows(std::mt19937& random, size_t count) {
  std::vector<ValuedRow> rows;
  for (size_t i = 0; i < count; ++i) {
    rows.push_back(row(static_cast<uint8_t>(1u << (random() % 4)), random() % 3));
  }
  return rows;
}

// Whether some B and a later D with the same value lie in between; by brute force.
std::multiset<std::pair<Position, Position>> spans_of(const std::vector<ValuedRow>& rows,
                                                      auto is_pair) {
  std::multiset<std::pair<Position, Position>> spans;
  const auto has = [&](size_t at, uint8_t guard) { return (rows[at].guards & guard) != 0; };
  for (size_t a = 0; a < rows.size(); ++a) {
    for (size_t c = a + 1; c < rows.size(); ++c) {
      bool is_free = has(a, kA) && has(c, kC);
      for (size_t b = a + 1; b < c; ++b) {
        for (size_t d = b + 1; d < c; ++d) {
          if (has(b, kB) && has(d, kD) && is_pair(b, d)) is_free = false;
        }
      }
      if (is_free) spans.emplace(a, c);
    }
  }
  return spans;
}

std::multiset<std::pair<Position, Position>> spans_of(const RegisterPart& part) {
  std::multiset<std::pair<Position, Position>> spans;
  for (const NaiveMatch& match : part.matches()) spans.emplace(match.start, match.end);
  return spans;
}

}  // namespace

TEST(what_is_compared_is_found_through_snapshots_and_trims) {
  std::mt19937 random(5);
  size_t found = 0;
  for (int round = 0; round < 300; ++round) {
    const std::vector<ValuedRow> rows = random_rows(random, 12);
    RegisterPart part = compared_part();
    for (const ValuedRow& one : rows) {
      part.read(one);
      if (random() % 4 == 0) part.restore();
      if (random() % 4 == 0) part.trim();
    }
    const auto is_pair = [&](size_t b, size_t d) { return rows[b].value == rows[d].value; };
    CHECK(spans_of(part) == spans_of(rows, is_pair));
    found += spans_of(part).size();
  }
  CHECK(found > 500);
}

TEST(intervals_of_every_kind) {
  std::mt19937 random(6);
  constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();
  const std::pair<int64_t, int64_t> bounds[] = {{0, 2}, {3, kForEver}, {2, 4}, {0, kForEver}};
  for (int round = 0; round < 300; ++round) {
    const auto [low, high] = bounds[round % 4];
    const std::vector<ValuedRow> rows = random_rows(random, 14);
    RegisterPart part = timed_part(Interval(low, high));
    for (const ValuedRow& one : rows) {
      part.read(one);
      if (random() % 4 == 0) part.restore();
      if (random() % 4 == 0) part.trim();
    }
    const auto is_pair = [&](size_t b, size_t d) {
      const auto passed = static_cast<int64_t>(d - b);
      return passed >= low && passed <= high;
    };
    CHECK(spans_of(part) == spans_of(rows, is_pair));
  }
}

// A long stream of As and Bs: an upper bound keeps the latest B, a lower one the earliest and what
// is younger than the bound; As that hold the same are one bundle.
TEST(bounds_on_time_bound_what_is_held) {
  constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();
  for (const Interval& interval : {Interval(0, 5), Interval(5, kForEver), Interval(2, 5)}) {
    RegisterPart part = timed_part(interval);
    size_t bytes = 0;
    uint64_t operations = 0;
    for (int i = 0; i < 40'000; ++i) {
      part.read(row(i % 2 == 0 ? kA : kB));
      if (part.wants_trim()) part.trim();
      CHECK(part.bundle_count() <= 12);
      if (i == 20'000) {
        bytes = part.bytes();
        operations = part.operations();
      }
    }
    CHECK(part.bytes() <= 2 * bytes);
    CHECK(part.operations() - operations <= 2 * operations);
  }
}

// In a window of 20 rows a set holds 20 values at most, however many have come and gone.
TEST(a_window_bounds_what_is_held) {
  RegisterPart part = compared_part();
  for (int i = 0; i < 30'000; ++i) {
    part.set_threshold(i - 19);
    part.read(row(i % 2 == 0 ? kA : kB, i));
    if (part.wants_trim()) part.trim();
    CHECK(part.bundle_count() <= 128);
  }
  const size_t bytes = part.bytes();
  for (int i = 30'000; i < 60'000; ++i) {
    part.set_threshold(i - 19);
    part.read(row(i % 2 == 0 ? kA : kB, i));
    if (part.wants_trim()) part.trim();
  }
  CHECK(part.bytes() <= 2 * bytes);
}

TEST(rows_that_change_nothing_touch_nothing) {
  RegisterPart part = compared_part();
  for (int i = 0; i < 500; ++i) part.read(row(i % 2 == 0 ? kA : kB, i));
  const uint64_t before = part.operations();
  for (int i = 0; i < 1000; ++i) part.read(row(0));
  CHECK(part.operations() - before <= 5 * 1000);
}

TEST(too_many_open_matches_are_a_limit) {
  RegisterPart part = compared_part(50);
  part.read(row(kA));
  for (int i = 0; i < 50; ++i) part.read(row(kB, i));
  CHECK_THROWS(part.read(row(kB, 50)), ErrorKind::kLimit);
}

// Whatever the bytes, a reader refuses them or goes on from something sound.
TEST(damaged_snapshots_are_refused_or_sound) {
  std::mt19937 random(7);
  RegisterPart whole = compared_part();
  for (const ValuedRow& one : random_rows(random, 30)) whole.read(one);
  const std::vector<std::byte> bytes = whole.snapshot();
  size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> damaged = bytes;
    damaged[random() % damaged.size()] = static_cast<std::byte>(random() % 256);
    RegisterPart part = compared_part();
    try {
      part.restore(damaged);
      for (uint8_t guards : {kB, kD, kA, kB, kD}) part.read(row(guards, 1));
    } catch (const Error& error) {
      CHECK(error.kind == ErrorKind::kSnapshot);
      ++refused;
    }
  }
  CHECK(refused > 0);
}
