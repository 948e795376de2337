#include "engine/clock_needs.h"

#include <algorithm>

namespace catena {

uint32_t ClockNeeds::later(uint32_t a, uint32_t b) const {
  if (a == kForEver || b == kNever) return a;
  if (b == kForEver || a == kNever) return b;
  return (*intervals_)[b].ends_after((*intervals_)[a]) ? b : a;
}

// Until when a run that waits for this transition can use the clock's present value.
uint32_t ClockNeeds::along(const Transition& t, ClockId clock) const {
  const ClockActions& actions = cea_->actions_of(t);
  const bool is_reset = std::ranges::binary_search(actions.resets, clock);
  uint32_t need = cea_->is_final(t.target) || is_reset ? kForEver : needs_[t.target][clock];
  if (is_reset && !cea_->is_final(t.target) && !cea_->has_future(t.target)) need = kNever;
  for (const ClockCheck& check : actions.checks) {
    if (check.clock == clock) need = earlier(need, check.interval);
  }
  return need;
}

// The least fixed point: what leads to no match needs nothing.
ClockNeeds::ClockNeeds(const Cea& cea, const std::vector<Interval>& intervals)
    : cea_(&cea),
      intervals_(&intervals),
      needs_(cea.state_count(), std::vector<uint32_t>(cea.clock_count(), kNever)) {
  for (bool changed = true; changed;) {
    changed = false;
    for (StateId state = 0; state < cea.state_count(); ++state) {
      for (const Transition& t : cea.from(state)) {
        for (ClockId clock = 0; clock < cea.clock_count(); ++clock) {
          uint32_t& need = needs_[state][clock];
          const uint32_t longest = later(need, along(t, clock));
          changed |= longest != need;
          need = longest;
        }
      }
    }
  }
}

}  // namespace catena
