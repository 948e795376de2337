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
#include <vector>

#include "automaton/determinizer.h"
#include "base/types.h"

namespace catena {

inline constexpr uint32_t kNewRun = 0xffffffffu;  // As a source: a run that starts at this row.
inline constexpr uint32_t kNoSlot = 0xffffffffu;  // As a target: nothing follows.

struct Move {
  uint32_t source;  // A slot of the old frontier, or kNewRun.
  uint32_t target;  // A slot of the new frontier, or kNoSlot.
  MarksId marks;
  bool is_final;
};

struct Step {
  FrontierId next;
  bool is_identity;
  std::vector<Move> moves;  // By target, then latest source first; kNoSlot last.
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

  // The frontier of the first `count` states.
  FrontierId prefix(FrontierId id, size_t count);

  // Forgets everything but the empty frontier; the determinized states stay.
  void clear();

 private:
  struct Frontier {
    const Key* key;  // One of ids_.
    std::vector<std::unique_ptr<Step>> steps;
    std::vector<FrontierId> prefixes;
  };

  const Step& make_step(FrontierId id, ClassId cls);

  Determinizer& determinizer_;
  std::map<Key, FrontierId> ids_;
  std::vector<Frontier> frontiers_;
};

}  // namespace catena
