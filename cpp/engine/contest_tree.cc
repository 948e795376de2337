#include "engine/contest_tree.h"

#include <algorithm>
#include <numeric>

namespace catena {

size_t TreeState::size() const {
  size_t total = own.size();
  for (const ScopeState& scope : scopes) {
    for (const auto& member : scope.members) total += member->tree.size();
  }
  return total;
}

size_t TreeState::bytes() const {
  size_t total = own.bytes();
  for (const ScopeState& scope : scopes) {
    for (const auto& member : scope.members) {
      total += sizeof(MemberState) + member->lent.capacity() * sizeof(Clock) + member->tree.bytes();
    }
  }
  return total;
}

bool TreeState::is_empty() const {
  return own.is_empty() && std::ranges::all_of(scopes, [](const ScopeState& scope) {
           return std::ranges::all_of(scope.members,
                                      [](const auto& member) { return member->tree.is_empty(); });
         });
}

// ---------------------------------------------------------------------------------------------
// A contest and its scopes

ContestTree::ContestTree(Strategy strategy, const Cea& cea, ContestParts parts, bool has_window,
                         const std::vector<RegisterId>& lent)
    : parts_(parts) {
  std::vector<ScopeContests*> scopes;
  for (const Scope& scope : cea.scopes()) {
    scopes_.push_back(std::make_unique<ScopeContests>(scope, parts));
    scopes.push_back(scopes_.back().get());
  }
  contest_ = make_contest(strategy, cea, parts.classes, parts.machine, has_window, scopes);
  contest_->set_lent(lent);
}

ContestTree::~ContestTree() = default;

void ContestTree::bind(const std::vector<Interval>& intervals) {
  contest_->bind(intervals);
  for (const auto& scope : scopes_) scope->bind(intervals);
}

void ContestTree::start(TreeState& state) const {
  state.own.clear();
  state.scopes.resize(scopes_.size());
  for (size_t i = 0; i < scopes_.size(); ++i) scopes_[i]->start(state.scopes[i]);
}

bool ContestTree::is_unaffected(const TreeState& state, std::span<const StateId> before,
                                ClassId cls) {
  for (size_t i = 0; i < scopes_.size(); ++i) {
    if (!scopes_[i]->is_unaffected(state.scopes[i], cls)) return false;
  }
  return contest_->is_unaffected(state.own, before, cls);
}

bool ContestTree::matters(ClassId cls) {
  return contest_->matters(cls) ||
         std::ranges::any_of(scopes_, [&](const auto& scope) { return scope->any().matters(cls); });
}

bool ContestTree::needs_history() const {
  return std::ranges::any_of(
      scopes_, [](const auto& scope) { return scope->is_lent() || scope->any().needs_history(); });
}

void ContestTree::open(TreeState& state, std::span<const StateId> before,
                       std::span<const Clock> lent, const ContestRow& at,
                       const std::vector<bool>& wanted) {
  for (size_t i = 0; i < scopes_.size(); ++i) scopes_[i]->open(state.scopes[i], at);
  contest_->open(state.own, before, lent, at.cls, at.row, wanted);
}

void ContestTree::close(TreeState& state) {
  contest_->close(state.own);
  for (size_t i = 0; i < scopes_.size(); ++i) {
    ScopeState& scope = state.scopes[i];
    scopes_[i]->close(scope);
    if (!scopes_[i]->is_lent()) continue;
    std::vector<bool> is_wanted(scope.members.size(), false);
    contest_->for_each_lent(state.own, static_cast<ScopeId>(i), [&](std::span<const Clock> lent) {
      const uint32_t member = ScopeContests::find(scope, lent);
      if (member != kNowhere) is_wanted[member] = true;
    });
    contest_->for_each_place(state.own, static_cast<ScopeId>(i), [&](int64_t& place) {
      is_wanted[ScopeContests::member_of(place)] = true;
    });
    const std::vector<uint32_t> moved = scopes_[i]->keep(scope, is_wanted);
    contest_->for_each_place(state.own, static_cast<ScopeId>(i), [&](int64_t& place) {
      place = ScopeContests::place_of(moved[ScopeContests::member_of(place)],
                                      ScopeContests::reference_of(place));
    });
  }
}

bool ContestTree::find_dead(const TreeState& state, Clock threshold, std::span<const Clock> now,
                            std::vector<bool>& dead) const {
  bool is_alive = false;
  std::vector<std::vector<std::vector<bool>>> inside(scopes_.size());  // By scope and member.
  for (size_t i = 0; i < scopes_.size(); ++i) {
    for (const auto& member : state.scopes[i].members) {
      auto& found = inside[i].emplace_back();
      is_alive |= scopes_[i]->any().find_dead(member->tree, threshold, now, found);
    }
  }
  contest_->find_dead(
      state.own, threshold, now,
      [&](ScopeId scope, int64_t place) {
        const uint32_t member = ScopeContests::member_of(place);
        const ContestTree& tree = scopes_[scope]->any();
        return inside[scope][member][tree.contest_->configuration_of(
            state.scopes[scope].members[member]->tree.own, ScopeContests::reference_of(place))];
      },
      dead);
  return is_alive || std::ranges::find(dead, false) != dead.end();
}

uint64_t ContestTree::operations() const {
  return std::accumulate(scopes_.begin(), scopes_.end(), contest_->operations(),
                         [](uint64_t sum, const auto& scope) { return sum + scope->operations(); });
}

// ---------------------------------------------------------------------------------------------
// The members of a scope

ScopeContests::ScopeContests(const Scope& scope, ContestParts parts)
    : scope_(scope), parts_(parts) {
  tree_of(0);
}

void ScopeContests::bind(const std::vector<Interval>& intervals) {
  intervals_ = intervals;
  for (const auto& tree : trees_) tree->bind(intervals);
  if (replayed_) replayed_->bind(intervals);
}

void ScopeContests::start(ScopeState& state) const {
  state.members.clear();
  if (is_lent()) return;
  state.members.push_back(std::make_unique<MemberState>());
  any().start(state.members.back()->tree);
}

ContestTree& ScopeContests::tree_of(uint32_t member) {
  while (trees_.size() <= member) {
    trees_.push_back(std::make_unique<ContestTree>(scope_.strategy, *scope_.operand, parts_, false,
                                                   scope_.lent));
    if (!intervals_.empty()) trees_.back()->bind(intervals_);
  }
  return *trees_[member];
}

// Made when it is first needed: in it, too, there may be scopes that are lent registers.
ContestTree& ScopeContests::replayed() {
  if (!replayed_) {
    replayed_ = std::make_unique<ContestTree>(scope_.strategy, *scope_.replayed, parts_, false,
                                              scope_.lent);
    replayed_->bind(intervals_);
  }
  return *replayed_;
}

bool ScopeContests::is_unaffected(const ScopeState& state, ClassId cls) {
  return std::ranges::all_of(state.members, [&](const auto& member) {
    return any().is_unaffected(member->tree, cea().initial(), cls);
  });
}

void ScopeContests::open(ScopeState& state, const ContestRow& at) {
  state_ = &state;
  at_ = &at;
  for (uint32_t i = 0; i < state.members.size(); ++i) {
    MemberState& member = *state.members[i];
    tree_of(i).open(member.tree, cea().initial(), member.lent, at);
  }
}

void ScopeContests::close(ScopeState& state) {
  for (uint32_t i = 0; i < state.members.size(); ++i) tree_of(i).close(state.members[i]->tree);
}

uint32_t ScopeContests::find(const ScopeState& state, std::span<const Clock> lent) {
  const auto found = std::ranges::find_if(
      state.members, [&](const auto& member) { return std::ranges::equal(member->lent, lent); });
  return found == state.members.end() ? kNowhere
                                      : static_cast<uint32_t>(found - state.members.begin());
}

// Reads all rows before the one at hand, and then opens on that.
uint32_t ScopeContests::add_member(std::span<const Clock> lent) {
  const ContestRow& at = *at_;
  auto made = std::make_unique<MemberState>();
  made->lent.assign(lent.begin(), lent.end());
  ContestTree& reader = replayed();
  reader.start(made->tree);
  const RegisterMachine::AtHand at_hand = parts_.machine.at_hand();
  for (uint32_t place = 0; place < at.until; ++place) {
    const Row row = at.history.row(place);
    parts_.machine.turn_to({row, at.history.class_of(place), true, at.history.words(place)});
    reader.open(made->tree, scope_.replayed->initial(), made->lent,
                {at.history.class_of(place), row, at.history, place});
    reader.close(made->tree);
  }
  parts_.machine.turn_to(at_hand);
  state_->members.push_back(std::move(made));
  const auto number = static_cast<uint32_t>(state_->members.size() - 1);
  MemberState& member = *state_->members.back();
  tree_of(number).open(member.tree, cea().initial(), member.lent, at);
  return number;
}

ScopeContests::Moved ScopeContests::enter(std::span<const Clock> lent, uint32_t transition) {
  uint32_t member = find(*state_, lent);
  if (member == kNowhere) member = add_member(lent);
  return moved(member, tree_of(member).contest().follow(kNotStarted, transition));
}

ScopeContests::Moved ScopeContests::follow(int64_t place, uint32_t transition) {
  const uint32_t member = member_of(place);
  return moved(member, tree_of(member).contest().follow(reference_of(place), transition));
}

ScopeContests::Moved ScopeContests::moved(uint32_t member, const Followed& followed) {
  if (followed.target == kNowhere) return {followed.is_final, kNowhere};
  return {true, place_of(member, followed.target)};
}

std::vector<uint32_t> ScopeContests::keep(ScopeState& state,
                                          const std::vector<bool>& is_wanted) const {
  std::vector<uint32_t> moved(state.members.size(), kNowhere);
  std::vector<std::unique_ptr<MemberState>> kept;
  for (uint32_t i = 0; i < state.members.size(); ++i) {
    if (!is_wanted[i]) continue;
    moved[i] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(state.members[i]));
  }
  state.members = std::move(kept);
  return moved;
}

uint64_t ScopeContests::operations() const {
  uint64_t total = replayed_ ? replayed_->operations() : 0;
  for (const auto& tree : trees_) total += tree->operations();
  return total;
}

}  // namespace catena
