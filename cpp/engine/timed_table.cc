#include "engine/timed_table.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "engine/absences.h"
#include "engine/liveness.h"

namespace catena {
namespace {

// Where a value in a target comes from; an update u is kUpdate + u.
enum : uint32_t { kNotLive, kKept, kReset, kUpdate };

// States that one valuation can stand for.
struct Target {
  std::vector<StateId> states;
  std::vector<uint32_t> origins;  // By clock, then by register.
};

bool are_compatible(const std::vector<uint32_t>& one, const std::vector<uint32_t>& other) {
  for (size_t i = 0; i < one.size(); ++i) {
    if (one[i] != kNotLive && other[i] != kNotLive && one[i] != other[i]) return false;
  }
  return true;
}

// Puts a state into the first target that its values agree with.
void add_state(std::vector<Target>& targets, StateId state, const std::vector<uint32_t>& origins) {
  auto place = std::ranges::find_if(
      targets, [&](const Target& target) { return are_compatible(target.origins, origins); });
  if (place == targets.end()) {
    targets.push_back({{}, std::vector<uint32_t>(origins.size(), kNotLive)});
    place = targets.end() - 1;
  }
  place->states.push_back(state);
  for (size_t i = 0; i < origins.size(); ++i) {
    if (origins[i] != kNotLive) place->origins[i] = origins[i];
  }
}

struct Moves {
  std::vector<Target> targets;
  bool is_final = false;
};

}  // namespace

TimedTable::TimedTable(const Cea& cea, const ClassTrie& classes, uint32_t state_count_max)
    : cea_(cea), classes_(classes), state_count_max_(state_count_max), live_(live_values(cea)) {
  std::vector<StateId> initial = cea.initial();
  std::ranges::sort(initial);
  initial.erase(std::ranges::unique(initial).begin(), initial.end());
  initial_ = intern(std::move(initial));
}

TimedSetId TimedTable::intern(std::vector<StateId> states) {
  if (const auto found = ids_.find(states); found != ids_.end()) return found->second;
  if (sets_.size() >= state_count_max_) {
    throw Error(ErrorKind::kLimit, "the query's automaton grew past " +
                                       std::to_string(state_count_max_) +
                                       " determinized states (state_count_max)");
  }
  const auto id = static_cast<TimedSetId>(sets_.size());
  Set set{};
  const auto is_live = [&](uint32_t value) {
    return std::ranges::any_of(states, [&](StateId state) { return live_[state][value]; });
  };
  for (ClockId clock = 0; clock < cea_.clock_count(); ++clock) {
    if (is_live(clock)) set.live.push_back(clock);
  }
  set.layout.offsets.assign(cea_.register_count(), RegisterLayout::kAbsent);
  auto word = static_cast<uint32_t>(set.live.size());
  for (RegisterId reg = 0; reg < cea_.register_count(); ++reg) {
    if (!is_live(cea_.clock_count() + reg)) continue;
    set.registers.push_back(reg);
    set.layout.offsets[reg] = word;
    word += kRegisterWords;
  }
  BundleEdge rest{kNoMarks, false, id, {}};
  for (uint32_t i = 1; i <= word; ++i) rest.clocks.push_back(i);
  set.resting.edges.push_back(std::move(rest));
  set.resting.is_identity = true;
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
  if (!steps[cls]) {
    auto made = make_steps(id, cls);  // Making steps makes sets, which may move `steps`.
    sets_[id].steps[cls] = std::move(made);
  }
  return *sets_[id].steps[cls];
}

std::unique_ptr<TimedSteps> TimedTable::make_steps(TimedSetId id, ClassId cls) {
  auto made = std::make_unique<TimedSteps>();
  const std::vector<ClockId> live = live_clocks(id);
  for (StateId source : states_of(id)) {
    for (const Transition& t : cea_.from(source)) {
      if (cea_.is_observer(t.target) || !is_open(t, classes_, cls)) continue;
      const std::vector<ConditionId>& asked = cea_.register_actions_of(t).conditions;
      made->conditions.insert(made->conditions.end(), asked.begin(), asked.end());
      if (!asked.empty() || !cea_.actions_of(t).checks.empty()) made->asked.push_back(asked);
      for (const std::vector<ConditionId>& several : cea_.register_actions_of(t).forbids) {
        if (std::ranges::any_of(several, [&](ConditionId c) { return never_holds(c, cls); })) {
          continue;
        }
        made->conditions.insert(made->conditions.end(), several.begin(), several.end());
        made->asked.push_back(several);
      }
      for (const ClockCheck& check : cea_.actions_of(t).checks) {
        const auto place = std::ranges::lower_bound(live, check.clock) - live.begin();
        made->checks.push_back({static_cast<ClockId>(place), check.interval});
      }
    }
  }
  std::ranges::sort(made->checks);
  made->checks.erase(std::ranges::unique(made->checks).begin(), made->checks.end());
  std::ranges::sort(made->conditions);
  made->conditions.erase(std::ranges::unique(made->conditions).begin(), made->conditions.end());
  const std::vector<bool> nothing(made->checks.size() + made->conditions.size(), false);
  made->rests = step(id, cls, *made, nothing).is_identity;
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
  const auto is_satisfied = [&](ConditionId condition) {
    const auto place =
        std::ranges::lower_bound(steps.conditions, condition) - steps.conditions.begin();
    const auto at = static_cast<size_t>(place);
    const bool is_asked = at < steps.conditions.size() && steps.conditions[at] == condition;
    return is_asked && outcomes[steps.checks.size() + at];  // Else it never holds.
  };
  const auto all_hold = [&](const std::vector<ConditionId>& conditions) {
    return std::ranges::all_of(conditions, is_satisfied);
  };
  std::map<MarksId, Moves> by_marks;
  const std::vector<StateId> sources(states_of(id).begin(), states_of(id).end());
  for (StateId source : sources) {
    for (const Transition& t : cea_.from(source)) {
      if (cea_.is_observer(t.target) || !is_open(t, classes_, cls)) continue;
      const bool is_final = cea_.is_final(t.target);
      const bool has_future = cea_.has_future(t.target);
      if ((!is_final && !has_future) || !std::ranges::all_of(cea_.actions_of(t).checks, holds) ||
          !all_hold(cea_.register_actions_of(t).conditions) ||
          std::ranges::any_of(cea_.register_actions_of(t).forbids, all_hold)) {
        continue;
      }
      Moves& moves = by_marks[t.marks];
      moves.is_final |= is_final;
      if (has_future) add_state(moves.targets, t.target, origins_of(t, cls));
    }
  }
  TimedStep step;
  for (auto& [marks, moves] : by_marks) {
    if (moves.targets.empty()) step.edges.push_back({marks, moves.is_final, kNoKind, {}});
    step.is_split |= moves.targets.size() > 1;
    bool is_first = true;
    for (Target& target : moves.targets) {
      step.edges.push_back(make_edge(id, marks, is_first && moves.is_final,
                                     std::move(target.states), target.origins, step));
      is_first = false;
    }
  }
  const BundleEdge& rest = resting(id).edges[0];
  step.is_identity = step.edges.size() == 1 && step.edges[0].marks == kNoMarks &&
                     !step.edges[0].is_final && step.edges[0].target == id &&
                     step.edges[0].clocks == rest.clocks;
  return step;
}

// What asks whether an open match ends, on rows that leave open matches alone.
bool TimedTable::never_holds(ConditionId condition, ClassId cls) const {
  const std::optional<Follow>& follow = cea_.condition_follow(condition);
  return follow && rests(*cea_.absences()[follow->absence].operand, follow->entry, classes_, cls);
}

// What takes open matches on, the same.
bool TimedTable::changes_nothing(const RegisterUpdate& update, ClassId cls) const {
  const std::optional<Follow>& follow = cea_.update_follow(update.update);
  return follow && follow->before == update.target &&
         rests(*cea_.absences()[follow->absence].operand, follow->entry, classes_, cls);
}

std::vector<TimedTable::Origin> TimedTable::origins_of(const Transition& t, ClassId cls) const {
  const std::vector<bool>& live = live_[t.target];
  std::vector<Origin> origins(live.size(), kNotLive);
  for (size_t i = 0; i < live.size(); ++i) {
    if (live[i]) origins[i] = kKept;
  }
  for (ClockId clock : cea_.actions_of(t).resets) {
    if (live[clock]) origins[clock] = kReset;
  }
  for (const RegisterUpdate& update : cea_.register_actions_of(t).updates) {
    const uint32_t place = cea_.clock_count() + update.target;
    if (live[place] && !changes_nothing(update, cls)) origins[place] = kUpdate + update.update;
  }
  return origins;
}

BundleEdge TimedTable::make_edge(TimedSetId source, MarksId marks, bool is_final,
                                 std::vector<StateId> states, const std::vector<Origin>& origins,
                                 TimedStep& step) {
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
  for (RegisterId reg : live_registers(edge.target)) {
    const Origin origin = origins[cea_.clock_count() + reg];
    if (origin == kKept) {
      const uint32_t word = layout(source).offsets[reg];
      for (uint32_t i = 0; i < kRegisterWords; ++i) edge.clocks.push_back(word + i + 1);
      continue;
    }
    const auto found = std::ranges::find(step.updates, origin - kUpdate);
    const auto place = static_cast<uint32_t>(found - step.updates.begin());
    if (found == step.updates.end()) step.updates.push_back(origin - kUpdate);
    for (uint32_t i = 0; i < kRegisterWords; ++i) {
      edge.clocks.push_back(this_row(word_of_update(place) + i));
    }
  }
  return edge;
}

}  // namespace catena
