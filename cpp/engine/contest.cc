#include "engine/contest.h"

#include <algorithm>
#include <cassert>

#include "engine/contest_tree.h"
#include "engine/maximal_contest.h"
#include "engine/ordered_contest.h"

namespace catena {
namespace {

// What a row of a class does to the runs in a state.
enum Effect : uint8_t { kNotAsked, kStays, kMoves, kNothing };

StateId state_of(std::span<const int64_t> configuration) {
  return static_cast<StateId>(configuration[0]);
}

}  // namespace

size_t ContestState::bytes() const {
  return configurations.bytes() + ranks.capacity() * sizeof(uint32_t) + rivals.capacity() +
         sets.bytes() + standings.bytes() + states.capacity() * sizeof(StateId);
}

Contest::Contest(const Cea& cea, const ClassTrie& classes, RegisterMachine& machine,
                 bool has_window, std::vector<ScopeContests*> scopes)
    : cea_(cea),
      has_window_(has_window),
      classes_(classes),
      machine_(machine),
      valuation_(cea, machine),
      scopes_(std::move(scopes)),
      effects_(cea.state_count()) {
  assert(scopes_.size() == cea.scopes().size());
}

// ---------------------------------------------------------------------------------------------
// Rows that change nothing

bool Contest::opens(const Ask& ask) const {
  const Cea& operand = *cea_.scopes()[ask.scope].operand;
  return operand.transitions()[ask.transition].source == operand.initial()[0];
}

bool Contest::is_loop(const Transition& t) const {
  const ClockActions& clocks = cea_.actions_of(t);
  const RegisterActions& registers = cea_.register_actions_of(t);
  if (t.source != t.target || t.is_marked || cea_.is_final(t.target)) return false;
  if (!clocks.checks.empty() || !clocks.resets.empty()) return false;
  if (!registers.conditions.empty() || !registers.updates.empty()) return false;
  if (!registers.forbids.empty()) return false;
  return std::ranges::all_of(cea_.asks_of(t), [&](const Ask& ask) {
    ScopeContests& scope = *scopes_[ask.scope];
    return scope.any().contest().is_loop(scope.cea().transitions()[ask.transition]);
  });
}

uint8_t Contest::effect_of(StateId state, ClassId cls) {
  auto& known = effects_[state];
  if (known.size() <= cls) known.resize(cls + 1, kNotAsked);
  if (known[cls] != kNotAsked) return known[cls];
  uint8_t effect = kNothing;
  for (const Transition& t : cea_.from(state)) {
    if (!is_open(t, classes_, cls)) continue;
    effect = effect == kNothing && is_loop(t) ? kStays : kMoves;
    if (effect == kMoves) break;
  }
  return known[cls] = effect;
}

bool Contest::is_unaffected(const ContestState& state, std::span<const StateId> before,
                            ClassId cls) {
  operations_ += before.size() + state.states.size();
  return std::ranges::all_of(before, [&](StateId s) { return effect_of(s, cls) == kNothing; }) &&
         std::ranges::all_of(state.states, [&](StateId s) { return effect_of(s, cls) == kStays; });
}

bool Contest::matters(ClassId cls) {
  for (StateId state = 0; state < cea_.state_count(); ++state) {
    const bool is_initial = std::ranges::find(cea_.initial(), state) != cea_.initial().end();
    if (is_initial && effect_of(state, cls) != kNothing) return true;
    if (!is_initial && cea_.has_future(state) && effect_of(state, cls) != kStays) return true;
  }
  return false;
}

// ---------------------------------------------------------------------------------------------
// Moves

// Whether no run in the configuration can end after the row or at it.
bool Contest::is_over(std::span<const int64_t> configuration, Clock threshold,
                      std::span<const Clock> now) const {
  if (has_window_ && start_of(configuration) < threshold) return true;
  return valuation_.is_late(state_of(configuration), words_of(configuration), now);
}

void Contest::open(const ContestState& state, std::span<const StateId> before,
                   std::span<const Clock> lent, ClassId cls, const Row& row,
                   const std::vector<bool>& wanted) {
  state_ = &state;
  moves_.clear();
  first_move_.clear();
  next_.clear();
  Clock now[kClockKindCount] = {};
  read_clocks(row, now);
  starting_.assign(width(), kNowhere);
  std::ranges::copy(valuation_.blank(), starting_.begin() + 1);
  valuation_.begin_with(lent_registers_, lent, std::span(starting_).subspan(1));
  if (has_window_) starting_.back() = row.clock;
  for (StateId first : before) {
    starting_[0] = first;
    add_moves(starting_, cls, row);
  }
  const ConfigurationId count = state.configurations.size();
  for (ConfigurationId id = 0; id < count; ++id) {
    first_move_.push_back(moves_.size());
    const auto configuration = state.configurations[id];
    if (!wanted.empty() && !wanted[id]) continue;
    if (!is_over(configuration, row.threshold, now)) add_moves(configuration, cls, row);
  }
  first_move_.push_back(moves_.size());
  operations_ += 1 + count + moves_.size();
  select();
}

void Contest::add_moves(std::span<const int64_t> configuration, ClassId cls, const Row& row) {
  const StateId state = state_of(configuration);
  uint32_t number = cea_.first_from(state);
  for (const Transition& t : cea_.from(state)) {
    const uint32_t transition = number++;
    const bool is_final = cea_.is_final(t.target);
    const bool has_future = cea_.has_future(t.target);
    if ((!is_final && !has_future) || cea_.is_observer(t.target)) continue;
    if (!is_open(t, classes_, cls)) continue;
    if (!valuation_.may_take(t, words_of(configuration), row)) continue;
    target_.assign(1, t.target);
    valuation_.take(t, words_of(configuration), row, target_);
    if (!ask_scopes(t, configuration)) continue;
    if (has_window_) target_.push_back(start_of(configuration));
    const ConfigurationId target = has_future ? next_.find_or_add(target_) : kNowhere;
    moves_.push_back({transition, target, is_final, t.is_marked});
  }
}

// Appends where the run is in the scopes after the transition; false if a scope does not let it go.
bool Contest::ask_scopes(const Transition& t, std::span<const int64_t> configuration) {
  const auto before = references_of(configuration);
  const size_t begin = target_.size();
  target_.insert(target_.end(), before.begin(), before.end());
  for (const Ask& ask : cea_.asks_of(t)) {
    ScopeContests& scope = *scopes_[ask.scope];
    if (!opens(ask) && before[ask.scope] == kNowhere) return false;
    const ScopeContests::Moved moved =
        opens(ask) ? scope.enter(lent_by(ask, configuration), ask.transition)
                   : scope.follow(before[ask.scope], ask.transition);
    if (!moved.is_possible) return false;
    target_[begin + ask.scope] = moved.place;
  }
  return true;
}

std::span<const Clock> Contest::lent_by(const Ask& ask, std::span<const int64_t> configuration) {
  lent_.clear();
  for (RegisterId id : ask.lends) {
    append_register(read_register(valuation_.view(words_of(configuration)), id), lent_);
  }
  return lent_;
}

std::span<Contest::Move> Contest::moves_of(ConfigurationId configuration) {
  const size_t begin = configuration == kNotStarted ? 0 : first_move_[configuration];
  const size_t end = configuration == kNotStarted ? first_move_[0] : first_move_[configuration + 1];
  return std::span(moves_).subspan(begin, end - begin);
}

const Contest::Move* Contest::find_move(ConfigurationId configuration, uint32_t transition) {
  for (const Move& move : moves_of(configuration)) {
    if (move.transition == transition) return &move;
  }
  return nullptr;
}

void Contest::close_configurations(ContestState& state, const Sequences<int64_t>& next) {
  state.configurations.copy(next);
  state.states.clear();
  for (ConfigurationId id = 0; id < next.size(); ++id) state.states.push_back(state_of(next[id]));
  std::ranges::sort(state.states);
  state.states.erase(std::ranges::unique(state.states).begin(), state.states.end());
  state_ = nullptr;
}

// ---------------------------------------------------------------------------------------------
// Housekeeping

void Contest::find_dead(const ContestState& state, Clock threshold, std::span<const Clock> now,
                        const std::function<bool(ScopeId, int64_t)>& is_dead_in,
                        std::vector<bool>& dead) const {
  dead.clear();
  for (ConfigurationId id = 0; id < state.configurations.size(); ++id) {
    const auto configuration = state.configurations[id];
    bool is_dead = is_over(configuration, threshold, now);
    const auto references = references_of(configuration);
    for (ScopeId scope = 0; scope < scopes_.size() && !is_dead; ++scope) {
      if (references[scope] != kNowhere) is_dead = is_dead_in(scope, references[scope]);
    }
    dead.push_back(is_dead);
  }
}

// The state of the scope's operand that runs in the state are in; kNowhere if in none.
StateId Contest::state_in_scope(StateId state, ScopeId scope) const {
  for (const Transition& t : cea_.from(state)) {
    for (const Ask& ask : cea_.asks_of(t)) {
      if (ask.scope == scope && !opens(ask)) {
        return cea_.scopes()[scope].operand->transitions()[ask.transition].source;
      }
    }
  }
  return kNowhere;
}

Followed AllContest::follow(Reference reference, uint32_t transition) {
  const Move* move = find_move(reference, transition);
  return move ? Followed{move->is_final, move->target} : Followed{};
}

std::unique_ptr<Contest> make_contest(Strategy strategy, const Cea& cea, const ClassTrie& classes,
                                      RegisterMachine& machine, bool has_window,
                                      std::vector<ScopeContests*> scopes) {
  switch (strategy) {
    case Strategy::kAll:
      return std::make_unique<AllContest>(cea, classes, machine, false, std::move(scopes));
    case Strategy::kNext:
    case Strategy::kLast:
      return std::make_unique<OrderedContest>(strategy, cea, classes, machine, has_window,
                                              std::move(scopes));
    case Strategy::kMax:
      return std::make_unique<MaximalContest>(cea, classes, machine, has_window, std::move(scopes));
  }
  return nullptr;
}

}  // namespace catena
