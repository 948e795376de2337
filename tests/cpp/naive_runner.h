// A runner of automata that is plainly right: it keeps every run apart and follows each transition.
// Linked only into tests, as the reference for determinizer, graph, evaluator and enumerator.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "automaton/cea.h"

namespace catena {

// A match: where it starts and ends, and the variables marked at each position.
struct NaiveMatch {
  Position start;
  Position end;
  std::vector<std::pair<Position, std::vector<VariableId>>> marks;

  auto operator<=>(const NaiveMatch&) const = default;
};

using Satisfies = std::function<bool(Position, GuardId)>;

// All matches over `row_count` rows that span at most `rows_max` rows. Exponential.
inline std::set<NaiveMatch> run_naively(const Cea& cea, Position row_count, Position rows_max,
                                        const Satisfies& satisfies) {
  struct Run {
    StateId state;
    NaiveMatch match;
    auto operator<=>(const Run&) const = default;
  };
  std::set<NaiveMatch> matches;
  std::set<Run> runs;
  for (Position row = 0; row < row_count; ++row) {
    for (StateId state : cea.initial()) runs.insert({state, {row, row, {}}});
    std::set<Run> next;
    for (const Run& run : runs) {
      if (row - run.match.start + 1 > rows_max) continue;
      for (const Transition& t : cea.from(run.state)) {
        if (t.guard != kTrueGuard && !satisfies(row, t.guard)) continue;
        Run taken{t.target, run.match};
        taken.match.end = row;
        const auto& variables = cea.variables_of(t.marks);
        if (!variables.empty()) taken.match.marks.emplace_back(row, variables);
        if (cea.is_final(t.target)) matches.insert(taken.match);
        next.insert(std::move(taken));
      }
    }
    runs = std::move(next);
  }
  return matches;
}

}  // namespace catena
