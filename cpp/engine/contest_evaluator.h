// The evaluator of NEXT, LAST and MAX over automata with clocks or registers, for the query and
// inside it.
//
// Every strategy that compares runs is a contest (contest.h): those inside the formula, each over
// the automaton of its operand, and the query's own over the whole, which compares nobody if the
// query asks for all matches. Scopes compare over all rows of the part, whatever the query's window
// or CONSUME BY say; the outermost contest compares what is inside the window and not consumed.
//
// An open output (a start, and the marks shown) is in one bundle (bundles.h) only: that of the set
// of references that its runs have into the outermost contest. So nothing is ever reported twice,
// also where marks that are not shown or clocks that are not reset together let several runs give
// one output. Outputs with the same set have the same future and share a bundle:
//
//   SELECT MAX * WHERE A ;[<= 5] B+ ; C   a bundle for each A of the last five units that no B has
//                                         followed, and one for all that have had all Bs
//
// A row that changes nothing for the states that configurations are in is passed over: see
// Contest::is_unaffected.
//
// Cost per row: linear in the configurations, standings and references alive, all told apart by the
// times that clocks show, the values that registers hold and, under a window of the query, by
// starts; never in the runs. A part may hold `valuation_count_max` of them; passing that is an
// Error of kind kLimit.
#pragma once

#include <memory>
#include <vector>

#include "engine/bundles.h"
#include "engine/contest_reach.h"
#include "engine/contest_tree.h"
#include "engine/strategy.h"

namespace catena {

class ContestRuns : public StrategyRuns {
 public:
  std::vector<StateId> before;      // What runs of the outermost automaton start from.
  Clock now[kClockKindCount] = {};  // The clocks of the last row that was read.
  Clock threshold = kClockMin;      // Of the window, as far as known.
  TreeState tree;                   // Of the query's own contest.
  ContestHistory history;           // If a scope is lent registers.
  Sequences<Reference> keys;        // Sets of references, by the kinds of bundles.
  Bundles bundles;
};

class ContestEvaluator : public StrategyEvaluator {
 public:
  // The references must outlive this object.
  ContestEvaluator(Strategy strategy, const Cea& cea, ClassTrie& classes, bool has_window,
                   uint32_t valuation_count_max);

  void bind(const std::vector<Interval>& intervals) override;
  void bind_program(const Program& program) override { machine_.bind(program); }
  std::unique_ptr<StrategyRuns> make_runs() const override;
  void advance(StrategyRuns& runs, ClassId cls, const Row& row, Graph& graph,
               std::vector<Root>& roots) override;
  void consume(StrategyRuns& runs) override;
  void expire(StrategyRuns& runs, Clock threshold) override;
  bool is_idle(const StrategyRuns& runs) const override;
  void mark_nodes(const StrategyRuns& runs, Compaction& compaction) const override;
  void move_nodes(StrategyRuns& runs, const Compaction& compaction) const override;
  void write(const StrategyRuns& runs, ByteWriter& out) const override;
  std::unique_ptr<StrategyRuns> read(ByteReader& in, const Graph& graph) override;
  size_t bytes(const StrategyRuns& runs) const override;
  uint64_t operations() const override;
  size_t valuation_count(const StrategyRuns& runs) const override {
    return static_cast<const ContestRuns&>(runs).tree.size();
  }
  size_t shared_bytes() const override { return machine_.bytes(); }
  // Of the strings and open matches that registers hold.
  bool wants_trim() const override { return machine_.wants_trim(); }
  void trim(std::span<StrategyRuns* const> all) override;

 private:
  struct Edge {
    MarksId marks;
    bool is_final;
    std::vector<Reference> targets;
  };

  Contest& outermost() { return tree_.contest(); }
  void step(ContestRuns& runs, ClassId cls, const Row& row, Graph& graph, std::vector<Root>& roots);
  void find_wanted(const ContestRuns& runs);
  void add_reaches(const Cea& cea, bool is_lent);
  void keep(ContestHistory& history, ClassId cls, std::span<const Clock> now);
  void plan_row(const ContestRuns& runs);
  void add_edges(uint32_t source, std::span<const Reference> references);
  Edge& edge_of(MarksId marks);
  void check_size(const ContestRuns& runs) const;
  void read_bundle(ByteReader& in, const Graph& graph, ContestRuns& runs);

  const Cea& cea_;
  ClassTrie& classes_;
  RegisterMachine machine_;
  ContestTree tree_;
  bool keeps_history_;
  std::vector<ContestReach> reaches_;  // Of the automata that read rows again.
  bool cuts_history_ = false;          // All of them only need so many.
  bool compares_;                      // The outermost contest does.
  bool is_bound_ = false;
  uint32_t valuation_count_max_;
  BundleStep step_;
  SequenceTable<Reference> keys_;  // After the row.
  std::vector<Edge> edges_;        // Of one source; those up to edge_count_ are in use.
  size_t edge_count_ = 0;
  std::vector<BundleEdge> bundle_edges_;
  std::vector<bool> wanted_;
  uint64_t operations_ = 0;
};

}  // namespace catena
