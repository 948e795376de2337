// Timed automata without the language: rows by the guards they satisfy and their times; and the
// reference, which keeps every run apart with clocks of its own.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "engine/interval.h"
#include "machine_fixture.h"
#include "strategy_fixture.h"

namespace catena {

struct TimedRow {
  uint8_t guards;
  Clock time;
};

// A part of a timed query, with a window of time.
class TimedMachine : public StrategyMachine {
 public:
  TimedMachine(std::shared_ptr<const Cea> cea, std::vector<Interval> intervals,
               std::optional<Clock> window = {}, Strategy strategy = Strategy::kAll)
      : StrategyMachine(strategy, std::move(cea), {.span = window}, 10'000, std::move(intervals)),
        window_(window) {}

  void read(const TimedRow& row) {
    const Clock threshold = window_ ? row.time - *window_ : kClockMin;
    read_one(row.guards, {position(), row.time, threshold, row.time, position() + 1});
  }

 private:
  std::optional<Clock> window_;
};

// The reference: every run with its own clocks.
inline std::set<NaiveMatch> run_timed_naively(const Cea& cea,
                                              const std::vector<Interval>& intervals,
                                              const std::vector<TimedRow>& rows,
                                              std::optional<Clock> window) {
  using Run = std::tuple<StateId, std::vector<Clock>, NaiveMatch>;
  std::set<NaiveMatch> matches;
  std::set<Run> runs;
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto position = static_cast<Position>(row);
    const Clock now[] = {rows[row].time, position + 1};
    for (StateId state : cea.initial()) {
      const std::vector<Clock> unset(cea.clock_count(), kClockMin);
      runs.insert({state, unset, {position, position, {}}});
    }
    std::set<Run> next;
    for (const auto& [state, clocks, match] : runs) {
      for (const Transition& t : cea.from(state)) {
        if (t.guard != kTrueGuard && ((rows[row].guards >> t.guard) & 1) == 0) continue;
        const ClockActions& actions = cea.actions_of(t);
        const bool passes = std::ranges::all_of(actions.checks, [&](const ClockCheck& check) {
          return clocks[check.clock] != kClockMin &&
                 intervals[check.interval].contains(
                     clocks[check.clock], now[static_cast<size_t>(cea.kind_of(check.clock))]);
        });
        if (!passes) continue;
        Run taken{t.target, clocks, match};
        for (ClockId z : actions.resets) {
          std::get<1>(taken)[z] = now[static_cast<size_t>(cea.kind_of(z))];
        }
        NaiveMatch& made = std::get<2>(taken);
        made.end = position;
        const auto& variables = cea.variables_of(t.marks);
        if (!variables.empty()) made.marks.emplace_back(position, variables);
        const Clock start = rows[static_cast<size_t>(made.start)].time;
        if (cea.is_final(t.target) && (!window || rows[row].time - start <= *window)) {
          matches.insert(made);
        }
        next.insert(std::move(taken));
      }
    }
    runs = std::move(next);
  }
  return matches;
}

inline std::vector<TimedRow> random_timed_rows(std::mt19937& random, size_t count, Clock time = 0) {
  std::vector<TimedRow> rows;
  for (size_t i = 0; i < count; ++i) {
    time += static_cast<Clock>(random() % 3);
    rows.push_back({static_cast<uint8_t>(random() % 8), time});
  }
  return rows;
}

// A ;[<= 5] B, each with a variable of its own.
inline std::shared_ptr<const Cea> gap(bool is_monotonic = false) {
  Clocks clocks{{ClockKind::kTime}, 1, {{}, {{}, {0}}, {{{0, 0}}, {}}}, is_monotonic};
  std::vector<Transition> transitions{{0, letter('A'), 1, 1, true, 1},
                                      {1, kTrueGuard, kNoMarks, 1},
                                      {1, letter('B'), 2, 2, true, 2}};
  return std::make_shared<Cea>(3u, std::vector<StateId>{0}, std::vector<StateId>{2}, transitions,
                               single_marks(2), 2u, 3u, std::vector<StateId>{}, clocks);
}

}  // namespace catena
