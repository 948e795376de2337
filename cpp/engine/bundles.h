// Bundles: the open matches of a part that have the same future, for evaluators that tell runs
// apart by more than the states they are in.
//
// A bundle has a *kind* (to MAX a standing, to timed queries a set of automaton states), *clocks*
// (of rivals, or of time operators), and a union-list of the graph nodes of its matches, as in
// evaluator.h. A row takes each bundle over the edges that its kind and clocks have; bundles that
// come out alike are united (bundle_plan.h). So the cost of a row is that of the distinct
// (kind, clocks) alive and never that of the runs they stand for.
//
// Invariants: bundles are in order of falling latest start; lists keep the rules of union_list.h.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/types.h"
#include "engine/bundle_plan.h"
#include "engine/row.h"
#include "matches/graph.h"
#include "matches/result_set.h"
#include "matches/union_list.h"

namespace catena {

struct Bundle {
  Clock max_start;
  BundleKind kind;
  uint32_t clock_count;
  uint32_t length;  // Of its list.
  NodeRef merged;   // The list as one node; kNotMerged until somebody needs that.
};
inline const NodeRef kNotMerged = NodeRef::from_bits(0xffffffffu);

// The lists and clocks of the bundles lie one after the other in two flat vectors.
struct Bundles {
  std::vector<Bundle> all;
  std::vector<Clock> clocks;
  std::vector<Entry> entries;

  void clear();
  // Drops the last bundle.
  void pop();
  // Keeps the bundles of which keep(bundle, clocks) is true.
  template <typename Keep>
  void keep_if(Keep keep);
  // Drops the entries that have left the window; every bundle must have one inside.
  void cut_lists(Clock threshold);
  void mark_nodes(Compaction& compaction, Clock threshold) const;
  void move_nodes(const Compaction& compaction);
  size_t bytes() const;
};

template <typename Keep>
void Bundles::keep_if(Keep keep) {
  Bundles kept;
  size_t clocks_at = 0;
  size_t entries_at = 0;
  for (const Bundle& bundle : all) {
    const auto own_clocks = std::span(clocks).subspan(clocks_at, bundle.clock_count);
    const auto list = std::span(entries).subspan(entries_at, bundle.length);
    if (keep(bundle, own_clocks)) {
      kept.all.push_back(bundle);
      kept.clocks.insert(kept.clocks.end(), own_clocks.begin(), own_clocks.end());
      kept.entries.insert(kept.entries.end(), list.begin(), list.end());
    }
    clocks_at += bundle.clock_count;
    entries_at += bundle.length;
  }
  *this = std::move(kept);
}

// Takes the bundles of a part over a row: `locate` them, fill in the `plan`, then `take` it.
class BundleStep {
 public:
  void locate(const Bundles& bundles);

  // The clocks of a bundle that has been located.
  std::span<const Clock> clocks_of(const Bundles& bundles, uint32_t place) const {
    return std::span(bundles.clocks).subspan(clocks_at_[place], bundles.all[place].clock_count);
  }

  BundlePlan plan;

  // Carries out the plan; appends the roots of the moves that are final.
  void take(Bundles& bundles, const Row& row, Graph& graph, std::vector<Root>& roots);

  uint64_t operations() const { return operations_; }

 private:
  Entry merged(Bundles& bundles, uint32_t place, Clock threshold, Graph& graph);
  Entry carried(Bundles& bundles, const BundlePlan::Move& move, const Row& row, Graph& graph);
  void copy_list(const Bundles& bundles, uint32_t place, Clock threshold);
  void build(Bundles& bundles, uint32_t target, const Row& row, Graph& graph,
             std::vector<Root>& roots);

  std::vector<size_t> clocks_at_;   // Where each bundle's clocks begin,
  std::vector<size_t> entries_at_;  // and its list.
  Bundles next_;                    // The bundles being built.
  uint64_t operations_ = 0;
};

// For snapshots: the list of a bundle. The reader appends it to the entries of the others, checks
// it and the order of the bundles, and fills in what the bundle says of it.
void write_list(ByteWriter& out, std::span<const Entry> list);
void read_list(ByteReader& in, const Graph& graph, Bundles& bundles, Bundle& bundle);

}  // namespace catena
