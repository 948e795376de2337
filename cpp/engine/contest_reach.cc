#include "engine/contest_reach.h"

#include <algorithm>
#include <map>

#include "engine/liveness.h"

namespace catena {

ContestReach::ContestReach(const Cea& cea, const ClassTrie& classes)
    : cea_(cea), classes_(classes), live_(live_values(cea)) {}

void ContestReach::bind(const std::vector<Interval>& intervals) {
  intervals_ = intervals;
  needs_ = ClockNeeds(cea_, intervals_);
}

bool ContestReach::is_bounded() const {
  for (StateId state = 0; state < cea_.state_count(); ++state) {
    if (state == cea_.initial()[0] || !cea_.has_future(state)) continue;
    bool ends = false;
    for (ClockId clock = 0; clock < cea_.clock_count(); ++clock) {
      const uint32_t need = needs_.of(state, clock);
      if (!live_[state][clock] || need == ClockNeeds::kForEver) continue;
      ends |= need == ClockNeeds::kNever || intervals_[need].is_bounded_above();
    }
    if (!ends) return false;
  }
  return true;
}

bool ContestReach::passes(const Transition& t, std::span<const Clock> clocks,
                          const Row& row) const {
  return std::ranges::all_of(cea_.actions_of(t).checks, [&](const ClockCheck& check) {
    const Clock then = clocks[check.clock];
    return then != kClockMin &&
           intervals_[check.interval].contains(then, row.on(cea_.kind_of(check.clock)));
  });
}

bool ContestReach::is_late(StateId state, std::span<const Clock> clocks, const Row& row) const {
  for (ClockId clock = 0; clock < clocks.size(); ++clock) {
    const uint32_t need = needs_.of(state, clock);
    if (!live_[state][clock] || need == ClockNeeds::kForEver) continue;
    if (need == ClockNeeds::kNever) return true;
    if (intervals_[need].is_past(clocks[clock], row.on(cea_.kind_of(clock)))) return true;
  }
  return false;
}

uint32_t ContestReach::first_needed(const ContestHistory& history) const {
  using Configuration = std::pair<StateId, std::vector<Clock>>;
  std::map<Configuration, uint32_t> open;  // With the first row that a run in it began at.
  const Configuration starting{cea_.initial()[0],
                               std::vector<Clock>(cea_.clock_count(), kClockMin)};
  for (uint32_t place = 0; place < history.size(); ++place) {
    const Row row = history.row(place);
    std::map<Configuration, uint32_t> after;
    const auto take = [&](const Configuration& from, uint32_t begin) {
      for (const Transition& t : cea_.from(from.first)) {
        if (!cea_.has_future(t.target) || !is_open(t, classes_, history.class_of(place))) continue;
        if (!passes(t, from.second, row)) continue;
        Configuration target{t.target, from.second};
        for (ClockId clock : cea_.actions_of(t).resets) {
          target.second[clock] = row.on(cea_.kind_of(clock));
        }
        for (ClockId clock = 0; clock < target.second.size(); ++clock) {
          if (!live_[t.target][clock]) target.second[clock] = kClockMin;
        }
        const auto [found, is_new] = after.emplace(std::move(target), begin);
        if (!is_new) found->second = std::min(found->second, begin);
      }
    };
    for (const auto& [configuration, begin] : open) {
      if (!is_late(configuration.first, configuration.second, row)) take(configuration, begin);
    }
    take(starting, place);
    open = std::move(after);
  }
  uint32_t first = history.size();
  for (const auto& [configuration, begin] : open) first = std::min(first, begin);
  return first;
}

}  // namespace catena
