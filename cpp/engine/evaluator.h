// The evaluator: takes the state of one part over its rows (paper 003, Algorithm 1, with windows).
//
// A part's state is a frontier and, slot by slot, the union-list of the runs in that determinized
// state. A list is kept as the node that it is joined to, with its length: its entries are the left
// sides along the joins' right sides, so many of them, and no list lies anywhere else
// (union_list.h). Nearly every list that a row makes is a new node before one old list, which is
// one join; nothing is walked and nothing is copied.
//
//   A ; B after A A A    slot {A}: node = join(start 3, join(start 2, start 1)), length 2:
//                        the list start 3, join(start 2, start 1)
//
// Cost per row: the operations of its step (step_ops.h), each constant time but for those that go
// through a list, which is no longer than the number of live states: independent of the rows seen
// and of the matches open. `operations` counts the moves and list entries touched, and a test holds
// the bound. Rows that change nothing cost a look-up each.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/types.h"
#include "engine/frontier.h"
#include "engine/row.h"
#include "engine/strategy.h"
#include "engine/window.h"
#include "matches/graph.h"
#include "matches/result_set.h"
#include "matches/union_list.h"

namespace catena {

struct Slot {
  Clock max_start;
  NodeRef node;     // The whole list.
  uint32_t length;  // Of the list.
};

struct PartState {
  FrontierId frontier = FrontierTable::kEmpty;
  uint32_t epoch = 0;              // Of the engine when the part was last visited; see engine.h.
  int64_t row_count = 0;           // Rows of this part so far: the clock of `n EVENTS`.
  std::vector<Clock> last_clocks;  // Of its last row, by order column; empty if none is by part.
  std::vector<Slot> slots;
  std::unique_ptr<StrategyRuns> runs;  // In place of the slots, under a strategy but ALL.
};

// The clocks of consecutive rows.
struct RowClocks {
  const Clock* of_row = nullptr;  // Null: the rows count on from `first`.
  Clock first = 0;
  Window window;

  RowPlace place(Position position, size_t row) const {
    const Clock clock = of_row ? of_row[row] : first + static_cast<Clock>(row);
    return {position + static_cast<Position>(row), clock, window.threshold(clock)};
  }
};

class Evaluator {
 public:
  // The table must outlive this object.
  explicit Evaluator(FrontierTable& frontiers) : frontiers_(frontiers) {}

  // Takes a part over a row; appends the roots of what ends there.
  void advance(PartState& part, ClassId cls, const RowPlace& row, Graph& graph,
               std::vector<Root>& roots);

  // The same for consecutive rows, the first of which stands at `position`.
  void advance(PartState& part, std::span<const ClassId> classes, const RowClocks& clocks,
               Position position, Graph& graph, std::vector<Root>& roots);

  // Drops the states without a run inside the window.
  void expire(PartState& part, Clock threshold);

  // For compaction: cuts the lists to what is inside the window and marks their nodes; and, when
  // they have been copied, points to the copies.
  static void mark_nodes(PartState& part, Clock threshold, Compaction& compaction);
  static void move_nodes(PartState& part, const Compaction& compaction);

  // For readers of snapshots: whether the slots of a part keep their invariants.
  static bool has_consistent_slots(const PartState& part, const Graph& graph, size_t slot_count);

  uint64_t operations() const { return operations_; }

 private:
  void carry_out(const Step& step, std::vector<Slot>& slots, const RowPlace& row, Graph& graph,
                 std::vector<Root>& roots);
  void carry_over(const Step& step, std::vector<Slot>& slots, const RowPlace& row, Graph& graph,
                  std::vector<Root>& roots);
  Slot take(std::span<const Move> moves, const std::vector<Slot>& slots, const RowPlace& row,
            Graph& graph, std::vector<Root>& roots);
  void open_list(const Slot& slot, Clock threshold, const Graph& graph);

  FrontierTable& frontiers_;
  std::vector<Slot> next_;   // The slots being built.
  std::vector<Entry> list_;  // The list being built.
  uint64_t operations_ = 0;
};

}  // namespace catena
