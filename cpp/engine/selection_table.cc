#include "engine/selection_table.h"

#include <algorithm>
#include <set>

namespace catena {
namespace {

// Collects the groups of the next preorder, best first, with the moves into them.
class StepBuilder {
 public:
  StepBuilder(const SelectionMachine& machine, ClassId cls)
      : machine_(machine), cls_(cls), is_taken_(machine.entry_count(), false) {}

  // The successors of one group that mark the row, or those that do not. `first_slot` is the number
  // of the group's first slot.
  void take(const std::vector<Slot>& group, uint32_t first_slot, bool is_marked) {
    next_group_.clear();
    for (uint32_t i = 0; i < group.size(); ++i) take_slot(group[i], first_slot + i, is_marked);
    close_group();
    ++rank_;
  }

  Preorder take_preorder() { return std::move(preorder_); }
  std::vector<SlotMove> take_moves() { return std::move(moves_); }
  std::vector<Ending> take_endings() { return std::move(endings_); }

 private:
  struct Target {
    Slot slot;
    std::vector<SlotMove> moves;  // `target` is filled in when the group is closed.
  };

  void take_slot(const Slot& slot, uint32_t number, bool is_marked) {
    std::map<Label, Slot> successors;
    std::set<std::pair<uint32_t, Label>> ends;
    for (EntryId entry : slot) {
      machine_.moves(entry, cls_, buffer_);
      for (const EntryMove& move : buffer_) {
        if (move.label.is_marked != is_marked) continue;
        if (move.is_final) ends.insert({machine_.lane_of(entry), move.label});
        if (move.has_future && !is_taken_[move.target]) {
          successors[move.label].push_back(move.target);
        }
      }
    }
    for (const auto& [lane, label] : ends) add_ending({lane, rank_, number, label});
    for (auto& [label, successor] : successors) {
      std::ranges::sort(successor);
      successor.erase(std::ranges::unique(successor).begin(), successor.end());
      target_of(std::move(successor)).moves.push_back({number, 0, label});
    }
  }

  void add_ending(const Ending& ending) {
    const auto same_lane = std::ranges::find(endings_, ending.lane, &Ending::lane);
    if (same_lane == endings_.end() || same_lane->rank == ending.rank) endings_.push_back(ending);
  }

  Target& target_of(Slot slot) {
    const auto found = std::ranges::find(next_group_, slot, &Target::slot);
    if (found != next_group_.end()) return *found;
    next_group_.push_back({std::move(slot), {}});
    return next_group_.back();
  }

  void close_group() {
    if (next_group_.empty()) return;
    std::ranges::sort(next_group_, {}, &Target::slot);
    preorder_.emplace_back();
    for (Target& target : next_group_) {
      for (EntryId entry : target.slot) is_taken_[entry] = true;
      for (SlotMove& move : target.moves) {
        move.target = slot_count_;
        moves_.push_back(move);
      }
      ++slot_count_;
      preorder_.back().push_back(std::move(target.slot));
    }
  }

  const SelectionMachine& machine_;
  ClassId cls_;
  std::vector<bool> is_taken_;  // By entry: reached by a better group.
  std::vector<Target> next_group_;
  std::vector<EntryMove> buffer_;
  Preorder preorder_;
  std::vector<SlotMove> moves_;
  std::vector<Ending> endings_;
  uint32_t slot_count_ = 0;
  uint32_t rank_ = 0;
};

bool keeps_all(const std::vector<SlotMove>& moves, uint32_t slot_count) {
  if (moves.size() != slot_count) return false;
  for (uint32_t i = 0; i < moves.size(); ++i) {
    const auto& [source, target, label] = moves[i];
    if (source != i || target != i || label.marks != kNoMarks || label.starts) return false;
  }
  return true;
}

}  // namespace

PreorderId SelectionTable::intern(Preorder preorder) {
  const auto [place, is_new] =
      ids_.try_emplace(std::move(preorder), static_cast<PreorderId>(known_.size()));
  if (is_new) {
    uint32_t slot_count = 0;
    for (const auto& group : place->first) slot_count += static_cast<uint32_t>(group.size());
    known_.push_back({&place->first, slot_count, {}});
  }
  return place->second;
}

void SelectionTable::clear() {
  known_.clear();
  ids_.clear();
}

const SelectionStep& SelectionTable::make_step(PreorderId id, ClassId cls) {
  const Preorder& preorder = (*this)[id];
  StepBuilder builder(machine_, cls);
  const auto take_all = [&](std::initializer_list<bool> kinds) {
    uint32_t first_slot = 0;
    for (const auto& group : preorder) {
      for (bool is_marked : kinds) builder.take(group, first_slot, is_marked);
      first_slot += static_cast<uint32_t>(group.size());
    }
  };
  if (significance_ == Significance::kOlderFirst) {
    take_all({true, false});
  } else {
    take_all({true});
    take_all({false});
  }
  auto step = std::make_unique<SelectionStep>();
  step->moves = builder.take_moves();
  step->endings = builder.take_endings();
  step->next = intern(builder.take_preorder());  // May move known_.
  step->is_identity =
      step->next == id && step->endings.empty() && keeps_all(step->moves, known_[id].slot_count);
  auto& steps = known_[id].steps;
  if (steps.size() <= cls) steps.resize(cls + 1);
  steps[cls] = std::move(step);
  return *steps[cls];
}

}  // namespace catena
