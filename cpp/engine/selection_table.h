// Preorders of entries, interned, and the steps between them: paper 003's Algorithms 5 and 6.
//
// NEXT and LAST need, for every entry that runs are in, only the runs whose set of marked rows is
// the best to get there. Which entries share one set, and how the sets compare, is a *preorder*: a
// sequence of groups, the best set first. A group is one set of marked rows. Its *slots* are the
// ways to show it: each is the set of entries that runs with one and the same sequence of labels
// are in, so no two slots spell the same marks. An entry stands in one group only, since in a later
// one it would be beaten; in several slots of a group only where equal sets differ in what they
// show or where they start.
//
// How a row changes the preorder depends on the preorder and the row's class alone, so a step is
// worked out once and looked up ever after. Where the row read next is the *less* significant
// (kOlderFirst), a group's marked successors come right before its unmarked ones; where it is the
// *more* significant (kNewerFirst), all marked successors come before all unmarked ones. NEXT asks
// for the first position at which two sets differ, LAST for the last: so NEXT is kOlderFirst
// forwards and kNewerFirst backwards, and LAST the other way round.
//
//   A ; B+ ; C, NEXT, after A: [[1]] [[before]]   (a run in state 1, then those not started)
//   on B: marked [[2]], unmarked [[1]]  ->  [[2]] [[1]] [[before]]
//   on B again: from [2] marked [[2]]; [2] unmarked: beaten; from [1] marked: beaten; [[1]]
//   [[before]]
//
// Cost: a look-up is two array accesses once made; making a step is linear in the entries that are
// live and their transitions, as they are disjoint between groups.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/types.h"
#include "engine/selection_machine.h"

namespace catena {

using PreorderId = uint32_t;
using Slot = std::vector<EntryId>;                // Sorted.
using Preorder = std::vector<std::vector<Slot>>;  // Groups, the best first.

enum class Significance : uint8_t { kOlderFirst, kNewerFirst };

// Slots are numbered through, group by group.
struct SlotMove {
  uint32_t source;
  uint32_t target;
  Label label;
};

// A match that the row ends: along which lane, and how good its set of marked rows is (0 is best).
struct Ending {
  uint32_t lane;
  uint32_t rank;
  uint32_t source;
  Label label;
};

struct SelectionStep {
  PreorderId next;
  bool is_identity;
  std::vector<SlotMove> moves;  // By target.
  std::vector<Ending> endings;  // Of each lane the best only.
};

class SelectionTable {
 public:
  // The machine must outlive this object.
  SelectionTable(const SelectionMachine& machine, Significance significance)
      : machine_(machine), significance_(significance) {}

  PreorderId intern(Preorder preorder);
  const Preorder& operator[](PreorderId id) const { return *known_[id].preorder; }
  uint32_t slot_count(PreorderId id) const { return known_[id].slot_count; }
  uint32_t size() const { return static_cast<uint32_t>(known_.size()); }

  const SelectionStep& step(PreorderId id, ClassId cls) {
    const auto& steps = known_[id].steps;
    if (cls < steps.size() && steps[cls]) return *steps[cls];
    return make_step(id, cls);
  }

  void clear();

 private:
  struct Known {
    const Preorder* preorder;  // A key of ids_.
    uint32_t slot_count;
    std::vector<std::unique_ptr<SelectionStep>> steps;
  };

  const SelectionStep& make_step(PreorderId id, ClassId cls);

  const SelectionMachine& machine_;
  Significance significance_;
  std::map<Preorder, PreorderId> ids_;
  std::vector<Known> known_;
};

}  // namespace catena
