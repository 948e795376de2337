#include "engine/valuation.h"

#include <algorithm>
#include <cassert>

#include "engine/liveness.h"

namespace catena {

Valuation::Valuation(const Cea& cea, RegisterMachine& machine)
    : cea_(cea), machine_(machine), live_(live_values(cea)) {
  const uint32_t clocks = cea.clock_count();
  blank_.assign(clocks, kNeverReset);
  layout_.offsets.assign(cea.register_count(), RegisterLayout::kAbsent);
  for (RegisterId id = 0; id < cea.register_count(); ++id) {
    if (std::ranges::none_of(live_, [&](const auto& live) { return live[clocks + id]; })) continue;
    layout_.offsets[id] = static_cast<uint32_t>(blank_.size());
    registers_.push_back(id);
    append_register({}, blank_);
  }
}

void Valuation::begin_with(const std::vector<RegisterId>& registers, std::span<const Clock> lent,
                           std::span<Clock> words) const {
  for (size_t i = 0; i < registers.size(); ++i) {
    const uint32_t at = layout_.offsets[registers[i]];
    if (at == RegisterLayout::kAbsent) continue;
    std::ranges::copy(lent.subspan(i * kRegisterWords, kRegisterWords), words.begin() + at);
  }
}

void Valuation::bind(const std::vector<Interval>& intervals) {
  assert(intervals.size() == cea_.interval_count());
  intervals_ = intervals;
  needs_ = ClockNeeds(cea_, intervals_);
}

bool Valuation::may_take(const Transition& t, std::span<const Clock> words, const Row& row) const {
  const auto passes = [&](const ClockCheck& check) {
    const Clock then = words[check.clock];
    const Clock now = row.on(cea_.kind_of(check.clock));
    return then != kNeverReset && intervals_[check.interval].contains(then, now);
  };
  const auto holds = [&](ConditionId condition) { return machine_.holds(condition, view(words)); };
  const auto all_hold = [&](const std::vector<ConditionId>& conditions) {
    return std::ranges::all_of(conditions, holds);
  };
  const RegisterActions& actions = cea_.register_actions_of(t);
  return std::ranges::all_of(cea_.actions_of(t).checks, passes) && all_hold(actions.conditions) &&
         std::ranges::none_of(actions.forbids, all_hold);
}

void Valuation::take(const Transition& t, std::span<const Clock> words, const Row& row,
                     std::vector<Clock>& after) const {
  const size_t begin = after.size();
  const std::vector<bool>& live = live_[t.target];
  const uint32_t clocks = cea_.clock_count();
  after.insert(after.end(), words.begin(), words.end());
  for (ClockId clock : cea_.actions_of(t).resets)
    after[begin + clock] = row.on(cea_.kind_of(clock));
  for (ClockId clock = 0; clock < clocks; ++clock) {
    if (!live[clock]) after[begin + clock] = kNeverReset;
  }
  const auto put = [&](RegisterId id, const Value& value) {
    write_register(value, std::span(after).subspan(begin + layout_.offsets[id]));
  };
  for (const RegisterUpdate& update : cea_.register_actions_of(t).updates) {
    if (live[clocks + update.target]) {
      put(update.target, machine_.updated(update.update, view(words)));
    }
  }
  for (RegisterId id : registers_) {
    if (!live[clocks + id]) put(id, {});
  }
}

bool Valuation::is_late(StateId state, std::span<const Clock> words,
                        std::span<const Clock> now) const {
  for (ClockId clock = 0; clock < cea_.clock_count(); ++clock) {
    const uint32_t need = needs_.of(state, clock);
    if (!live_[state][clock] || need == ClockNeeds::kForEver) continue;
    if (need == ClockNeeds::kNever) return true;
    if (intervals_[need].is_past(words[clock], now[static_cast<size_t>(cea_.kind_of(clock))])) {
      return true;
    }
  }
  return false;
}

}  // namespace catena
