// The plan of one row under MAX: which bundles flow into which.
//
// Every bundle of a part follows the edges of its standing's step. Bundles that come to the same
// standing with the same clocks have the same future, so they become one: the plan finds them by
// hashing and chains the moves into each target in the order they were added. Sources are added
// latest start first, so the first move into a target is its latest, and targets stand in order of
// falling latest start again (as in frontier.h).
//
// Cost: a move takes constant time and its ranks. Nothing is allocated once warm.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"
#include "engine/max_steps.h"

namespace catena {

class MaxPlan {
 public:
  static constexpr uint32_t kEnd = 0xffffffffu;  // Ends a chain of moves.

  struct Move {
    uint32_t source;  // A bundle, or kNewRun.
    MarksId marks;
    bool is_final;
    uint32_t next;  // The next move into the same target.
  };
  struct Target {
    StandingId standing;
    uint32_t clocks_begin;
    uint32_t first_move;
    uint32_t last_move;
  };

  void clear();

  // Adds the moves of a source. The clock of its rank r is clocks[r - 1], that of rank 0 is `now`.
  void add(uint32_t source, std::span<const StandingEdge> edges, std::span<const Clock> clocks,
           Clock now);

  const std::vector<Target>& targets() const { return targets_; }
  const Move& move(uint32_t place) const { return moves_[place]; }
  size_t move_count() const { return moves_.size(); }

  // The clocks of all targets, one after the other.
  const std::vector<Clock>& clocks() const { return clocks_; }

  // The first move into nothing, which may still be final.
  uint32_t first_into_nothing() const { return into_nothing_.first_move; }

 private:
  struct Bucket {
    uint32_t round = 0;  // It is empty if this is not the table's.
    uint32_t target = 0;
  };

  uint32_t find_or_add(const StandingEdge& edge, std::span<const Clock> clocks, Clock now);
  uint32_t hash_of(uint32_t target) const;
  bool are_alike(uint32_t a, uint32_t b) const;
  std::span<const Clock> clocks_of(uint32_t target) const;
  uint32_t find(uint32_t target);
  void grow();
  void append(Target& target, uint32_t move);

  std::vector<Move> moves_;
  std::vector<Target> targets_;
  std::vector<Clock> clocks_;
  Target into_nothing_{kNoStanding, 0, kEnd, kEnd};
  std::vector<Bucket> buckets_ = std::vector<Bucket>(64);  // A power of two, at most half full.
  uint32_t round_ = 1;
};

// Appends the clocks of an edge's target.
void carry_clocks(const StandingEdge& edge, std::span<const Clock> clocks, Clock now,
                  std::vector<Clock>& out);

}  // namespace catena
