#include "automaton/determinizer.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace catena {

Determinizer::Determinizer(const Cea& cea, const ClassTrie& classes, uint32_t state_count_max)
    : cea_(cea), classes_(classes), state_count_max_(state_count_max) {
  std::vector<StateId> initial = cea.initial();
  std::ranges::sort(initial);
  initial.erase(std::ranges::unique(initial).begin(), initial.end());
  initial_ = intern(std::move(initial));
}

DetStateId Determinizer::intern(std::vector<StateId> states) {
  if (auto found = ids_.find(states); found != ids_.end()) return found->second;
  if (sets_.size() >= state_count_max_) {
    throw Error(ErrorKind::kLimit, "the query's automaton grew past " +
                                       std::to_string(state_count_max_) +
                                       " determinized states (state_count_max)");
  }
  const auto id = static_cast<DetStateId>(sets_.size());
  const auto place = ids_.emplace(std::move(states), id).first;
  sets_.push_back(&place->first);
  edges_.emplace_back();
  return id;
}

DetStateId Determinizer::watch(DetStateId before, ClassId cls) {
  return intern(catena::watch(cea_, classes_, cls, states_of(before)));
}

std::span<const Edge> Determinizer::edges(DetStateId state, ClassId cls) {
  if (edges_[state].size() <= cls) edges_[state].resize(cls + 1);
  if (!edges_[state][cls]) {
    auto made = make_edges(state, cls);  // May grow edges_, so the place is looked up again.
    edges_[state][cls] = std::move(made);
  }
  return *edges_[state][cls];
}

std::unique_ptr<Determinizer::EdgeList> Determinizer::make_edges(DetStateId state, ClassId cls) {
  struct Target {
    std::vector<StateId> states;
    bool is_final = false;
  };
  std::map<MarksId, Target> by_marks;
  for (StateId source : *sets_[state]) {
    for (const Transition& t : cea_.from(source)) {
      if (cea_.is_observer(t.target) || !is_open(t, classes_, cls)) continue;
      const bool is_final = cea_.is_final(t.target);
      const bool has_future = cea_.has_future(t.target);
      if (!is_final && !has_future) continue;
      Target& target = by_marks[t.marks];
      target.is_final |= is_final;
      if (has_future) target.states.push_back(t.target);
    }
  }
  auto result = std::make_unique<EdgeList>();
  for (auto& [marks, target] : by_marks) {
    std::ranges::sort(target.states);
    target.states.erase(std::ranges::unique(target.states).begin(), target.states.end());
    const bool ends = target.states.empty();
    result->push_back({marks, ends ? kNoState : intern(std::move(target.states)), target.is_final});
  }
  return result;
}

}  // namespace catena
