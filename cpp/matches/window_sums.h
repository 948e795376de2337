// The number of outputs of a node inside a window that moves on, without looking at the window's
// nodes anew for every root.
//
// Outputs leave the window at its back while nodes are added at its front, and a sum cannot be
// taken back from a sum. So the nodes are cut at a pivot. Of a node after the pivot it is kept how
// many of its outputs start after it, all of which are inside the window as yet, and by how many
// ways it leads to each of the few nodes before the pivot that are led to at all, the *columns*. Of
// a column it is kept how many outputs start at which clock, latest first, so those that leave the
// window are taken off the end. A root's number is then one short sum of products. When the first
// start after the pivot leaves the window, the pivot moves to where the reader is.
//
//   A ; B, window 4, pivot after 2 As:   the list of As is column 0, with starts 2, 1
//   a third A:    join(start, column 0)  = [1 output of its own, 1 way to column 0]
//   B on row 5:   output of it, starts from 2 on: 1 + 1 * 1
//
// Where clocks of starts do not rise, as those of several parts do not, or numbers do not fit 64
// bits, nothing is given, and the caller has to count in another way (counter.h).
//
// Cost: for every node once a time linear in the columns; for every column the nodes below it,
// which is, as the pivot moves once in a window, amortised constant for every node and column.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/types.h"
#include "matches/graph.h"

namespace catena {

class WindowSums {
 public:
  // The number of outputs that start at the threshold or later. Thresholds must not fall.
  std::optional<uint64_t> count(const Graph& graph, NodeRef node, Clock threshold);

 private:
  static constexpr size_t kColumnsMax = 7;
  static constexpr Clock kNoClock = std::numeric_limits<Clock>::max();

  // Outputs with a start after the pivot; ways to each column.
  using Sum = std::array<uint64_t, 1 + kColumnsMax>;

  struct Starts {
    Clock clock;
    uint64_t count;
  };
  struct Column {
    uint32_t index;
    std::vector<Starts> starts;  // Latest first.
    uint64_t total;
  };
  enum class Outcome : uint8_t { kDone, kFull, kFailed };

  void move_pivot(uint32_t index);
  Outcome read_to(uint32_t index);
  Outcome read(const GraphNode& node, Sum& sum);
  Outcome add(NodeRef ref, Sum& sum);
  Outcome total(NodeRef ref, uint64_t& result);
  Column* column_of(uint32_t index);
  bool find_starts(Column& column);
  bool reach(NodeRef ref, uint32_t top, uint64_t ways);
  void drop_starts(Column& column) const;

  const Graph* graph_ = nullptr;
  Clock threshold_ = kClockMin;
  uint32_t pivot_ = 0;            // The first node after it.
  Clock first_start_ = kNoClock;  // After the pivot.
  Clock last_start_ = kClockMin;
  bool has_failed_ = false;  // Since the pivot was moved.
  bool is_ordered_ = true;   // In this graph, as far as seen.
  std::vector<Sum> sums_;    // Of the nodes after the pivot that have been read.
  std::vector<Column> columns_;
  std::vector<uint64_t> ways_;  // To the nodes below a column, from it down.
};

}  // namespace catena
