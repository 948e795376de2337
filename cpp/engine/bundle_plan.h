// The plan of one row for bundles (bundles.h): which of them flow into which.
//
// Every bundle of a part follows the edges that its kind has on the row. Bundles that come to the
// same kind with the same clocks have the same future, so they become one: the plan finds them by
// hashing and chains the moves into each target in the order they were added. Sources are added
// latest start first, so the first move into a target is its latest, and targets stand in order of
// falling latest start again (as in frontier.h).
//
// Cost: a move takes constant time and its clocks. Nothing is allocated once warm.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"

namespace catena {

// What makes bundles alike apart from their clocks: a number that the evaluator gives meaning to.
using BundleKind = uint32_t;
inline constexpr BundleKind kNoKind = 0xffffffffu;

// In BundleEdge::clocks: this row's own clock, or one of several that it has.
inline constexpr uint32_t kThisRow = 0;
inline constexpr uint32_t this_row(uint32_t place) { return place == 0 ? 0 : ~place; }

struct BundleEdge {
  MarksId marks;
  bool is_final;                 // The row ends matches.
  BundleKind target;             // kNoKind if nothing can follow.
  std::vector<uint32_t> clocks;  // Of the target: the source's, counted from 1, or this row's.
};

class BundlePlan {
 public:
  static constexpr uint32_t kEnd = 0xffffffffu;  // Ends a chain of moves.

  struct Move {
    uint32_t source;  // A bundle, or kNewRun.
    MarksId marks;
    bool is_final;
    uint32_t next;  // The next move into the same target.
  };
  struct Target {
    BundleKind kind;
    uint32_t clocks_begin;
    uint32_t first_move;
    uint32_t last_move;
  };

  void clear();

  // Adds the moves of a source with these clocks, on a row with the clocks `now`.
  void add(uint32_t source, std::span<const BundleEdge> edges, std::span<const Clock> clocks,
           std::span<const Clock> now);

  const std::vector<Target>& targets() const { return targets_; }
  const Move& move(uint32_t place) const { return moves_[place]; }
  size_t move_count() const { return moves_.size(); }

  // The clocks of all targets, one after the other; and those of one.
  const std::vector<Clock>& clocks() const { return clocks_; }
  std::span<const Clock> clocks_of(uint32_t target) const;

  // The first move into nothing, which may still be final.
  uint32_t first_into_nothing() const { return into_nothing_.first_move; }

 private:
  struct Bucket {
    uint32_t round = 0;  // It is empty if this is not the table's.
    uint32_t target = 0;
  };

  uint32_t find_or_add(const BundleEdge& edge, std::span<const Clock> clocks,
                       std::span<const Clock> now);
  uint32_t hash_of(uint32_t target) const;
  bool are_alike(uint32_t a, uint32_t b) const;
  uint32_t find(uint32_t target);
  void grow();
  void append(Target& target, uint32_t move);

  std::vector<Move> moves_;
  std::vector<Target> targets_;
  std::vector<Clock> clocks_;
  Target into_nothing_{kNoKind, 0, kEnd, kEnd};
  std::vector<Bucket> buckets_ = std::vector<Bucket>(64);  // A power of two, at most half full.
  uint32_t round_ = 1;
};

// Appends the clocks of an edge's target.
void carry_clocks(const BundleEdge& edge, std::span<const Clock> clocks, std::span<const Clock> now,
                  std::vector<Clock>& out);

}  // namespace catena
