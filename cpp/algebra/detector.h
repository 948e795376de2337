// Detection of an event expression, tick by tick: the algorithm of Carlson and Lisper (section 4)
// with ordered sets (section 4.2), event-driven.
//
// A tick is the primitives that occur at one time. It gives at most one instance of the expression:
// one that ends at this time, and of those one with the latest start (Definition 13). Theorem 15
// allows the same choice at every subexpression, which is what makes the memory bounded.
//
// An operator is visited if one of its sides has an instance now, or the set S that it reads has
// changed; a visit that leaves neither an instance nor a changed S ends there. For all others the
// algorithm would change nothing: Q depends on l and S only, and once made for an S it stays the
// same, since whatever l becomes later ends at or after every start in that S.
// Example: for `(B ; B)[2] - (P | T)` an event B visits the sequence, and goes on to the
// restriction only if there was a B before; an event P visits `|` and `-`.
//
// The block of a detection (event_expression.h) is the caller's, so one detector serves all parts
// of a partitioned stream. An instance is its start, its end and, with rows, their number and the
// elements: a row and its primitive in one word. Nothing is allocated after construction.
//
// Invariant: Q and S are ordered by start, strictly; Q also by end, and l comes after all of Q.
// Cost: a tick takes time linear in the words of what it visits, which the bound of the block
// bounds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "algebra/event_expression.h"
#include "engine/interval.h"

namespace catena {

// The start of no instance: before every time.
inline constexpr Word kNone = kClockMin;

// A row that is an occurrence of a primitive.
constexpr int kRowBits = 47;
constexpr Word element_of(uint32_t primitive, Position row) {
  return static_cast<Word>(static_cast<uint64_t>(primitive) << kRowBits) | row;
}
constexpr uint32_t primitive_of(Word element) {
  return static_cast<uint32_t>(static_cast<uint64_t>(element) >> kRowBits);
}
constexpr Position row_of(Word element) { return element & ((Word{1} << kRowBits) - 1); }

class Detector {
 public:
  explicit Detector(std::shared_ptr<const EventExpression> expression);

  const EventExpression& expression() const { return *expression_; }

  // The lengths that restrictions allow, by id; must be called before the first tick.
  void bind(const std::vector<Interval>& intervals);

  // Makes a block as it is before the first tick.
  void start(Word* block) const;

  // One tick, later than the last one of this block. `occurred` has a bit for each primitive, 64 to
  // a word; `rows` the row of each that occurred, and is read with rows only. Gives the instance
  // that the tick detects, valid until the next call, or null.
  const Word* tick(Word* block, Clock time, const uint64_t* occurred, const Position* rows);

  // True if a part whose last tick was `then` can be forgotten `now`: all that it remembers is too
  // old to be part of any instance.
  bool is_past(Clock then, Clock now) const;

  // What a block holds, to compare with the static bounds.
  uint64_t stored_instances(const Word* block) const;
  uint64_t stored_times(const Word* block) const;

  // Operators visited since construction.
  uint64_t visits() const { return visits_; }

  // Throws Error kSnapshot unless the block could have been left by a tick up to `now` that has
  // read rows below `position`.
  void check(const Word* block, Clock now, Position position) const;

 private:
  // How long an instance can be: no time at all, up to the end of an interval, or any length.
  struct Horizon {
    bool is_forever = true;
    std::optional<Interval> interval;  // None: instances take no time.
  };

  Horizon horizon_of(const EventOperator& op, const std::vector<Horizon>& of_source) const;
  // The same for expressions whose primitives and operators each fit one word.
  template <bool kRows>
  const Word* run_small(Word* block, Clock time, uint64_t occurred, const Position* rows);
  template <bool kRows>
  const Word* run(Word* block, Clock time, const uint64_t* occurred, const Position* rows);
  template <bool kRows>
  void occur(uint32_t primitive, Clock time, const Position* rows);
  // Gives the operator to visit next on account of this one, or kNowhere.
  template <bool kRows>
  uint32_t visit(uint32_t index, Word* block);
  template <bool kRows>
  const Word* conjunction(const EventOperator& op, Word* block);
  template <bool kRows>
  const Word* sequence(const EventOperator& op, Word* block);
  template <bool kRows>
  void keep_for_starts(const EventOperator& op, Word* block);
  const Word* disjunction(const EventOperator& op) const;
  const Word* negation(const EventOperator& op, Word* block) const;
  const Word* restriction(const EventOperator& op) const;
  bool merge_starts(const EventOperator& op, Word* block);
  uint32_t own_starts(const EventOperator& op, const Word* block);
  void check_instance(const Word* instance, uint32_t words, Clock now, Position position) const;
  void check_stored(const EventOperator& op, const Word* block, Clock now, Position position) const;
  void check_starts(const EventOperator& op, const Word* block, Clock now) const;

  std::shared_ptr<const EventExpression> expression_;
  std::vector<Interval> intervals_;   // By id.
  std::vector<uint64_t> whole_ends_;  // By id; empty if times are floats.
  Horizon horizon_;                   // Of the whole expression.
  std::vector<const Word*> current_;  // By source: its instance of this tick, or null.
  std::vector<Word> scratch_;         // Primitives' instances, then those that are put together.
  std::vector<uint64_t> todo_;        // Operators to visit in this tick.
  std::vector<uint32_t> visited_;     // Those visited, in order.
  std::vector<Word> starts_;          // Starts of an operator's own instances.
  uint64_t visits_ = 0;
};

}  // namespace catena
