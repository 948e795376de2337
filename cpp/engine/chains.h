// Chains: the open matches of a part in lists that are in order by start and by every clock at
// once.
//
// Time operators that only bound from above, `A ;[<= 5] B`, ask of a run's clocks whether they were
// reset late enough. So runs need not be kept apart by their clocks, as bundles.h does: a list of
// them in which the clocks fall is enough, since whatever a later row asks holds of a first part of
// the list, and that part is the list behind a gate (matches/graph.h). With a window, or several
// clocks, a list must fall by start and all clocks at once. This is what a *chain* is:
//
//   A ;[<= 5] B ;[<= 5] C WITHIN 60, As at 1 2 3, Bs at 4 6, waiting for C:
//   the B at 6 (clock 6, latest start 3), then the B at 4 (clock 4, latest start 3): one chain
//
// Counter-example: of (D ; E) OR (A ; B), D A B E at 1 2 3 4, the match that was reset last, at the
// E, has the earlier start. The two are *apart*: neither can stand before the other, and they go
// into two chains. With one clock and no window nothing is ever apart.
//
// An entry of a chain is a node of the graph with its *latest values*, of start and clocks: one of
// its outputs has them all, which is what makes "inside the window and let through by all gates"
// one comparison of values. An entry also knows which clocks are *open* in its node: below it are
// joins that no gate has closed since the clock was reset, so that a check must become a gate.
//
// Within a chain the rules of union_list.h hold: the first entry is simple, the others are safe and
// strictly fall, and `merged` joins them with bounded left depth. (Paper 000, appendix C.)
//
// Cost: an entry is put into its place in time linear in the chains of its state, each no longer
// than the number of live states; nothing is allocated once warm.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"
#include "matches/graph.h"
#include "matches/union_list.h"

namespace catena {

struct ChainEntry {
  NodeRef node;
  ClockMask open;
};

struct Chain {
  DetStateId state;
  uint32_t length;
  NodeRef merged;  // The whole chain as one node; kNoNode until somebody needs that.
};

// The entries of the chains lie one after the other; each has 1 + clock_count values, start first.
struct Chains {
  std::vector<Chain> all;
  std::vector<ChainEntry> entries;
  std::vector<Clock> values;

  void clear();
  size_t bytes() const;
};

enum class Order : uint8_t { kEqual, kBefore, kAfter, kApart };

// How the latest values of two entries stand: kBefore if the first is as late by all of them.
Order compare(std::span<const Clock> one, std::span<const Clock> other);

// A chain under construction.
class ChainList {
 public:
  explicit ChainList(size_t width) : width_(width) {}

  // Starts with one entry, or with a whole chain of which what lies outside the window is left out.
  void begin(const ChainEntry& entry, std::span<const Clock> values);
  void begin(std::span<const ChainEntry> entries, std::span<const Clock> values, NodeRef merged,
             Clock threshold);

  // Puts a safe node into its place behind the first entry; false if it is apart from some entry.
  bool insert(Graph& graph, const ChainEntry& entry, std::span<const Clock> values);

  void append_to(Chains& chains, DetStateId state) const;

  size_t length() const { return entries_.size(); }

 private:
  std::span<const Clock> values_of(size_t place) const {
    return std::span(values_).subspan(place * width_, width_);
  }

  size_t width_;
  std::vector<ChainEntry> entries_;
  std::vector<Clock> values_;
  NodeRef merged_;
};

// One safe node for a whole chain, with its latest values those of its first entry.
NodeRef merge_chain(Graph& graph, std::span<const ChainEntry> entries,
                    std::span<const Clock> values);

}  // namespace catena
