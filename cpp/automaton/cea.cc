#include "automaton/cea.h"

#include <algorithm>

#include "base/error.h"

namespace catena {
namespace {

void require(bool condition, const char* what) {
  if (!condition) throw Error(ErrorKind::kUser, what);
}

}  // namespace

Cea::Cea(uint32_t state_count, std::vector<StateId> initial, std::vector<StateId> final,
         std::vector<Transition> transitions, std::vector<std::vector<VariableId>> marks,
         uint32_t variable_count, uint32_t guard_count, const std::vector<StateId>& observers,
         Clocks clocks, Registers registers, Scopes scopes)
    : initial_(std::move(initial)),
      is_final_(state_count, false),
      is_observer_(state_count, false),
      has_future_(state_count, false),
      transitions_(std::move(transitions)),
      marks_(std::move(marks)),
      variable_count_(variable_count),
      guard_count_(guard_count),
      clocks_(std::move(clocks)),
      registers_(std::move(registers)),
      scopes_(std::move(scopes)) {
  for (StateId state : observers) {
    require(state < state_count, "an observer is out of range");
    is_observer_[state] = true;
  }
  validate(final);
  validate_clocks();
  registers_.actions.resize(std::max(registers_.actions.size(), clocks_.actions.size()));
  registers_.condition_follows.resize(registers_.condition_reads.size());
  registers_.update_follows.resize(registers_.update_reads.size());
  validate_registers();
  validate_absences();
  validate_scopes();
  for (StateId state : final) is_final_[state] = true;
  std::ranges::stable_sort(transitions_, {}, &Transition::source);
  first_transition_.assign(state_count + 1, 0);
  for (const Transition& t : transitions_) ++first_transition_[t.source + 1];
  for (uint32_t i = 0; i < state_count; ++i) first_transition_[i + 1] += first_transition_[i];
  find_states_with_future();
}

std::span<const Transition> Cea::from(StateId state) const {
  return std::span(transitions_)
      .subspan(first_transition_[state], first_transition_[state + 1] - first_transition_[state]);
}

void Cea::validate(const std::vector<StateId>& final) const {
  const uint32_t states = state_count();
  require(!marks_.empty() && marks_[0].empty(), "the first set of marks must be empty");
  for (StateId state : initial_) require(state < states, "an initial state is out of range");
  for (StateId state : final) {
    require(state < states && !is_observer_[state], "a final state is out of range");
  }
  for (const Transition& t : transitions_) {
    require(t.source < states && t.target < states, "a transition's state is out of range");
    require(t.guard == kTrueGuard || t.guard < guard_count_, "a guard is out of range");
    require(t.marks < marks_.size(), "a set of marks is out of range");
    require(t.is_marked || t.marks == kNoMarks, "a transition shows marks that it does not set");
    require(!is_observer_[t.target] || (is_observer_[t.source] && !t.is_marked),
            "only an observer may lead to an observer, without marks");
  }
  for (const auto& variables : marks_) {
    require(std::ranges::adjacent_find(variables, std::ranges::greater_equal{}) == variables.end(),
            "a set of marks must be sorted and without repetition");
    for (VariableId v : variables) require(v < variable_count_, "a variable is out of range");
  }
}

void Cea::validate_clocks() const {
  require(!clocks_.actions.empty() && clocks_.actions[0].checks.empty() &&
              clocks_.actions[0].resets.empty(),
          "the first clock actions must be none");
  require(!clocks_.is_monotonic || clock_count() <= kMonotonicClocksMax,
          "a monotonic automaton has too many clocks");
  for (const Transition& t : transitions_) {
    require(t.actions < clocks_.actions.size(), "clock actions are out of range");
  }
  for (const ClockActions& actions : clocks_.actions) {
    for (const ClockCheck& check : actions.checks) {
      require(check.clock < clock_count() && check.interval < clocks_.interval_count,
              "a clock or an interval is out of range");
    }
    for (ClockId clock : actions.resets) require(clock < clock_count(), "a clock is out of range");
    require(std::ranges::adjacent_find(actions.resets, std::ranges::greater_equal{}) ==
                actions.resets.end(),
            "resets must be sorted and without repetition");
  }
}

void Cea::validate_registers() const {
  require(registers_.actions.size() == clocks_.actions.size() &&
              registers_.actions[0].conditions.empty() && registers_.actions[0].updates.empty(),
          "the first register actions must be none");
  for (const auto* reads : {&registers_.condition_reads, &registers_.update_reads}) {
    for (const std::vector<RegisterId>& several : *reads) {
      for (RegisterId id : several) require(id < registers_.count, "a register is out of range");
    }
  }
  for (UpdateId update : registers_.history) {
    require(update < registers_.update_reads.size(), "an update is out of range");
  }
  for (const RegisterActions& actions : registers_.actions) {
    std::vector<std::vector<ConditionId>> asked = actions.forbids;
    asked.push_back(actions.conditions);
    for (const std::vector<ConditionId>& several : asked) {
      for (ConditionId condition : several) {
        require(condition < registers_.condition_reads.size(), "a condition is out of range");
      }
    }
    for (const RegisterUpdate& update : actions.updates) {
      require(update.target < registers_.count && update.update < registers_.update_reads.size(),
              "a register or an update is out of range");
    }
    require(std::ranges::adjacent_find(actions.updates, std::ranges::greater_equal{},
                                       &RegisterUpdate::target) == actions.updates.end(),
            "updates must be sorted and without repetition");
  }
}

// Automata of absences say what they ask of absences, but only the outermost one knows these.
void Cea::validate_absences() const {
  for (const Absence& absence : registers_.absences) {
    validate_absence(*absence.operand);
    if (absence.replayed) validate_absence(*absence.replayed);
  }
  if (registers_.absences.empty()) return;
  for (const auto* follows : {&registers_.condition_follows, &registers_.update_follows}) {
    for (const std::optional<Follow>& follow : *follows) {
      if (!follow) continue;
      require(follow->absence < registers_.absences.size() &&
                  (follow->entry == kNoState ||
                   follow->entry < registers_.absences[follow->absence].operand->state_count()) &&
                  (follow->before == kNoRegister || follow->before < registers_.count),
              "an absence, its state or its register is out of range");
    }
  }
}

void Cea::validate_absence(const Cea& absence) const {
  require(absence.guard_count_ == guard_count_ &&
              absence.clocks_.interval_count == clocks_.interval_count &&
              absence.registers_.count == registers_.count &&
              absence.registers_.condition_reads == registers_.condition_reads &&
              absence.registers_.update_reads == registers_.update_reads,
          "an absence has guards, intervals or registers of its own");
  require(absence.scopes_.all.empty() && absence.registers_.absences.empty(),
          "an absence has scopes, or absences of its own");
  for (StateId state = 0; state < absence.state_count(); ++state) {
    require(!absence.is_observer(state), "an absence has observers");
  }
}

void Cea::validate_scopes() const {
  require(!scopes_.asks.empty() && scopes_.asks[0].empty(), "the first asks must be none");
  for (const Transition& t : transitions_) {
    require(t.asks < scopes_.asks.size(), "what a transition asks is out of range");
  }
  for (const Scope& scope : scopes_.all) {
    require(scope.strategy != Strategy::kAll, "a scope's strategy must compare");
    validate_operand(*scope.operand);
    require((scope.replayed != nullptr) == !scope.lent.empty(),
            "a scope that is lent registers needs an automaton that reads rows again");
    if (scope.replayed) validate_operand(*scope.replayed);
    for (RegisterId id : scope.lent) require(id < registers_.count, "a register is out of range");
  }
  for (const auto& asks : scopes_.asks) {
    for (const Ask& ask : asks) {
      require(ask.scope < scopes_.all.size() &&
                  ask.transition < scopes_.all[ask.scope].operand->transitions_.size(),
              "a scope or a transition of its operand is out of range");
      const Scope& scope = scopes_.all[ask.scope];
      const Cea& operand = *scope.operand;
      const bool opens = operand.transitions_[ask.transition].source == operand.initial_[0];
      require(ask.lends.size() == (opens ? scope.lent.size() : 0),
              "a scope is not lent its registers");
      for (RegisterId id : ask.lends) require(id < registers_.count, "a register is out of range");
    }
  }
}

void Cea::validate_operand(const Cea& operand) const {
  require(operand.guard_count_ == guard_count_ &&
              operand.clocks_.interval_count == clocks_.interval_count,
          "a scope has guards or intervals of its own");
  require(operand.registers_.count == registers_.count &&
              operand.registers_.condition_reads == registers_.condition_reads &&
              operand.registers_.update_reads == registers_.update_reads &&
              operand.registers_.condition_follows == registers_.condition_follows &&
              operand.registers_.update_follows == registers_.update_follows,
          "a scope has registers, conditions or updates of its own");
  require(operand.registers_.absences.empty(), "a scope has absences of its own");
  require(operand.initial_.size() == 1, "a scope's operand must have one initial state");
  for (const Transition& t : operand.transitions_) {
    require(t.target != operand.initial_[0] && !operand.is_final(t.source),
            "a scope's operand goes on from its end or back to its beginning");
  }
  for (StateId state = 0; state < operand.state_count(); ++state) {
    require(!operand.is_observer(state), "a scope's operand has observers");
  }
}

// A fixed point over the transitions; automata are small and this runs once.
void Cea::find_states_with_future() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const Transition& t : transitions_) {
      if (has_future_[t.source] || !(is_final_[t.target] || has_future_[t.target])) continue;
      has_future_[t.source] = true;
      changed = true;
    }
  }
}

std::vector<StateId> watch(const Cea& cea, const ClassTrie& classes, ClassId cls,
                           std::span<const StateId> before) {
  std::vector<StateId> next;
  for (StateId source : before) {
    const size_t count_before = next.size();
    for (const Transition& t : cea.from(source)) {
      if (cea.is_observer(t.target) && is_open(t, classes, cls)) next.push_back(t.target);
    }
    if (next.size() == count_before) next.push_back(source);
  }
  std::ranges::sort(next);
  next.erase(std::ranges::unique(next).begin(), next.end());
  return next;
}

}  // namespace catena
