#include "engine/max_steps.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "base/error.h"

namespace catena {
namespace {

// Takes the members of one standing over a row.
class RowStep {
 public:
  // What the row makes of the runs that show the same marks at it.
  struct Target {
    std::vector<Member> members;
    bool is_final = false;
  };

  RowStep(const Cea& cea, const ClassTrie& classes, const Rivals& rivals, ClassId cls,
          const std::vector<StateId>& before)
      : cea_(cea), classes_(classes), rivals_(rivals), cls_(cls), before_(before) {}

  void take(const Member& member);

  const std::map<MarksId, Target>& targets() const { return targets_; }

  // What becomes of the outlook, if it is what has been taken.
  const Member& outlook() const { return outlook_; }

  // Where runs start from at the next row.
  std::vector<StateId> before() const { return watch(cea_, classes_, cls_, before_); }

 private:
  // Where rivals get by the marked and by the unmarked transitions.
  struct Spread {
    RankTable marked;
    RankTable unmarked;
  };
  struct Runs {
    std::vector<StateId> states;
    bool is_final = false;
  };

  template <typename Visit>
  void for_each_step(StateId source, Visit visit) const;
  Spread spread(const std::vector<Ranked>& from, bool with_starts) const;
  std::map<MarksId, Runs> move_runs(const Member& member, bool is_marked) const;
  void add(const Member& member, bool is_marked, const RankTable& equals, const RankTable& betters);

  const Cea& cea_;
  const ClassTrie& classes_;
  const Rivals& rivals_;
  ClassId cls_;
  const std::vector<StateId>& before_;
  std::map<MarksId, Target> targets_;
  Member outlook_;
};

// The transitions that a run can take; those between observers are not among them.
template <typename Visit>
void RowStep::for_each_step(StateId source, Visit visit) const {
  for (const Transition& t : cea_.from(source)) {
    if (!cea_.is_observer(t.target) && is_open(t, classes_, cls_)) visit(t);
  }
}

RowStep::Spread RowStep::spread(const std::vector<Ranked>& from, bool with_starts) const {
  Spread result{RankTable(cea_.state_count()), RankTable(cea_.state_count())};
  const auto add = [&](StateId source, uint32_t rank) {
    for_each_step(source, [&](const Transition& t) {
      (t.is_marked ? result.marked : result.unmarked).add(t.target, rank);
    });
  };
  for (const Ranked& entry : from) add(entry.state, entry.rank);
  if (with_starts) {
    for (StateId source : before_) add(source, 0);
  }
  return result;
}

std::map<MarksId, RowStep::Runs> RowStep::move_runs(const Member& member, bool is_marked) const {
  std::map<MarksId, Runs> result;
  const bool is_outlook = member.runs.front() == rivals_.waiting();
  for (StateId source : is_outlook ? before_ : member.runs) {
    for_each_step(source, [&](const Transition& t) {
      if (t.is_marked != is_marked) return;
      Runs& runs = result[t.marks];
      runs.states.push_back(t.target);
      runs.is_final |= cea_.is_final(t.target);
    });
  }
  return result;
}

void RowStep::add(const Member& member, bool is_marked, const RankTable& equals,
                  const RankTable& betters) {
  bool is_hidden = false;
  for (StateId q = 0; q < cea_.state_count(); ++q) {
    is_hidden |= cea_.is_final(q) && betters[q] != RankTable::kAbsent;
  }
  for (auto& [marks, runs] : move_runs(member, is_marked)) {
    Member next = settled(cea_, rivals_, std::move(runs.states), equals, betters);
    next.is_unmarked = member.is_unmarked && !is_marked;
    const bool is_final = runs.is_final && !is_hidden;
    if (next.runs.empty() && !is_final) continue;
    Target& target = targets_[marks];
    target.is_final |= is_final;
    if (!next.runs.empty()) target.members.push_back(std::move(next));
  }
}

void RowStep::take(const Member& member) {
  const Spread equals = spread(member.equals, member.is_unmarked);
  const Spread betters = spread(member.betters, false);
  add(member, true, equals.marked, betters.marked);
  RankTable all_betters = betters.unmarked;
  all_betters.add(betters.marked);
  all_betters.add(equals.marked);
  add(member, false, equals.unmarked, all_betters);
  if (member.runs.front() != rivals_.waiting()) return;
  outlook_ = settled(cea_, rivals_, member.runs, equals.unmarked, all_betters);
  outlook_.is_unmarked = true;
}

// The latest rivals become as good as own.
void tie(Standing& outlook) {
  for (Ranked& entry : outlook.members.front().equals) --entry.rank;
  for (Ranked& entry : outlook.members.front().betters) --entry.rank;
}

bool keeps_all(const BundleEdge& edge, StandingId id, uint32_t rank_count) {
  if (edge.target != id || edge.is_final || edge.marks != kNoMarks) return false;
  if (edge.clocks.size() != rank_count) return false;
  for (uint32_t i = 0; i < rank_count; ++i) {
    if (edge.clocks[i] != i + 1) return false;
  }
  return true;
}

}  // namespace

StandingTable::StandingTable(const Cea& cea, const ClassTrie& classes, bool has_window,
                             uint32_t state_count_max)
    : cea_(cea),
      classes_(classes),
      rivals_(cea),
      has_window_(has_window),
      state_count_max_(state_count_max) {
  clear();
}

void StandingTable::clear() {
  ids_.clear();
  records_.clear();
  step_count_ = 0;
  Standing outlook{cea_.initial(), {{true, {}, {}, {rivals_.waiting()}}}};
  std::ranges::sort(outlook.before);
  outlook.before.erase(std::ranges::unique(outlook.before).begin(), outlook.before.end());
  initial_ = intern(std::move(outlook));
}

StandingId StandingTable::without_rivals(StandingId outlook) {
  return intern({(*this)[outlook].before, {{true, {}, {}, {rivals_.waiting()}}}});
}

StandingId StandingTable::intern(Standing standing) {
  if (auto found = ids_.find(standing); found != ids_.end()) return found->second;
  assert(is_settled(cea_, rivals_, standing));
  if (records_.size() >= state_count_max_) {
    throw Error(ErrorKind::kLimit, "the query's automaton grew past " +
                                       std::to_string(state_count_max_) +
                                       " determinized states (state_count_max)");
  }
  const auto id = static_cast<StandingId>(records_.size());
  const auto place = ids_.emplace(std::move(standing), id).first;
  records_.push_back({&place->first, catena::rank_count(place->first), {}, {}});
  return id;
}

StandingId StandingTable::cut(StandingId id, uint32_t rank_max) {
  const uint32_t ranks = rank_count(id);
  assert(rank_max <= ranks);
  if (rank_max == ranks) return id;
  if (records_[id].cuts.empty()) records_[id].cuts.assign(ranks, kNoStanding);
  if (records_[id].cuts[rank_max] == kNoStanding) {
    Standing left = (*this)[id];
    drop_ranks(left, rank_max);
    const StandingId made = intern(std::move(left));  // May move records_.
    records_[id].cuts[rank_max] = made;
  }
  return records_[id].cuts[rank_max];
}

BundleEdge StandingTable::make_edge(MarksId marks, bool is_final, Standing target, bool ages) {
  if (target.members.empty()) return {marks, is_final, kNoStanding, {}};
  unite_members(target);
  std::vector<uint32_t> ranks = close_ranks(target, ages);
  return {marks, is_final, intern(std::move(target)), std::move(ranks)};
}

const StandingStep& StandingTable::make_step(StandingId id, uint32_t place) {
  Standing standing = (*this)[id];
  if (place % 2 == 1) tie(standing);
  RowStep row(cea_, classes_, rivals_, place / 2, standing.before);
  for (const Member& member : standing.members) row.take(member);
  auto step = std::make_unique<StandingStep>();
  for (const auto& [marks, target] : row.targets()) {
    Standing next{{}, target.members};
    if (std::ranges::any_of(next.members, &Member::is_unmarked)) next.before = row.before();
    step->edges.push_back(make_edge(marks, target.is_final, std::move(next), false));
  }
  const bool is_outlook = standing.members.front().runs.front() == rivals_.waiting();
  if (is_outlook) {
    step->next = make_edge(kNoMarks, false, {row.before(), {row.outlook()}}, has_window_);
    step->is_identity = step->edges.empty() && keeps_all(step->next, id, rank_count(id));
  } else {
    step->is_identity = step->edges.size() == 1 && keeps_all(step->edges[0], id, rank_count(id));
  }
  auto& steps = records_[id].steps;
  if (steps.size() <= place) steps.resize(place + 1);
  steps[place] = std::move(step);
  ++step_count_;
  return *steps[place];
}

}  // namespace catena
