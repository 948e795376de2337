#include "queries.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include "base/error.h"

namespace catena::micro {
namespace {

constexpr uint32_t kGuardCount = 4;
constexpr uint32_t kVariableCount = 4;

// A letter machine: "0A1" reads an A and marks it, "1.1" reads any row and marks nothing. The
// variable of a letter is the letter.
std::shared_ptr<const Cea> automaton(std::string_view moves) {
  std::vector<Transition> transitions;
  uint32_t last = 0;
  for (size_t at = 0; at + 2 < moves.size(); at += 4) {
    const auto source = static_cast<StateId>(moves[at] - '0');
    const auto target = static_cast<StateId>(moves[at + 2] - '0');
    const char letter = moves[at + 1];
    const auto guard = static_cast<GuardId>(letter - 'A');
    last = std::max(last, target);
    if (letter == '.') {
      transitions.push_back({source, kTrueGuard, kNoMarks, target});
    } else {
      transitions.push_back({source, guard, guard + 1, target});
    }
  }
  std::vector<std::vector<VariableId>> marks{{}};
  for (VariableId variable = 0; variable < kVariableCount; ++variable) marks.push_back({variable});
  return std::make_shared<Cea>(last + 1, std::vector<StateId>{0}, std::vector<StateId>{last},
                               std::move(transitions), marks, kVariableCount, kGuardCount);
}

struct Move {
  size_t source;
  size_t target;
};

// The language of a query, read backwards: moves by type.
struct Language {
  std::array<std::vector<Move>, kTypeNames.size()> moves;
  size_t state_count = 0;

  explicit Language(std::string_view text) {
    for (size_t at = 0; at + 2 < text.size(); at += 4) {
      const auto source = static_cast<size_t>(text[at] - '0');
      const auto target = static_cast<size_t>(text[at + 2] - '0');
      moves[kTypeNames.find(text[at + 1])].push_back({source, target});
      state_count = std::max(state_count, target + 1);
    }
  }

  uint64_t ended_by(const Types& types, int64_t end, int64_t low) const {
    std::array<uint64_t, 8> counts{};
    for (const Move& move : moves[static_cast<size_t>(types[static_cast<size_t>(end)])]) {
      if (move.source == 0) counts[move.target] = 1;
    }
    for (int64_t row = end - 1; row >= low; --row) {
      const std::array<uint64_t, 8> before = counts;
      for (const Move& move : moves[static_cast<size_t>(types[static_cast<size_t>(row)])]) {
        if (move.source != 0) counts[move.target] += before[move.source];
      }
    }
    return counts[state_count - 1];
  }
};

}  // namespace

std::vector<Query> queries() {
  return {
      {"Q1", automaton("0A1 1.1 1B2 2.2 2C3"), "0C1 1B2 2A3"},
      {"Q2", automaton("0A1 1.1 1B2 2.2 2C3 3.3 3D4"), "0D1 1C2 2B3 3A4"},
      {"Q3", automaton("0A1 0B1 0C1 1.1 1D2"), "0D1 1A2 1B2 1C2"},
      {"Q4", automaton("0A1 1.1 1A1 1B2"), "0B1 1A2 2A2"},
      {"Q5", automaton("0A1 1.1 1A1 1B2 2.2 2B2 2C3"), "0C1 1B2 2B2 2A3 3A3"},
      {"Q6", automaton("0A1 1.1 1A1 1B2 2.2 2A1 2C3"), "0C1 1B2 2A3 3A3 3B2"},
  };
}

const Query& named(const std::vector<Query>& all, std::string_view name) {
  return *std::ranges::find(all, name, &Query::name);
}

Program type_guards() {
  Program program;
  Node column;
  column.op = Op::kColumn;
  column.type = ValueType::kString;
  program.nodes.push_back(column);
  for (uint32_t guard = 0; guard < kGuardCount; ++guard) {
    Node literal;
    literal.type = ValueType::kString;
    literal.string_value = std::string(1, kTypeNames[guard]);
    program.nodes.push_back(literal);
    Node equal;
    equal.op = Op::kEq;
    equal.left = 0;
    equal.right = static_cast<uint32_t>(program.nodes.size() - 1);
    program.nodes.push_back(equal);
    program.guards.push_back(static_cast<uint32_t>(program.nodes.size() - 1));
  }
  return program;
}

std::vector<uint64_t> expected_by_end(const Query& query, const Types& types, int64_t window) {
  const Language language(query.backwards);
  std::vector<uint64_t> counts(types.size());
  for (size_t end = 0; end < types.size(); ++end) {
    const auto row = static_cast<int64_t>(end);
    const int64_t low = window == 0 ? 0 : std::max<int64_t>(0, row - window + 1);
    counts[end] = language.ended_by(types, row, low);
  }
  return counts;
}

uint64_t sum(const std::vector<uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

Types make_types(int64_t rows, uint32_t kinds, uint32_t relevant, uint32_t among) {
  std::mt19937_64 source(1);  // Its numbers are fixed by the standard.
  Types types(static_cast<size_t>(rows));
  const auto other = static_cast<int8_t>(kTypeNames.size() - 1);
  for (int8_t& type : types) {
    const bool is_relevant = (source() >> 32) * among >> 32 < relevant;
    const auto drawn = static_cast<int8_t>((source() >> 32) * kinds >> 32);
    type = is_relevant ? drawn : other;
  }
  return types;
}

}  // namespace catena::micro
