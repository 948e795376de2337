#include "engine/timed_table.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace catena {
namespace {

// Where the value of a clock in a target comes from.
enum Origin : uint8_t { kUnknown, kKept, kReset };

// States that one valuation can stand for.
struct Target {
  std::vector<StateId> states;
  std::vector<uint8_t> origins;  // By clock.
};

bool are_compatible(const std::vector<uint8_t>& one, const std::vector<uint8_t>& other) {
  for (size_t clock = 0; clock < one.size(); ++clock) {
    if (one[clock] != kUnknown && other[clock] != kUnknown && one[clock] != other[clock]) {
      return false;
    }
  }
  return true;
}

// Puts a state into the first target that its clocks agree with.
void add_state(std::vector<Target>& targets, StateId state, const std::vector<uint8_t>& origins) {
  auto place = std::ranges::find_if(
      targets, [&](const Target& target) { return are_compatible(target.origins, origins); });
  if (place == targets.end()) {
    targets.push_back({{}, std::vector<uint8_t>(origins.size(), kUnknown)});
    place = targets.end() - 1;
  }
  place->states.push_back(state);
  for (size_t clock = 0; clock < origins.size(); ++clock) {
    if (origins[clock] != kUnknown) place->origins[clock] = origins[clock];
  }
}

struct Moves {
  std::vector<Target> targets;
  bool is_final = false;
};

}  // namespace

TimedTable::TimedTable(const Cea& cea, const ClassTrie& classes, uint32_t state_count_max)
    : cea_(cea), classes_(classes), state_count_max_(state_count_max) {
  find_live_clocks();
  std::vector<StateId> initial = cea.initial();
  std::ranges::sort(initial);
  initial.erase(std::ranges::unique(initial).begin(), initial.end());
  initial_ = intern(std::move(initial));
}

// A clock is live in a state if a transition out of it checks the clock, or leads, without
// resetting it, to a state in which it is live. A fixed point, once.
void TimedTable::find_live_clocks() {
  live_.assign(cea_.state_count(), std::vector<bool>(cea_.clock_count(), false));
  for (bool changed = true; changed;) {
    changed = false;
    for (StateId state = 0; state < cea_.state_count(); ++state) {
      for (const Transition& t : cea_.from(state)) {
        const ClockActions& actions = cea_.actions_of(t);
        std::vector<bool> needed = live_[t.target];
        for (ClockId clock : actions.resets) needed[clock] = false;
        for (const ClockCheck& check : actions.checks) needed[check.clock] = true;
        for (ClockId clock = 0; clock < needed.size(); ++clock) {
          if (!needed[clock] || live_[state][clock]) continue;
          live_[state][clock] = true;
          changed = true;
        }
      }
    }
  }
}

TimedSetId TimedTable::intern(std::vector<StateId> states) {
  if (const auto found = ids_.find(states); found != ids_.end()) return found->second;
  if (sets_.size() >= state_count_max_) {
    throw Error(ErrorKind::kLimit, "the query's automaton grew past " +
                                       std::to_string(state_count_max_) +
                                       " determinized states (state_count_max)");
  }
  Set set{nullptr, {}, {}};
  for (ClockId clock = 0; clock < cea_.clock_count(); ++clock) {
    if (std::ranges::any_of(states, [&](StateId state) { return live_[state][clock]; })) {
      set.live.push_back(clock);
    }
  }
  const auto id = static_cast<TimedSetId>(sets_.size());
  set.states = &ids_.emplace(std::move(states), id).first->first;
  sets_.push_back(std::move(set));
  return id;
}

TimedSetId TimedTable::watch(TimedSetId before, ClassId cls) {
  TimedSteps& known = steps(before, cls);
  if (known.watched == kNoKind) {
    known.watched = intern(catena::watch(cea_, classes_, cls, states_of(before)));
  }
  return known.watched;
}

TimedSteps& TimedTable::steps(TimedSetId id, ClassId cls) {
  auto& steps = sets_[id].steps;
  if (steps.size() <= cls) steps.resize(cls + 1);
  if (!steps[cls]) steps[cls] = make_steps(id, cls);
  return *steps[cls];
}

std::unique_ptr<TimedSteps> TimedTable::make_steps(TimedSetId id, ClassId cls) const {
  auto made = std::make_unique<TimedSteps>();
  const std::vector<ClockId>& live = live_clocks(id);
  for (StateId source : states_of(id)) {
    for (const Transition& t : cea_.from(source)) {
      if (cea_.is_observer(t.target) || !is_open(t, classes_, cls)) continue;
      for (const ClockCheck& check : cea_.actions_of(t).checks) {
        const auto place = std::ranges::lower_bound(live, check.clock) - live.begin();
        made->checks.push_back({static_cast<ClockId>(place), check.interval});
      }
    }
  }
  std::ranges::sort(made->checks);
  made->checks.erase(std::ranges::unique(made->checks).begin(), made->checks.end());
  return made;
}

const TimedStep& TimedTable::step(TimedSetId id, ClassId cls, TimedSteps& steps,
                                  const std::vector<bool>& outcomes) {
  const auto found = steps.by_outcome.find(outcomes);
  if (found != steps.by_outcome.end()) return found->second;
  return steps.by_outcome.emplace(outcomes, make_step(id, cls, steps, outcomes)).first->second;
}

TimedStep TimedTable::make_step(TimedSetId id, ClassId cls, const TimedSteps& steps,
                                const std::vector<bool>& outcomes) {
  const std::vector<ClockId> live = live_clocks(id);
  const auto holds = [&](const ClockCheck& check) {
    const auto place = std::ranges::lower_bound(live, check.clock) - live.begin();
    const ClockCheck asked{static_cast<ClockId>(place), check.interval};
    return outcomes[static_cast<size_t>(std::ranges::lower_bound(steps.checks, asked) -
                                        steps.checks.begin())];
  };
  std::map<MarksId, Moves> by_marks;
  const std::vector<StateId> sources(states_of(id).begin(), states_of(id).end());
  for (StateId source : sources) {
    for (const Transition& t : cea_.from(source)) {
      if (cea_.is_observer(t.target) || !is_open(t, classes_, cls)) continue;
      const bool is_final = cea_.is_final(t.target);
      const bool has_future = cea_.has_future(t.target);
      const ClockActions& actions = cea_.actions_of(t);
      if ((!is_final && !has_future) || !std::ranges::all_of(actions.checks, holds)) continue;
      Moves& moves = by_marks[t.marks];
      moves.is_final |= is_final;
      if (!has_future) continue;
      std::vector<uint8_t> origins(cea_.clock_count(), kUnknown);
      for (ClockId clock = 0; clock < origins.size(); ++clock) {
        if (!live_[t.target][clock]) continue;
        const bool is_reset = std::ranges::binary_search(actions.resets, clock);
        origins[clock] = is_reset ? kReset : kKept;
      }
      add_state(moves.targets, t.target, origins);
    }
  }
  TimedStep step;
  for (auto& [marks, moves] : by_marks) {
    if (moves.targets.empty()) step.edges.push_back({marks, moves.is_final, kNoKind, {}});
    step.is_split |= moves.targets.size() > 1;
    bool is_first = true;
    for (Target& target : moves.targets) {
      step.edges.push_back(make_edge(id, marks, is_first && moves.is_final,
                                     std::move(target.states), target.origins));
      is_first = false;
    }
  }
  std::vector<uint32_t> unchanged;
  for (uint32_t i = 1; i <= live.size(); ++i) unchanged.push_back(i);
  step.is_identity = steps.checks.empty() && step.edges.size() == 1 &&
                     step.edges[0].marks == kNoMarks && !step.edges[0].is_final &&
                     step.edges[0].target == id && step.edges[0].clocks == unchanged;
  return step;
}

BundleEdge TimedTable::make_edge(TimedSetId source, MarksId marks, bool is_final,
                                 std::vector<StateId> states, const std::vector<uint8_t>& origins) {
  std::ranges::sort(states);
  states.erase(std::ranges::unique(states).begin(), states.end());
  BundleEdge edge{marks, is_final, intern(std::move(states)), {}};
  const std::vector<ClockId>& before = live_clocks(source);
  for (ClockId clock : live_clocks(edge.target)) {
    if (origins[clock] == kReset) {
      edge.clocks.push_back(this_row(static_cast<uint32_t>(cea_.kind_of(clock))));
    } else {
      const auto place = std::ranges::lower_bound(before, clock) - before.begin();
      edge.clocks.push_back(static_cast<uint32_t>(place) + 1);
    }
  }
  return edge;
}

}  // namespace catena
