#include "engine/selection_machine.h"

#include <algorithm>
#include <cassert>

namespace catena {

SelectionMachine::SelectionMachine(const Cea& cea, const ClassTrie& classes, Direction direction)
    : cea_(cea),
      classes_(classes),
      direction_(direction),
      states_(cea.state_count()),
      can_start_(states_, false),
      into_(states_) {
  for (StateId state : cea.initial()) can_start_[state] = true;
  for (StateId state = 0; state < states_; ++state) {
    if (cea.is_observer(state)) can_start_[state] = true;
    for (const Transition& t : cea.from(state)) into_[t.target].push_back(t);
  }
}

void SelectionMachine::moves(EntryId entry, ClassId cls, std::vector<EntryMove>& moves) const {
  moves.clear();
  if (direction_ == Direction::kForwards) {
    forwards(entry, cls, moves);
  } else {
    backwards(entry, cls, moves);
  }
}

// True if a row of this class moves the observer to another one.
bool SelectionMachine::watches(StateId state, ClassId cls) const {
  return std::ranges::any_of(cea_.from(state), [&](const Transition& t) {
    return cea_.is_observer(t.target) && is_open(t, classes_, cls);
  });
}

void SelectionMachine::forwards(EntryId entry, ClassId cls, std::vector<EntryMove>& moves) const {
  const uint32_t lane = lane_of(entry);
  const StateId state = state_of(entry);
  const bool starts = is_before(entry);
  for (const Transition& t : cea_.from(state)) {
    if (!is_open(t, classes_, cls)) continue;
    if (cea_.is_observer(t.target)) {
      moves.push_back({{}, before_entry(lane, t.target), true, false});
      continue;
    }
    const bool has_future = cea_.has_future(t.target);
    const bool is_final = cea_.is_final(t.target);
    if (!has_future && !is_final) continue;
    moves.push_back(
        {{t.marks, t.is_marked, starts}, run_entry(lane, t.target), has_future, is_final});
  }
  if (starts && !watches(state, cls)) moves.push_back({{}, entry, true, false});
}

void SelectionMachine::backwards(EntryId entry, ClassId cls, std::vector<EntryMove>& moves) const {
  if (entry == nothing()) {
    moves.push_back({{}, entry, true, false});
    return;
  }
  const uint32_t lane = lane_of(entry);
  const StateId state = state_of(entry);
  if (is_before(entry)) {
    watchers(lane, state, cls, moves);
    return;
  }
  for (const Transition& t : into_[state]) {
    if (!is_open(t, classes_, cls)) continue;
    if (!cea_.is_observer(t.source)) {
      moves.push_back({{t.marks, t.is_marked, false}, run_entry(lane, t.source), true, false});
    }
    if (can_start_[t.source]) {
      moves.push_back({{t.marks, t.is_marked, true}, before_entry(lane, t.source), true, false});
    }
  }
}

// The places before a start from which a row of this class leads to `watched`.
void SelectionMachine::watchers(uint32_t lane, StateId watched, ClassId cls,
                                std::vector<EntryMove>& moves) const {
  if (!watches(watched, cls)) moves.push_back({{}, before_entry(lane, watched), true, false});
  for (const Transition& t : into_[watched]) {
    if (cea_.is_observer(watched) && is_open(t, classes_, cls)) {
      moves.push_back({{}, before_entry(lane, t.source), true, false});
    }
  }
}

bool SelectionMachine::is_neutral(ClassId cls) const {
  for (StateId state = 0; state < states_; ++state) {
    if (can_start_[state] && std::ranges::any_of(cea_.from(state), [&](const Transition& t) {
          return is_open(t, classes_, cls);
        })) {
      return false;
    }
    if (!cea_.is_observer(state) && cea_.has_future(state) && !stays_as_it_is(state, cls)) {
      return false;
    }
  }
  return true;
}

// True if a run in this state goes on in it, without marks, and does nothing else.
bool SelectionMachine::stays_as_it_is(StateId state, ClassId cls) const {
  bool stays = false;
  for (const Transition& t : cea_.from(state)) {
    if (!is_open(t, classes_, cls) || (!cea_.has_future(t.target) && !cea_.is_final(t.target)))
      continue;
    if (t.target != state || t.is_marked || cea_.is_final(t.target)) return false;
    stays = true;
  }
  return stays || into_[state].empty();  // No run is ever in a state that nothing enters.
}

}  // namespace catena
