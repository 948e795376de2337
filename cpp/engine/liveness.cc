#include "engine/liveness.h"

namespace catena {
namespace {

// What must be live before the transition, given what is after it.
std::vector<bool> live_before(const Cea& cea, const Transition& t, const std::vector<bool>& after) {
  const uint32_t clocks = cea.clock_count();
  const RegisterActions& actions = cea.register_actions_of(t);
  std::vector<bool> needed = after;
  const auto read = [&](const std::vector<RegisterId>& registers) {
    for (RegisterId id : registers) needed[clocks + id] = true;
  };
  for (ClockId clock : cea.actions_of(t).resets) needed[clock] = false;
  for (const ClockCheck& check : cea.actions_of(t).checks) needed[check.clock] = true;
  for (const RegisterUpdate& update : actions.updates) needed[clocks + update.target] = false;
  for (const RegisterUpdate& update : actions.updates) {
    if (after[clocks + update.target]) read(cea.update_reads()[update.update]);
  }
  for (ConditionId condition : actions.conditions) read(cea.condition_reads()[condition]);
  for (const std::vector<ConditionId>& several : actions.forbids) {
    for (ConditionId condition : several) read(cea.condition_reads()[condition]);
  }
  for (const Ask& ask : cea.asks_of(t)) read(ask.lends);
  return needed;
}

}  // namespace

std::vector<std::vector<bool>> live_values(const Cea& cea) {
  const uint32_t count = cea.clock_count() + cea.register_count();
  std::vector<std::vector<bool>> live(cea.state_count(), std::vector<bool>(count, false));
  for (bool changed = true; changed;) {
    changed = false;
    for (StateId state = 0; state < cea.state_count(); ++state) {
      for (const Transition& t : cea.from(state)) {
        const std::vector<bool> needed = live_before(cea, t, live[t.target]);
        for (uint32_t i = 0; i < count; ++i) {
          if (!needed[i] || live[state][i]) continue;
          live[state][i] = true;
          changed = true;
        }
      }
    }
  }
  return live;
}

}  // namespace catena
