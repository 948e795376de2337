#include "engine/frontier.h"

#include <algorithm>

namespace catena {
namespace {

// Collects the moves of one step, giving each target a slot when it is first reached.
class StepBuilder {
 public:
  void take(uint32_t source, std::span<const Edge> edges) {
    for (const Edge& edge : edges) {
      const uint32_t target = edge.target == kNoState ? kNoSlot : slot_of(edge.target);
      moves_.push_back({source, target, edge.marks, edge.is_final});
    }
  }

  std::vector<DetStateId> take_targets() { return std::move(targets_); }

  std::vector<Move> take_moves() {
    std::ranges::stable_sort(moves_, {}, &Move::target);
    return std::move(moves_);
  }

 private:
  uint32_t slot_of(DetStateId state) {
    const auto found = std::ranges::find(targets_, state);
    if (found == targets_.end()) {
      targets_.push_back(state);
      return static_cast<uint32_t>(targets_.size() - 1);
    }
    return static_cast<uint32_t>(found - targets_.begin());
  }

  std::vector<Move> moves_;
  std::vector<DetStateId> targets_;
};

// Every slot hands its list to the slot of the same number, and there is nothing else.
bool keeps_all(const std::vector<Move>& moves, size_t slot_count) {
  if (moves.size() != slot_count) return false;
  for (uint32_t i = 0; i < moves.size(); ++i) {
    const Move& move = moves[i];
    if (move.source != i || move.target != i || move.marks != kNoMarks || move.is_final) {
      return false;
    }
  }
  return true;
}

}  // namespace

FrontierTable::FrontierTable(Determinizer& determinizer) : determinizer_(determinizer) { clear(); }

void FrontierTable::clear() {
  frontiers_.clear();
  ids_.clear();
  intern({determinizer_.initial(), {}});
}

FrontierId FrontierTable::intern(Key key) {
  const auto [place, is_new] =
      ids_.try_emplace(std::move(key), static_cast<FrontierId>(frontiers_.size()));
  if (is_new) frontiers_.push_back({&place->first, {}, {}, {}});
  return place->second;
}

uint64_t FrontierTable::changing(FrontierId id, std::span<const ClassId> classes) {
  std::vector<uint8_t>& may_change = frontiers_[id].may_change;
  if (may_change.size() < determinizer_.class_count()) {
    may_change.resize(determinizer_.class_count(), 1);
  }
  uint64_t mask = 0;
  for (size_t i = 0; i < classes.size(); ++i) mask |= uint64_t{may_change[classes[i]]} << i;
  return mask;
}

FrontierId FrontierTable::prefix(FrontierId id, size_t count) {
  const auto& [before, states] = key_of(id);
  if (count == states.size()) return id;
  if (frontiers_[id].prefixes.empty()) {
    std::vector<FrontierId> prefixes;
    for (size_t n = 0; n < states.size(); ++n) {
      const auto end = states.begin() + static_cast<ptrdiff_t>(n);
      prefixes.push_back(intern({before, {states.begin(), end}}));
    }
    frontiers_[id].prefixes = std::move(prefixes);
  }
  return frontiers_[id].prefixes[count];
}

const Step& FrontierTable::make_step(FrontierId id, ClassId cls) {
  const auto& [before, states] = key_of(id);
  StepBuilder builder;
  builder.take(kNewRun, determinizer_.edges(before, cls));
  for (uint32_t i = 0; i < states.size(); ++i) {
    builder.take(i, determinizer_.edges(states[i], cls));
  }
  auto step = std::make_unique<Step>();
  step->moves = builder.take_moves();
  // May move frontiers_; the key is one of ids_ and stays.
  step->next = intern({determinizer_.watch(before, cls), builder.take_targets()});
  step->is_identity = step->next == id && keeps_all(step->moves, states.size());
  step->slot_count = static_cast<uint32_t>(states_of(step->next).size());
  auto ops = compile_ops(step->moves);
  step->is_in_place = ops.has_value();
  if (ops) step->ops = std::move(*ops);
  auto& [key, steps, may_change, prefixes] = frontiers_[id];
  if (cls < may_change.size()) may_change[cls] = step->is_identity ? 0 : 1;
  if (steps.size() <= cls) steps.resize(cls + 1);
  steps[cls] = std::move(step);
  return *steps[cls];
}

}  // namespace catena
