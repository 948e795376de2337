#include "engine/max_standing.h"

#include <algorithm>
#include <tuple>

namespace catena {
namespace {

void sort_and_unite(std::vector<StateId>& states) {
  std::ranges::sort(states);
  states.erase(std::ranges::unique(states).begin(), states.end());
}

template <typename Visit>
void for_each_rival(Standing& standing, Visit visit) {
  for (Member& member : standing.members) {
    for (Ranked& entry : member.equals) visit(entry);
    for (Ranked& entry : member.betters) visit(entry);
  }
}

auto rivals_of(const Member& member) {
  return std::tie(member.is_unmarked, member.equals, member.betters);
}

}  // namespace

RankTable::RankTable(uint32_t state_count, std::span<const Ranked> entries)
    : RankTable(state_count) {
  for (const Ranked& entry : entries) add(entry.state, entry.rank);
}

void RankTable::add(StateId state, uint32_t rank) { ranks_[state] = std::min(ranks_[state], rank); }

void RankTable::add(const RankTable& other) {
  for (StateId state = 0; state < size(); ++state) add(state, other[state]);
}

Member settled(const Cea& cea, const Rivals& rivals, std::vector<StateId> runs,
               const RankTable& equals, const RankTable& betters) {
  Member member;
  std::erase_if(runs, [&](StateId p) {
    return p != rivals.waiting() && (!cea.has_future(p) || betters[p] == 0);
  });
  sort_and_unite(runs);
  for (StateId q = 0; q < cea.state_count(); ++q) {
    if (!cea.has_future(q)) continue;
    const auto can_beat = [&](StateId p) { return rivals.can_beat(p, q); };
    const auto can_overtake = [&](StateId p) { return rivals.can_overtake(p, q); };
    if (betters[q] != RankTable::kAbsent && std::ranges::any_of(runs, can_beat)) {
      member.betters.push_back({q, betters[q]});
    }
    if (equals[q] < betters[q] && std::ranges::any_of(runs, can_overtake)) {
      member.equals.push_back({q, equals[q]});
    }
  }
  member.runs = std::move(runs);
  return member;
}

void unite_members(Standing& standing) {
  std::vector<Member>& members = standing.members;
  std::ranges::sort(members);
  size_t kept = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    if (kept > 0 && rivals_of(members[kept - 1]) == rivals_of(members[i])) {
      std::vector<StateId>& runs = members[kept - 1].runs;
      runs.insert(runs.end(), members[i].runs.begin(), members[i].runs.end());
      sort_and_unite(runs);
    } else {
      if (kept != i) members[kept] = std::move(members[i]);
      ++kept;
    }
  }
  members.resize(kept);
}

std::vector<uint32_t> close_ranks(Standing& standing, bool ages) {
  std::vector<uint32_t> former;
  for_each_rival(standing, [&](const Ranked& entry) {
    if (ages || entry.rank > 0) former.push_back(entry.rank);
  });
  std::ranges::sort(former);
  former.erase(std::ranges::unique(former).begin(), former.end());
  for_each_rival(standing, [&](Ranked& entry) {
    if (!ages && entry.rank == 0) return;
    const auto place = std::ranges::lower_bound(former, entry.rank) - former.begin();
    entry.rank = static_cast<uint32_t>(place) + 1;
  });
  return former;
}

uint32_t rank_count(const Standing& standing) {
  uint32_t count = 0;
  for (const Member& member : standing.members) {
    for (const Ranked& entry : member.equals) count = std::max(count, entry.rank);
    for (const Ranked& entry : member.betters) count = std::max(count, entry.rank);
  }
  return count;
}

void drop_ranks(Standing& standing, uint32_t rank_max) {
  const auto is_older = [&](const Ranked& entry) { return entry.rank > rank_max; };
  for (Member& member : standing.members) {
    std::erase_if(member.equals, is_older);
    std::erase_if(member.betters, is_older);
  }
  unite_members(standing);
}

bool is_settled(const Cea& cea, const Rivals& rivals, const Standing& standing) {
  Standing again;
  again.before = standing.before;
  bool has_unmarked = false;
  for (const Member& member : standing.members) {
    const RankTable equals(cea.state_count(), member.equals);
    const RankTable betters(cea.state_count(), member.betters);
    again.members.push_back(settled(cea, rivals, member.runs, equals, betters));
    again.members.back().is_unmarked = member.is_unmarked;
    if (again.members.back().runs.empty()) return false;
    has_unmarked |= member.is_unmarked;
  }
  unite_members(again);
  close_ranks(again, false);
  return !again.members.empty() && (has_unmarked || again.before.empty()) && again == standing;
}

}  // namespace catena
