#include "engine/maximal_contest.h"

#include <algorithm>
#include <array>

#include "engine/snapshot.h"

namespace catena {

MaximalContest::MaximalContest(const Cea& cea, const ClassTrie& classes, RegisterMachine& machine,
                               bool has_window, std::vector<ScopeContests*> scopes)
    : Contest(cea, classes, machine, has_window, std::move(scopes)), pairs_(cea) {}

void MaximalContest::select() {
  asked_.clear();
  equals_after_.clear();
  betters_after_.clear();
  hides_.clear();
  questions_.clear();
  answers_.clear();
  sets_.clear();
  standings_.clear();
  rivals_.assign(next_.size(), 0);
  hides_unmarked_ = false;
  const auto note = [&](const Move& move, uint8_t before) {
    const uint8_t after = move.is_marked ? kSomething : before;
    if (move.target != kNowhere) rivals_[move.target] |= after;
    if (move.is_final && (after & kSomething) != 0) hides_unmarked_ = true;
  };
  for (const Move& move : moves_of(kNotStarted)) note(move, kNothing);
  for (ConfigurationId id = 0; id < state_->configurations.size(); ++id) {
    for (const Move& move : moves_of(id)) note(move, state_->rivals[id]);
  }
  find_bases();
}

void MaximalContest::find_bases() {
  bases_.clear();
  base_.clear();
  if (!has_window_) return;
  for (ConfigurationId id = 0; id < next_.size(); ++id) {
    base_.push_back(bases_.find_or_add(base_of(next_[id])));
  }
  latest_.assign(bases_.size(), kNowhere);
  latest_marked_.assign(bases_.size(), kNowhere);
  for (ConfigurationId id = 0; id < next_.size(); ++id) {
    ConfigurationId& latest = latest_marked_[base_[id]];
    if ((rivals_[id] & kSomething) == 0) continue;
    if (latest == kNowhere || start_of(next_[id]) > start_of(next_[latest])) latest = id;
  }
}

// ---------------------------------------------------------------------------------------------
// Sets of rivals

// Whether a run in one configuration can do all that one in the other can, for as long.
bool MaximalContest::is_covered(ConfigurationId by, ConfigurationId target) const {
  if (!has_window_) return by == target;
  return base_[by] == base_[target] && start_of(next_[by]) >= start_of(next_[target]);
}

bool MaximalContest::is_beaten(ConfigurationId target,
                               std::span<const ConfigurationId> betters) const {
  if (!has_window_) return std::ranges::binary_search(betters, target);
  return std::ranges::any_of(betters, [&](ConfigurationId by) { return is_covered(by, target); });
}

// Sorts the set; of configurations that agree in all but their starts the latest stays.
void MaximalContest::keep_latest(Set& set) {
  if (has_window_) {
    for (ConfigurationId id : set) {
      ConfigurationId& latest = latest_[base_[id]];
      if (latest == kNowhere || is_covered(id, latest)) latest = id;
    }
    std::erase_if(set, [&](ConfigurationId id) { return latest_[base_[id]] != id; });
  }
  std::ranges::sort(set);
  set.erase(std::ranges::unique(set).begin(), set.end());
  if (has_window_) {
    for (ConfigurationId id : set) latest_[base_[id]] = kNowhere;
  }
}

void MaximalContest::move_all(ConfigurationId from, bool is_equal, bool is_marked, bool& hides) {
  for (const Move& move : moves_of(from)) {
    if (is_marked && !move.is_marked) continue;
    const bool stays_equal = is_equal && move.is_marked == is_marked;
    if (move.target != kNowhere) (stays_equal ? equals_ : betters_).push_back(move.target);
    if (!stays_equal && move.is_final) hides = true;
  }
}

// The place in `equals_after_` and `betters_after_` of what rivals become.
uint32_t MaximalContest::rivals_after(uint32_t equals, uint32_t betters, bool is_marked) {
  const std::array<uint32_t, 3> question{equals, betters, is_marked ? 1u : 0u};
  const uint32_t place = asked_.find_or_add(question);
  if (place < hides_.size()) return place;
  equals_.clear();
  betters_.clear();
  bool hides = false;
  if (equals == kOfAll) {
    move_all(kNotStarted, true, is_marked, hides);
    for (ConfigurationId id = 0; id < state_->rivals.size(); ++id) {
      if ((state_->rivals[id] & kNothing) != 0) move_all(id, true, is_marked, hides);
      if ((state_->rivals[id] & kSomething) != 0) move_all(id, false, is_marked, hides);
    }
  } else {
    for (ConfigurationId id : state_->sets[equals]) move_all(id, true, is_marked, hides);
    for (ConfigurationId id : state_->sets[betters]) move_all(id, false, is_marked, hides);
  }
  operations_ += 1 + equals_.size() + betters_.size();
  keep_latest(equals_);
  keep_latest(betters_);
  std::erase_if(equals_, [&](ConfigurationId id) { return is_beaten(id, betters_); });
  equals_after_.add(equals_);
  betters_after_.add(betters_);
  hides_.push_back(hides ? 1 : 0);
  return place;
}

// The set of those that can still get ahead of a run in the configuration.
uint32_t MaximalContest::kept_set(std::span<const ConfigurationId> set, ConfigurationId own,
                                  bool is_better) {
  const auto state_of = [&](ConfigurationId id) { return static_cast<StateId>(next_[id][0]); };
  kept_.clear();
  for (ConfigurationId id : set) {
    const bool matters = is_better ? pairs_.can_beat(state_of(own), state_of(id))
                                   : pairs_.can_overtake(state_of(own), state_of(id));
    if (matters) kept_.push_back(id);
  }
  operations_ += set.size();
  return sets_.find_or_add(kept_);
}

// ---------------------------------------------------------------------------------------------
// Standings

Followed MaximalContest::follow(Reference reference, uint32_t transition) {
  static constexpr std::array<uint32_t, 3> kFresh{kNotStarted, kOfAll, kOfAll};
  const std::span<const uint32_t> standing =
      reference == kNotStarted ? std::span(kFresh) : state_->standings[reference];
  const Move* move = find_move(standing[0], transition);
  if (!move) return {};
  const std::array<uint32_t, 2> question{reference, transition};
  const uint32_t place = questions_.find_or_add(question);
  if (place == answers_.size()) answers_.push_back(make_followed(standing, *move));
  return answers_[place];
}

Followed MaximalContest::make_followed(std::span<const uint32_t> standing, const Move& move) {
  if (standing[1] == kOfAll && !move.is_marked) {
    Followed followed{move.is_final && !hides_unmarked_, kNowhere};
    if (move.target == kNowhere) return followed;
    const bool is_beaten = has_window_
                               ? latest_marked_[base_[move.target]] != kNowhere &&
                                     is_covered(latest_marked_[base_[move.target]], move.target)
                               : (rivals_[move.target] & kSomething) != 0;
    const std::array<uint32_t, 3> after{move.target, kOfAll, kOfAll};
    if (!is_beaten) followed.target = standings_.find_or_add(after);
    return followed;
  }
  const uint32_t rivals = rivals_after(standing[1], standing[2], move.is_marked);
  Followed followed{move.is_final && hides_[rivals] == 0, kNowhere};
  if (move.target == kNowhere || is_beaten(move.target, betters_after_[rivals])) return followed;
  const std::array<uint32_t, 3> after{move.target,
                                      kept_set(equals_after_[rivals], move.target, false),
                                      kept_set(betters_after_[rivals], move.target, true)};
  followed.target = standings_.find_or_add(after);
  return followed;
}

void MaximalContest::close(ContestState& state) {
  close_configurations(state, next_.all());
  state.rivals.assign(rivals_.begin(), rivals_.end());
  state.sets.copy(sets_.all());
  state.standings.copy(standings_.all());
}

// ---------------------------------------------------------------------------------------------
// Snapshots

void MaximalContest::write_more(const ContestState& state, ByteWriter& out) const {
  for (uint8_t rivals : state.rivals) out.u8(rivals);
  out.u64(state.sets.size());
  for (uint32_t i = 0; i < state.sets.size(); ++i) {
    out.u64(state.sets[i].size());
    for (ConfigurationId id : state.sets[i]) out.u32(id);
  }
  out.u64(state.standings.size());
  for (uint32_t i = 0; i < state.standings.size(); ++i) {
    for (uint32_t value : state.standings[i]) out.u32(value);
  }
}

void MaximalContest::read_more(ByteReader& in, ContestState& state) const {
  const uint32_t count = state.configurations.size();
  for (ConfigurationId id = 0; id < count; ++id) {
    state.rivals.push_back(in.u8());
    require_intact(state.rivals.back() >= kNothing && state.rivals.back() <= 3,
                   "a rival has marked neither something nor nothing");
  }
  std::vector<uint32_t> values;
  const uint64_t set_count = in.count(8);
  for (uint64_t i = 0; i < set_count; ++i) {
    values.resize(in.count(4));
    for (uint32_t& value : values) value = in.u32();
    const bool is_sorted =
        std::ranges::adjacent_find(values, std::ranges::greater_equal{}) == values.end();
    require_intact(is_sorted && (values.empty() || values.back() < count),
                   "a set of rivals is out of order or range");
    state.sets.add(values);
  }
  const uint64_t standing_count = in.count(12);
  values.resize(3);
  for (uint64_t i = 0; i < standing_count; ++i) {
    for (uint32_t& value : values) value = in.u32();
    const bool is_fresh = values[1] == kOfAll && values[2] == kOfAll;
    require_intact(
        values[0] < count && (is_fresh || (values[1] < set_count && values[2] < set_count)),
        "a standing is out of range");
    state.standings.add(values);
  }
}

}  // namespace catena
