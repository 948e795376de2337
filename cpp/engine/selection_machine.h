// What NEXT and LAST keep apart while they read rows: entries, and how a row moves them.
//
// Forwards, an entry is a state of the automaton together with the *lane* it came along: lane 0
// holds the runs that have started since the pivot, and the place they start from; lane p + 1 holds
// what runs that were in state p at the pivot have become. Backwards (from the pivot to earlier
// rows) lane p + 1 holds the ways into state p at the pivot: entry (lane p + 1, q) stands for runs
// that go from state q to p over the rows read so far. selection.h says what the pivot is for.
//
//   A ; B with states 0 -A-> 1 (waits), 1 -B-> 2:
//     forwards   (0, before 0) -A, starts-> (0, 1)       backwards  (2, 1) -A, starts-> (2, before
//     0)
//
// Entries "before q" stand for runs that have not started: q is an initial state or an observer.
//
// Cost: listing the moves of an entry is linear in the transitions out of (backwards: into) it.
#pragma once

#include <vector>

#include "automaton/cea.h"
#include "base/types.h"
#include "columns/class_trie.h"

namespace catena {

using EntryId = uint32_t;

// What a move does with the row: which variables it shows, whether it marks it at all, and whether
// a run starts there.
struct Label {
  MarksId marks = kNoMarks;
  bool is_marked = false;
  bool starts = false;

  auto operator<=>(const Label&) const = default;
};

struct EntryMove {
  Label label;
  EntryId target;
  bool has_future;  // Forwards: the target can still lead to a match.
  bool is_final;    // Forwards: the row ends a match.
};

enum class Direction : uint8_t { kForwards, kBackwards };

class SelectionMachine {
 public:
  // Both references must outlive this object.
  SelectionMachine(const Cea& cea, const ClassTrie& classes, Direction direction);

  // Replaces the contents of `moves` by those of an entry on a row of this class.
  void moves(EntryId entry, ClassId cls, std::vector<EntryMove>& moves) const;

  EntryId run_entry(uint32_t lane, StateId state) const { return lane * 2 * states_ + state; }
  EntryId before_entry(uint32_t lane, StateId state) const {
    return lane * 2 * states_ + states_ + state;
  }
  uint32_t lane_of(EntryId entry) const { return entry / (2 * states_); }
  StateId state_of(EntryId entry) const { return entry % (2 * states_) % states_; }
  bool is_before(EntryId entry) const { return entry % (2 * states_) >= states_; }
  uint32_t entry_count() const { return (states_ + 1) * 2 * states_; }

  // Backwards: an entry of its own, which no row moves; it marks nothing.
  EntryId nothing() const { return run_entry(0, 0); }

  // True if no row of this class changes anything, whatever runs there are.
  bool is_neutral(ClassId cls) const;

  const Cea& cea() const { return cea_; }

 private:
  void forwards(EntryId entry, ClassId cls, std::vector<EntryMove>& moves) const;
  void backwards(EntryId entry, ClassId cls, std::vector<EntryMove>& moves) const;
  void watchers(uint32_t lane, StateId watched, ClassId cls, std::vector<EntryMove>& moves) const;
  bool watches(StateId state, ClassId cls) const;
  bool stays_as_it_is(StateId state, ClassId cls) const;

  const Cea& cea_;
  const ClassTrie& classes_;
  Direction direction_;
  uint32_t states_;
  std::vector<bool> can_start_;                // By state: initial, or an observer.
  std::vector<std::vector<Transition>> into_;  // By target.
};

}  // namespace catena
