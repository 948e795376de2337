// The evaluator: takes the state of one part over one row (paper 003, Algorithm 1, with windows).
//
// A part's state is a frontier and, slot by slot, the union-list of the runs in that determinized
// state. The lists lie in one flat vector: a slot is a header, and, if its list has more than one
// node, that many entries after it. The header holds the list's latest start, its length, and the
// list merged into one node as soon as somebody has needed that.
//
// Cost per row: the moves of its step, each constant time but for merging a list, which is no
// longer than the number of live states: independent of the rows seen and of the matches open.
// `operations` counts the moves and list entries touched, and a test holds the bound.
#pragma once

#include <memory>
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

struct PartState {
  FrontierId frontier = FrontierTable::kEmpty;
  uint32_t epoch = 0;              // Of the engine when the part was last visited; see engine.h.
  int64_t row_count = 0;           // Rows of this part so far: the clock of `n EVENTS`.
  std::vector<Clock> last_clocks;  // Of its last row, by order column; empty if none is by part.
  std::vector<Entry> lists;
  std::unique_ptr<StrategyRuns> runs;  // In place of the lists, under a strategy but ALL.
};

class Evaluator {
 public:
  // The table must outlive this object.
  explicit Evaluator(FrontierTable& frontiers) : frontiers_(frontiers) {}

  // Takes a part over a row whose step is not an identity; appends the roots of what ends there.
  void advance(PartState& part, ClassId cls, const Row& row, Graph& graph,
               std::vector<Root>& roots);

  // Drops the states without a run inside the window.
  void expire(PartState& part, Clock threshold);

  // For compaction: drops the entries outside the window and marks the nodes of the others; and,
  // when they have been copied, points to the copies.
  static void mark_nodes(PartState& part, Clock threshold, Compaction& compaction);
  static void move_nodes(PartState& part, const Compaction& compaction);

  // For readers of snapshots: whether a header stands for a list that nobody has merged yet, and
  // whether the lists of a part keep their invariants.
  static bool is_unmerged(const Entry& header);
  static bool has_consistent_lists(const PartState& part, size_t slot_count);

  uint64_t operations() const { return operations_; }

 private:
  void locate_slots(const PartState& part);
  Entry merged(PartState& part, uint32_t slot, Clock threshold, Graph& graph);
  Entry take(PartState& part, const Move& move, const Row& row, Graph& graph);
  void open_list(const PartState& part, const Move& move, Clock threshold, const Entry& entry);
  static void close_list(std::vector<Entry>& lists, size_t header, bool was_inserted_into);

  FrontierTable& frontiers_;
  std::vector<size_t> slot_at_;  // Where the header of each slot lies in the part's lists.
  std::vector<Entry> next_;      // The lists being built.
  uint64_t operations_ = 0;
};

}  // namespace catena
