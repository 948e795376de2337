// An event expression, and where each of its variables lies: everything that is known before the
// first event comes. Carlson and Lisper, "A resource-efficient event algebra", sections 2 and 4.3.
//
// Subexpressions are *sources* of instances: first the primitives, each of them once however often
// the expression names it, then the empty event 0, then the operators in postorder. The state of a
// detection is one block of words whose size the expression alone determines:
//
//   A + B   l, r: the past instances of A and of B that start last
//   A - B   t: the latest start of an instance of B
//   A ; B   l, and Q: those older instances of A that a half done B may still need
//   S       below the right side of a sequence: the starts that an instance may have yet
//
// S of an operator is kept only where somebody reads it: a sequence reads that of its right side,
// and whoever's S is read reads those of its parts, but `A - B` only that of A. Example: of
// `(A ; B) ; C` no S is kept at all, of `A ; (B ; C)` only that of `B ; C`.
//
// Invariant: |Q| of a sequence is at most |S| of its right side, and |S| is less than the number of
// subexpressions (Propositions 37 and 38). So the block takes O(m^2) instances of m subexpressions
// at most; an instance is two words or, with rows, three and one for each row it may have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/types.h"

namespace catena {

using Word = int64_t;

enum class EventOp : uint8_t { kDisjunction, kConjunction, kNegation, kSequence, kRestriction };

// An operator as it is written down; a restriction has a left side only, and an interval.
struct EventNode {
  EventOp op;
  uint32_t left;
  uint32_t right;
  IntervalId interval;
};

// An ordered set of starts in the block: its size, then its members. No set is kept at kNowhere.
inline constexpr uint32_t kNowhere = UINT32_MAX;

struct EventOperator {
  EventOp op;
  IntervalId interval;
  uint32_t left;    // Sources.
  uint32_t right;   // kNowhere for a restriction.
  uint32_t parent;  // An operator, or kNowhere.

  uint32_t words;        // Of an instance.
  uint32_t left_words;   // Of an instance of the left side.
  uint32_t right_words;  // The same of the right side.
  uint32_t made;         // Where an instance is put together in the scratch words, or kNowhere.

  // Places in the block, kNowhere if there is nothing.
  uint32_t left_last;     // l of + and ; .
  uint32_t right_last;    // r of + .
  uint32_t latest_start;  // t of - .
  uint32_t stored;        // Q of ; : its size, then its instances.
  uint32_t stored_max;
  uint32_t starts;  // S.
  uint32_t starts_max;
  uint32_t left_starts;  // S of the sides, if they have one.
  uint32_t right_starts;
};

class EventExpression {
 public:
  // Sources are numbered as above. Throws Error kUser if they are not a tree in postorder, and
  // kLimit if detection would take more than `bytes_max`.
  EventExpression(uint32_t primitive_count, const std::vector<EventNode>& nodes, uint32_t root,
                  uint32_t interval_count, bool with_rows, uint64_t bytes_max);

  uint32_t primitive_count() const { return primitive_count_; }
  uint32_t interval_count() const { return interval_count_; }
  bool with_rows() const { return with_rows_; }
  uint32_t root() const { return root_; }
  uint32_t empty_event() const { return primitive_count_; }
  uint32_t source_count() const { return primitive_count_ + 1 + operator_count(); }
  uint32_t operator_count() const { return static_cast<uint32_t>(operators_.size()); }
  uint32_t source_of(uint32_t op) const { return primitive_count_ + 1 + op; }
  bool is_operator(uint32_t source) const { return source > primitive_count_; }
  uint32_t operator_of(uint32_t source) const { return source - primitive_count_ - 1; }
  const std::vector<EventOperator>& operators() const { return operators_; }

  // The operators that have the primitive as a side, 64 to a word.
  const uint64_t* users_of(uint32_t primitive) const {
    return users_.data() + static_cast<size_t>(primitive) * user_words_;
  }
  uint32_t user_words() const { return user_words_; }

  // Words of an instance of a source, and of the root's.
  uint32_t instance_words(uint32_t source) const { return words_[source]; }

  // The static bounds: of the block, of what is shared by all blocks, and of what a block holds.
  uint32_t state_words() const { return state_words_; }
  uint32_t scratch_words() const { return scratch_words_; }
  uint32_t starts_words() const { return starts_words_; }
  uint64_t instance_count_max() const { return instance_count_max_; }
  uint64_t time_count_max() const { return time_count_max_; }

 private:
  void check(const std::vector<EventNode>& nodes) const;
  void find_widths(const std::vector<EventNode>& nodes);
  void find_starts();
  void place(uint64_t bytes_max);
  void place_operator(EventOperator& op, uint64_t& words);
  void find_users();
  uint32_t starts_max_of(uint32_t source) const;
  uint32_t starts_of(uint32_t source) const;

  uint32_t primitive_count_;
  uint32_t root_;
  uint32_t interval_count_;
  bool with_rows_;
  std::vector<EventOperator> operators_;
  std::vector<uint32_t> words_;     // By source.
  std::vector<bool> keeps_starts_;  // By operator.
  std::vector<uint64_t> users_;     // By primitive.
  uint32_t user_words_ = 0;
  uint32_t state_words_ = 0;
  uint32_t scratch_words_ = 0;
  uint32_t starts_words_ = 0;
  uint64_t instance_count_max_ = 0;
  uint64_t time_count_max_ = 0;
};

// Words before the rows of an instance: start and end; with rows also their number.
constexpr uint32_t head_words(bool with_rows) { return with_rows ? 3 : 2; }

}  // namespace catena
