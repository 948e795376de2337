// The strategies NEXT and LAST (paper 003, Algorithms 5 and 6), with windows.
//
// Without a window the runs of a part are a preorder of entries (selection_table.h) and, slot by
// slot, the graph node of the best runs there. A row is one look-up and the moves of its step. At
// most one set of rows is selected per ending row; what ties with it, other marks or starts, is
// joined in the graph.
//
// A window makes this harder: the best run may leave the window, and then the second best counts,
// which was dropped long ago. LAST over A ; (B ; B)+ may prefer an older A over a younger one, and
// NEXT always does. Keeping what is best for every possible start would cost time and memory that
// grow with the window.
//
// Instead the rows of the window are cut at a *pivot*, as a queue is made of two stacks:
//
//         front: rows t .. m                    back: rows m + 1 .. i
//     [ best ways from a start >= r to state p ]|[ best ways from state p to a match; new runs ]
//
// The back is a preorder with a lane per state at the pivot, and grows forwards by a step per row.
// The front holds for every start r what is best from r on, a stack whose top is the oldest start:
// when that leaves the window, it is popped. A match is a way through the front and one through the
// back; both are ranked, and ranks of the two parts compare lexicographically: the front decides
// first for NEXT, the back for LAST. When the front is used up, the rows of the back, whose classes
// are kept, are read once more, backwards, and become the new front. So every row is read twice,
// whatever the window: amortised constant time.
//
// Nodes of the back are linked from the last position to the first and end in a pivot node; nodes
// of the front from the first to the last. A root has one of each.
//
// Invariants: clocks in the front fall from bottom to top and all lie before those of the back; a
// lane p + 1 is live in the back only if the front's top knows a way to p. All nodes have
// max_start 0: windows are not the graph's business here.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/selection_table.h"
#include "engine/strategy.h"

namespace catena {

class Selection final : public StrategyEvaluator {
 public:
  // The references must outlive this object.
  Selection(const Cea& cea, ClassTrie& classes, Strategy strategy, bool has_window);

  std::unique_ptr<StrategyRuns> make_runs() const override;
  void advance(StrategyRuns& runs, ClassId cls, const Row& row, Graph& graph,
               std::vector<Root>& roots) override;
  void consume(StrategyRuns& runs) override;
  void expire(StrategyRuns& runs, Clock threshold) override;
  Position oldest_row(const StrategyRuns& runs) const override;
  bool is_idle(const StrategyRuns& runs) const override;
  void mark_nodes(const StrategyRuns& runs, Compaction& compaction) const override;
  void move_nodes(StrategyRuns& runs, const Compaction& compaction) const override;
  void write(const StrategyRuns& runs, ByteWriter& out) const override;
  std::unique_ptr<StrategyRuns> read(ByteReader& in, const Graph& graph) override;
  size_t bytes(const StrategyRuns& runs) const override;
  uint64_t operations() const override { return operations_; }
  bool wants_trim() const override { return back_.size() + front_.size() >= trim_at_; }
  void trim(std::span<StrategyRuns* const> runs) override;

 private:
  using BeforeId = uint32_t;

  // The best ways from the starts from some row on to state `state` at the pivot.
  struct Way {
    StateId state;
    uint32_t rank;
    NodeRef node;
  };
  struct Front {
    Clock clock;            // Of its oldest start.
    uint32_t rank_nothing;  // The rank of a way that marks nothing.
    uint32_t first_way;     // Its ways are those from here to the first of the front above it.
  };
  struct LoggedRow {
    Clock clock;
    Position position;
    ClassId cls;
    BeforeId before;  // Where runs could start from.
  };
  struct Runs final : StrategyRuns {
    PreorderId preorder;
    std::vector<NodeRef> nodes;  // By slot; kNoNode where no run has started.
    std::vector<Front> fronts;   // A stack.
    std::vector<Way> ways;
    std::vector<LoggedRow> log;  // The rows of the back, as far as runs in lane 0 have read them.
  };
  // What is asked often of a preorder of the back.
  struct Info {
    BeforeId before;             // Where runs start from.
    bool has_lanes;              // There are runs that started in the front.
    std::vector<StateId> fresh;  // The states of runs that started in the back.
  };

  static Runs& cast(StrategyRuns& runs) { return static_cast<Runs&>(runs); }
  static const Runs& cast(const StrategyRuns& runs) { return static_cast<const Runs&>(runs); }

  const Info& info(PreorderId id);
  Info make_info(const Preorder& preorder);
  BeforeId intern_before(const Slot& slot);
  bool is_neutral(ClassId cls);

  void reset(Runs& runs, BeforeId before, Graph* graph);
  void slide(Runs& runs, Clock threshold, Graph& graph);
  void pop_fronts(Runs& runs, Clock threshold);
  void turn(Runs& runs, Clock threshold, Graph& graph);
  void push_front(Runs& runs, const LoggedRow& row, const Preorder& preorder,
                  const std::vector<NodeRef>& nodes, Graph& graph);
  void take_moves(const SelectionStep& step, Position position, Direction direction,
                  std::vector<NodeRef>& nodes, uint32_t slot_count, Graph& graph);
  void add_roots(const Runs& runs, const std::vector<Ending>& endings, Position position,
                 Graph& graph, std::vector<Root>& roots) const;
  std::optional<std::pair<uint32_t, NodeRef>> way_along(const Runs& runs, uint32_t lane) const;

  void write_log(const Runs& runs, ByteWriter& out) const;
  void read_preorder(ByteReader& in, const Graph& graph, Runs& runs);
  void read_fronts(ByteReader& in, const Graph& graph, Runs& runs) const;
  void read_log(ByteReader& in, Runs& runs);
  Slot read_slot(ByteReader& in) const;

  ClassTrie& classes_;
  const uint32_t guard_count_;
  const bool decides_in_front_;  // NEXT.
  const bool has_window_;
  const SelectionMachine forward_machine_;
  const SelectionMachine backward_machine_;
  SelectionTable back_;                     // Steps of the back, forwards.
  SelectionTable front_;                    // Steps of the front, backwards.
  std::vector<std::optional<Info>> infos_;  // By preorder of the back.
  std::map<Slot, BeforeId> before_ids_;
  std::vector<Slot> befores_;
  std::vector<uint8_t> neutral_;  // By class: 0 not known yet, 1 no, 2 yes.
  std::vector<NodeRef> next_nodes_;
  PreorderId initial_ = 0;
  uint64_t operations_ = 0;
  uint32_t trim_at_;
};

}  // namespace catena
