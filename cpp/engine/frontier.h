// Frontiers: the live determinized states of a part, in order of falling latest start, interned.
//
// A step of the evaluator takes every live state over its edges on the row's class. Which lists
// then flow into which, and in what order the new states stand, depends on the order of the old
// ones and on the class alone and not on the data: sources are taken latest first (a run that
// starts at this row is the latest of all), and the first to reach a target makes the target as
// late as itself. So the step can be worked out once per (frontier, class) and looked up ever
// after.
//
//   A ; B, frontier [{q1}], class A:   target {q1}: a new run marked A, then the old list of {q1}
//                                      next frontier [{q1}]
//   the same, class B:                 target {q1}: the old list;  no target: output B, final
//   the same, any other class:         nothing changes: an identity step, skipped at scanning speed
//
// Beside the live states a frontier holds the one that runs start from, which moves only in
// automata with observers (cea.h).
//
// Invariant: frontiers hold no state twice. Cost: a look-up is two array accesses once made.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "automaton/determinizer.h"
#include "base/types.h"
#include "engine/step_ops.h"

namespace catena {

struct Step {
  FrontierId next;
  bool is_identity;
  bool is_in_place;         // The operations do all that the moves say.
  uint32_t slot_count;      // Of the next frontier.
  std::vector<Move> moves;  // By target, then latest source first; kNoSlot last.
  std::vector<SlotOp> ops;
};

class FrontierTable {
 public:
  static constexpr FrontierId kEmpty = 0;

  explicit FrontierTable(Determinizer& determinizer);

  // Where runs start from, and the live states in order.
  struct Key {
    DetStateId before;
    std::vector<DetStateId> states;
    auto operator<=>(const Key&) const = default;
  };

  FrontierId intern(Key key);
  const Key& key_of(FrontierId id) const { return *frontiers_[id].key; }
  const std::vector<DetStateId>& states_of(FrontierId id) const { return key_of(id).states; }
  uint32_t size() const { return static_cast<uint32_t>(frontiers_.size()); }

  const Step& step(FrontierId id, ClassId cls) {
    const auto& steps = frontiers_[id].steps;
    if (cls < steps.size() && steps[cls]) return *steps[cls];
    return make_step(id, cls);
  }

  // Which of up to 64 rows, by bits, have a step from this frontier that changes anything. Of steps
  // that were never made it is not known, so they count as such.
  uint64_t changing(FrontierId id, std::span<const ClassId> classes);

  // The frontier of the first `count` states.
  FrontierId prefix(FrontierId id, size_t count);

  // Forgets everything but the empty frontier; the determinized states stay.
  void clear();

 private:
  struct Frontier {
    const Key* key;  // One of ids_.
    std::vector<std::unique_ptr<Step>> steps;
    std::vector<uint8_t> may_change;  // By class: 0 if the step is known to be an identity.
    std::vector<FrontierId> prefixes;
  };

  const Step& make_step(FrontierId id, ClassId cls);

  Determinizer& determinizer_;
  std::map<Key, FrontierId> ids_;
  std::vector<Frontier> frontiers_;
};

}  // namespace catena
