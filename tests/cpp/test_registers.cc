// Registers without the language: programs by nodes, automata by constructors, against a runner
// that keeps every run apart with registers of its own.
#include <map>
#include <set>

#include "check.h"
#include "engine/register_index.h"
#include "engine/register_machine.h"
#include "matches/counter.h"
#include "register_fixture.h"

using namespace catena;

namespace {

// The reference: conditions 0 to 2 compare register 0, register 1 and both; updates set a register
// to the row's value, or to what the other one holds.
Program random_program(std::mt19937& random) {
  const Op ops[] = {Op::kEq, Op::kNe, Op::kLt, Op::kLe, Op::kGt, Op::kGe};
  ProgramBuilder made;
  const uint32_t row = made.row();
  const uint32_t registers[] = {made.reg(0), made.reg(1)};
  made.condition(ops[random() % 6], registers[0], row);
  made.condition(ops[random() % 6], row, registers[1]);
  made.condition(ops[random() % 6], registers[0], registers[1]);
  made.update(row);
  made.update(registers[0]);
  made.update(registers[1]);
  return made.program;
}

Registers random_registers(std::mt19937& random) {
  Registers registers{2, {{0}, {1}, {0, 1}}, {{}, {0}, {1}}, {{}}};
  for (int i = 0; i < 5; ++i) {
    RegisterActions actions;
    if (random() % 2 == 0) actions.conditions.push_back(static_cast<ConditionId>(random() % 3));
    for (RegisterId id = 0; id < 2; ++id) {
      if (random() % 3 == 0) actions.updates.push_back({id, static_cast<UpdateId>(random() % 3)});
    }
    if (random() % 3 == 0) actions.forbids.push_back({static_cast<ConditionId>(random() % 3)});
    if (random() % 5 == 0) actions.forbids.push_back({0, 2});
    registers.actions.push_back(std::move(actions));
  }
  return registers;
}

std::shared_ptr<const Cea> random_register_cea(std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  Clocks clocks;
  clocks.actions.resize(6);
  const uint32_t states = 2 + below(3);
  std::vector<Transition> transitions;
  const uint32_t count = 3 + below(8);
  for (uint32_t i = 0; i < count; ++i) {
    const GuardId guard = below(4) == 0 ? kTrueGuard : below(3);
    const MarksId marks = below(2) == 0 ? kNoMarks : below(4);
    transitions.push_back(
        {below(states), guard, marks, below(states), marks != kNoMarks, below(6)});
  }
  const std::vector<std::vector<VariableId>> marks{{}, {0}, {1}, {0, 1}};
  return std::make_shared<Cea>(states, std::vector<StateId>{0}, std::vector<StateId>{below(states)},
                               transitions, marks, 2u, 3u, std::vector<StateId>{}, clocks,
                               random_registers(random));
}

bool compares(Op op, const Value& left, const Value& right) {
  if (!left.is_known() || !right.is_known()) return false;
  return holds(op, left.low < right.low ? -1 : left.low > right.low ? 1 : 0);
}

std::set<NaiveMatch> run_naively(const Cea& cea, const Program& program,
                                 const std::vector<ValuedRow>& rows) {
  using Key = std::tuple<StateId, std::vector<int64_t>, NaiveMatch>;
  std::set<NaiveMatch> matches;
  std::map<Key, std::vector<Value>> runs;
  const auto key = [](StateId state, const std::vector<Value>& held, const NaiveMatch& match) {
    std::vector<int64_t> words;
    for (const Value& value : held) {
      words.push_back(static_cast<int64_t>(value.tag));
      words.push_back(value.low);
    }
    return Key{state, words, match};
  };
  for (size_t at = 0; at < rows.size(); ++at) {
    const auto position = static_cast<Position>(at);
    const Value row = rows[at].value;
    for (StateId state : cea.initial()) {
      const std::vector<Value> unbound(2);
      runs[key(state, unbound, {position, position, {}})] = unbound;
    }
    std::map<Key, std::vector<Value>> next;
    for (const auto& [run, held] : runs) {
      const std::pair<Value, Value> sides[] = {{held[0], row}, {row, held[1]}, {held[0], held[1]}};
      const Value updates[] = {row, held[0], held[1]};
      for (const Transition& t : cea.from(std::get<0>(run))) {
        if (t.guard != kTrueGuard && ((rows[at].guards >> t.guard) & 1) == 0) continue;
        const RegisterActions& actions = cea.register_actions_of(t);
        const auto all_hold = [&](const std::vector<ConditionId>& conditions) {
          return std::ranges::all_of(conditions, [&](ConditionId condition) {
            const Op op = program.nodes[program.conditions[condition]].op;
            return compares(op, sides[condition].first, sides[condition].second);
          });
        };
        if (!all_hold(actions.conditions)) continue;
        if (std::ranges::any_of(actions.forbids, all_hold)) continue;
        std::vector<Value> after = held;
        for (const RegisterUpdate& update : actions.updates) {
          after[update.target] = updates[update.update];
        }
        NaiveMatch made = std::get<2>(run);
        made.end = position;
        const auto& variables = cea.variables_of(t.marks);
        if (!variables.empty()) made.marks.emplace_back(position, variables);
        if (cea.is_final(t.target)) matches.insert(made);
        next[key(t.target, after, made)] = after;
      }
    }
    runs = std::move(next);
  }
  return matches;
}

std::vector<ValuedRow> random_rows(std::mt19937& random, size_t count) {
  std::vector<ValuedRow> rows;
  for (size_t i = 0; i < count; ++i) {
    const bool is_null = random() % 6 == 0;
    rows.push_back({static_cast<uint8_t>(random() % 8),
                    is_null ? Value::null() : Value::of_int(static_cast<int64_t>(random() % 3))});
  }
  return rows;
}

// A waits for a B whose value compares with its own, then for a C.
std::shared_ptr<const Cea> correlated_pair() {
  Clocks clocks;
  clocks.actions.resize(3);
  Registers registers{1, {{0}}, {{}}, {{}, {{}, {{0, 0}}, {}}, {{0}, {}, {}}}};
  std::vector<Transition> transitions{{0, letter('A'), 1, 1, true, 1},
                                      {1, kTrueGuard, kNoMarks, 1},
                                      {1, letter('B'), 2, 2, true, 2},
                                      {2, kTrueGuard, kNoMarks, 2},
                                      {2, letter('C'), 3, 3}};
  return std::make_shared<Cea>(4u, std::vector<StateId>{0}, std::vector<StateId>{3}, transitions,
                               single_marks(3), 3u, 3u, std::vector<StateId>{}, clocks, registers);
}

Program comparing(Op op, ValueType type = ValueType::kInt) {
  ProgramBuilder made;
  const uint32_t row = made.add(Op::kColumn, type);
  const uint32_t held = made.add(Op::kRegister, type, 0, 0, 0);
  made.condition(op, held, row);
  made.update(row);
  return made.program;
}

constexpr uint8_t kA = 1;
constexpr uint8_t kB = 2;
constexpr uint8_t kC = 4;

}  // namespace

TEST(random_automata_with_registers) {
  std::mt19937 random(20);
  size_t found = 0;
  for (int round = 0; round < 1500; ++round) {
    const auto cea = random_register_cea(random);
    const Program program = random_program(random);
    const std::vector<ValuedRow> rows = random_rows(random, 7);
    RegisterPart part(cea, program);
    for (const ValuedRow& row : rows) {
      part.read(row);
      if (random() % 4 == 0) part.restore();
      if (random() % 4 == 0) part.trim();
    }
    const std::set<NaiveMatch> expected = run_naively(*cea, program, rows);
    const std::multiset<NaiveMatch> given = part.matches();
    CHECK(std::multiset<NaiveMatch>(expected.begin(), expected.end()) == given);
    found += given.size();
  }
  CHECK(found > 1000);
}

TEST(a_row_touches_the_bundles_it_satisfies) {
  for (Op op : {Op::kEq, Op::kLt, Op::kLe, Op::kGt, Op::kGe}) {
    RegisterPart part(correlated_pair(), comparing(op), 5000);
    for (int64_t i = 0; i < 1000; ++i) part.read({kA, Value::of_int(i)});
    const bool is_below = op == Op::kLt || op == Op::kLe;
    part.read({kB, Value::of_int(is_below ? 1 : 998)});  // Makes the index.
    const uint64_t before = part.operations();
    for (int i = 0; i < 100; ++i) part.read({kB, Value::of_int(is_below ? 1 : 998)});
    CHECK(part.operations() - before < 100 * 40);
    CHECK_EQ(part.bundle_count(), 1001u);
    part.read({kC, Value::null()});
    const size_t matched = op == Op::kLe || op == Op::kGe ? 2 : 1;
    CHECK_EQ(part.matches().size(), 101 * matched);
  }
}

TEST(strings_are_compared_by_text_and_trimmed) {
  for (Op op : {Op::kEq, Op::kGt}) {
    RegisterPart part(correlated_pair(), comparing(op, ValueType::kString), 5000);
    std::vector<std::string> texts;
    for (int i = 0; i < 100; ++i) texts.push_back("text " + std::to_string(100 + i));
    for (const std::string& text : texts) part.read({kA, Value::of_text(text)});
    part.read({kB, Value::of_text(texts[98])});
    part.trim();
    part.read({kB, Value::of_text("text 198")});
    part.read({kB, Value::of_text("unheard of")});
    part.restore();
    part.read({kC, Value::null()});
    CHECK_EQ(part.matches().size(), 2u);
  }
}

TEST(values_that_compare_with_nothing_are_in_no_index) {
  RegisterPart part(correlated_pair(), comparing(Op::kEq, ValueType::kFloat), 5000);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int i = 0; i < 20; ++i) part.read({kA, Value::of_float(i)});
  for (double value : {nan, -0.0}) part.read({kA, Value::of_float(value)});
  part.read({kA, Value::null()});
  part.read({kB, Value::of_float(nan)});
  part.read({kB, Value::null()});
  part.read({kC, Value::null()});
  CHECK_EQ(part.matches().size(), 0u);
  part.read({kB, Value::of_float(0.0)});
  part.read({kC, Value::null()});
  CHECK_EQ(part.matches().size(), 2u);
}

TEST(live_valuations_are_limited) {
  RegisterPart part(correlated_pair(), comparing(Op::kEq), 10);
  for (int64_t i = 0; i < 10; ++i) part.read({kA, Value::of_int(i)});
  CHECK_THROWS(part.read({kA, Value::of_int(10)}), ErrorKind::kLimit);
}
