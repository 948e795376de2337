#include "engine/valuation.h"

#include <algorithm>
#include <cassert>

namespace catena {

Valuation::Valuation(const Cea& cea) : cea_(cea), live_(live_clocks(cea)) {}

void Valuation::bind(const std::vector<Interval>& intervals) {
  assert(intervals.size() == cea_.interval_count());
  intervals_ = intervals;
  needs_ = ClockNeeds(cea_, intervals_);
}

Clock Valuation::now(ClockId clock, const Row& row) const { return row.on(cea_.kind_of(clock)); }

bool Valuation::may_take(const Transition& t, std::span<const Clock> values, const Row& row) const {
  return std::ranges::all_of(cea_.actions_of(t).checks, [&](const ClockCheck& check) {
    const Clock then = values[check.clock];
    return then != kBlank && intervals_[check.interval].contains(then, now(check.clock, row));
  });
}

void Valuation::take(const Transition& t, std::span<const Clock> values, const Row& row,
                     std::vector<Clock>& after) const {
  const size_t begin = after.size();
  after.insert(after.end(), values.begin(), values.end());
  for (ClockId clock : cea_.actions_of(t).resets) after[begin + clock] = now(clock, row);
  for (ClockId clock = 0; clock < values.size(); ++clock) {
    if (!live_[t.target][clock]) after[begin + clock] = kBlank;
  }
}

bool Valuation::is_late(StateId state, std::span<const Clock> values, const Row& row) const {
  for (ClockId clock = 0; clock < values.size(); ++clock) {
    const uint32_t need = needs_.of(state, clock);
    if (!live_[state][clock] || need == ClockNeeds::kForEver) continue;
    if (need == ClockNeeds::kNever || intervals_[need].is_past(values[clock], now(clock, row)))
      return true;
  }
  return false;
}

}  // namespace catena
