#include "algebra/detector.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <functional>
#include <limits>
#include <span>

#include "base/envelope.h"

namespace catena {
namespace {

// The words of an instance are its start, its end, the number of its elements, the elements.
constexpr int kStart = 0;
constexpr int kEnd = 1;
constexpr int kCount = 2;
constexpr int kElements = 3;

template <bool kRows>
void copy_instance(Word* to, const Word* from) {
  to[kStart] = from[kStart];
  to[kEnd] = from[kEnd];
  if constexpr (kRows) std::copy_n(from + kCount, 1 + from[kCount], to + kCount);
}

// The paper's constructor: both together.
template <bool kRows>
const Word* join(Word* to, const Word* one, const Word* other) {
  to[kStart] = std::min(one[kStart], other[kStart]);
  to[kEnd] = std::max(one[kEnd], other[kEnd]);
  if constexpr (kRows) {
    to[kCount] = one[kCount] + other[kCount];
    Word* rest = std::copy_n(one + kElements, one[kCount], to + kElements);
    std::copy_n(other + kElements, other[kCount], rest);
  }
  return to;
}

Word start_of(const Word* instance) { return instance == nullptr ? kNone : instance[kStart]; }

bool is_none(const Word* instance) { return instance[kStart] == kNone; }

void clear_instance(Word* instance) { instance[kStart] = instance[kEnd] = kNone; }

// A set in the block: its size, then its members.
std::span<const Word> set_at(const Word* block, uint32_t place) {
  if (place == kNowhere) return {};
  return {block + place + 1, static_cast<size_t>(block[place])};
}

}  // namespace

Detector::Detector(std::shared_ptr<const EventExpression> expression)
    : expression_(std::move(expression)),
      current_(expression_->source_count(), nullptr),
      scratch_(expression_->scratch_words()),
      todo_(expression_->user_words(), 0),
      visited_(expression_->operator_count()),
      starts_(expression_->starts_words()) {}

void Detector::bind(const std::vector<Interval>& intervals) {
  assert(intervals.size() == expression_->interval_count());
  intervals_ = intervals;
  whole_ends_.clear();
  for (const Interval& interval : intervals) {
    if (const auto end = interval.whole_end()) whole_ends_.push_back(*end);
  }
  std::vector<Horizon> of_source(expression_->primitive_count() + 1, Horizon{false, {}});
  for (const EventOperator& op : expression_->operators()) {
    of_source.push_back(horizon_of(op, of_source));
  }
  horizon_ = of_source[expression_->root()];
}

Detector::Horizon Detector::horizon_of(const EventOperator& op,
                                       const std::vector<Horizon>& of_source) const {
  const auto is_longer = [](const Horizon& one, const Horizon& other) {
    if (one.is_forever || other.is_forever) return one.is_forever;
    if (!one.interval || !other.interval) return one.interval.has_value();
    return one.interval->ends_after(*other.interval);
  };
  const Horizon& left = of_source[op.left];
  switch (op.op) {
    case EventOp::kDisjunction:
      return is_longer(left, of_source[op.right]) ? left : of_source[op.right];
    case EventOp::kNegation:
      return left;
    case EventOp::kRestriction: {
      const Horizon limit{false, intervals_[op.interval]};
      return is_longer(left, limit) ? limit : left;
    }
    case EventOp::kConjunction:
    case EventOp::kSequence:
      return {};
  }
  return {};
}

bool Detector::is_past(Clock then, Clock now) const {
  if (horizon_.is_forever) return false;
  return horizon_.interval ? horizon_.interval->is_past(then, now) : then < now;
}

void Detector::start(Word* block) const {
  std::fill_n(block, expression_->state_words(), Word{0});
  for (const EventOperator& op : expression_->operators()) {
    if (op.left_last != kNowhere) clear_instance(block + op.left_last);
    if (op.right_last != kNowhere) clear_instance(block + op.right_last);
    if (op.latest_start != kNowhere) block[op.latest_start] = kNone;
  }
}

const Word* Detector::tick(Word* block, Clock time, const uint64_t* occurred,
                           const Position* rows) {
  const bool is_small = todo_.size() == 1 && expression_->primitive_count() <= 64;
  if (expression_->with_rows()) {
    return is_small ? run_small<true>(block, time, *occurred, rows)
                    : run<true>(block, time, occurred, rows);
  }
  return is_small ? run_small<false>(block, time, *occurred, rows)
                  : run<false>(block, time, occurred, rows);
}

template <bool kRows>
void Detector::occur(uint32_t primitive, Clock time, const Position* rows) {
  Word* instance =
      scratch_.data() + static_cast<size_t>(primitive) * (head_words(kRows) + (kRows ? 1 : 0));
  instance[kStart] = instance[kEnd] = time;
  if constexpr (kRows) {
    instance[kCount] = 1;
    instance[kElements] = element_of(primitive, rows[primitive]);
  }
  current_[primitive] = instance;
}

template <bool kRows>
const Word* Detector::run_small(Word* block, Clock time, uint64_t occurred, const Position* rows) {
  const auto first = [](uint64_t bits) { return static_cast<uint32_t>(std::countr_zero(bits)); };
  const uint32_t operators = expression_->source_of(0);
  uint64_t todo = 0;
  for (uint64_t bits = occurred; bits != 0; bits &= bits - 1) {
    occur<kRows>(first(bits), time, rows);
    todo |= *expression_->users_of(first(bits));
  }
  uint64_t visited = 0;
  while (todo != 0) {  // A visit may set a bit, always of a later operator.
    const uint32_t index = first(todo);
    todo &= todo - 1;
    visited |= uint64_t{1} << index;
    if (const uint32_t next = visit<kRows>(index, block); next != kNowhere) {
      todo |= uint64_t{1} << next;
    }
  }
  visits_ += static_cast<uint64_t>(std::popcount(visited));
  const Word* detected = current_[expression_->root()];
  for (; visited != 0; visited &= visited - 1) current_[operators + first(visited)] = nullptr;
  for (; occurred != 0; occurred &= occurred - 1) current_[first(occurred)] = nullptr;
  return detected;
}

template <bool kRows>
const Word* Detector::run(Word* block, Clock time, const uint64_t* occurred, const Position* rows) {
  const uint32_t primitive_words = (expression_->primitive_count() + 63) / 64;
  const auto for_each_primitive = [&](auto visit_primitive) {
    for (uint32_t word = 0; word < primitive_words; ++word) {
      for (uint64_t bits = occurred[word]; bits != 0; bits &= bits - 1) {
        visit_primitive(64 * word + static_cast<uint32_t>(std::countr_zero(bits)));
      }
    }
  };
  for_each_primitive([&](uint32_t primitive) {
    occur<kRows>(primitive, time, rows);
    const uint64_t* users = expression_->users_of(primitive);
    for (size_t word = 0; word < todo_.size(); ++word) todo_[word] |= users[word];
  });
  size_t visited_count = 0;
  for (size_t word = 0; word < todo_.size(); ++word) {
    while (todo_[word] != 0) {  // A visit may set bits, always of later operators.
      const uint32_t index =
          static_cast<uint32_t>(64 * word) + static_cast<uint32_t>(std::countr_zero(todo_[word]));
      todo_[word] &= todo_[word] - 1;
      const uint32_t next = visit<kRows>(index, block);
      if (next != kNowhere) todo_[next / 64] |= uint64_t{1} << (next % 64);
      visited_[visited_count++] = expression_->source_of(index);
    }
  }
  visits_ += visited_count;
  const Word* detected = current_[expression_->root()];
  for (size_t i = 0; i < visited_count; ++i) current_[visited_[i]] = nullptr;
  for_each_primitive([&](uint32_t primitive) { current_[primitive] = nullptr; });
  return detected;
}

template <bool kRows>
uint32_t Detector::visit(uint32_t index, Word* block) {
  const EventOperator& op = expression_->operators()[index];
  const Word* instance = nullptr;
  switch (op.op) {
    case EventOp::kDisjunction:
      instance = disjunction(op);
      break;
    case EventOp::kConjunction:
      instance = conjunction<kRows>(op, block);
      break;
    case EventOp::kNegation:
      instance = negation(op, block);
      break;
    case EventOp::kSequence:
      instance = sequence<kRows>(op, block);
      break;
    case EventOp::kRestriction:
      instance = restriction(op);
      break;
  }
  current_[expression_->source_of(index)] = instance;
  const bool has_new_starts = op.starts != kNowhere && merge_starts(op, block);
  return instance != nullptr || has_new_starts ? op.parent : kNowhere;
}

const Word* Detector::disjunction(const EventOperator& op) const {
  const Word* left = current_[op.left];
  const Word* right = current_[op.right];
  return start_of(left) <= start_of(right) ? right : left;
}

template <bool kRows>
const Word* Detector::conjunction(const EventOperator& op, Word* block) {
  const Word* left = current_[op.left];
  const Word* right = current_[op.right];
  Word* left_last = block + op.left_last;
  Word* right_last = block + op.right_last;
  if (start_of(left) > left_last[kStart]) copy_instance<kRows>(left_last, left);
  if (start_of(right) > right_last[kStart]) copy_instance<kRows>(right_last, right);
  if (is_none(left_last) || is_none(right_last)) return nullptr;
  if (left == nullptr && right == nullptr) return nullptr;
  Word* made = scratch_.data() + op.made;
  if (start_of(right) <= start_of(left)) return join<kRows>(made, left, right_last);
  return join<kRows>(made, left_last, right);
}

const Word* Detector::negation(const EventOperator& op, Word* block) const {
  Word& latest_start = block[op.latest_start];
  latest_start = std::max(latest_start, start_of(current_[op.right]));
  const Word* left = current_[op.left];
  return start_of(left) > latest_start ? left : nullptr;
}

const Word* Detector::restriction(const EventOperator& op) const {
  const Word* left = current_[op.left];
  if (left == nullptr) return nullptr;
  if (!whole_ends_.empty()) {  // No instance ends before it starts, so this does not overflow.
    const auto length = static_cast<uint64_t>(left[kEnd]) - static_cast<uint64_t>(left[kStart]);
    return length <= whole_ends_[op.interval] ? left : nullptr;
  }
  return intervals_[op.interval].is_past(left[kStart], left[kEnd]) ? nullptr : left;
}

template <bool kRows>
const Word* Detector::sequence(const EventOperator& op, Word* block) {
  Word* last = block + op.left_last;
  const Word* left = current_[op.left];
  const Word* right = current_[op.right];
  const Word* before = nullptr;  // The latest instance of the left side that ends in time.
  if (right != nullptr) {
    if (!is_none(last) && last[kEnd] < right[kStart]) {
      before = last;
    } else if (op.stored != kNowhere) {
      const Word* stored = block + op.stored + 1;
      for (Word i = block[op.stored]; i-- > 0 && before == nullptr;) {
        if (stored[i * op.left_words + kEnd] < right[kStart]) before = stored + i * op.left_words;
      }
    }
  }
  const Word* made =
      before == nullptr ? nullptr : join<kRows>(scratch_.data() + op.made, before, right);
  if (op.stored != kNowhere) keep_for_starts<kRows>(op, block);
  if (start_of(left) > last[kStart]) copy_instance<kRows>(last, left);
  return made;
}

// Q: for every start that an instance of the right side may have, the latest instance that ends
// before it, of Q and l. One pass over both, in place: what is kept is never behind what is read.
template <bool kRows>
void Detector::keep_for_starts(const EventOperator& op, Word* block) {
  const Word* last = block + op.left_last;
  Word* stored = block + op.stored + 1;
  const Word size = op.left_words;
  const Word stored_count = block[op.stored];
  const Word count = stored_count + (is_none(last) ? 0 : 1);
  const auto at = [&](Word i) -> const Word* {
    return i < stored_count ? stored + i * size : last;
  };
  Word read = 0;   // Those before it end in time.
  Word taken = 0;  // Those before it have been looked at and kept or left out.
  Word kept = 0;
  for (const Word start : set_at(block, op.right_starts)) {
    while (read < count && at(read)[kEnd] < start) ++read;
    if (read == taken) continue;
    if (at(read - 1) != stored + kept * size) {
      copy_instance<kRows>(stored + kept * size, at(read - 1));
    }
    taken = read;
    ++kept;
  }
  block[op.stored] = kept;
}

// The starts of what an operator itself has stored, in order; gives their number.
uint32_t Detector::own_starts(const EventOperator& op, const Word* block) {
  uint32_t count = 0;
  const auto add = [&](Word start) {
    if (start != kNone && (count == 0 || starts_[count - 1] != start)) starts_[count++] = start;
  };
  if (op.op == EventOp::kConjunction) {
    const Word left = block[op.left_last + kStart];
    const Word right = block[op.right_last + kStart];
    add(std::min(left, right));
    add(std::max(left, right));
  }
  if (op.op == EventOp::kSequence) {
    const Word stored_count = op.stored == kNowhere ? 0 : block[op.stored];
    for (Word i = 0; i < stored_count; ++i) {
      add(block[op.stored + 1 + i * op.left_words + kStart]);
    }
    add(block[op.left_last + kStart]);
  }
  return count;
}

// S: those of the sides and the operator's own, in one pass; tells whether it has changed.
bool Detector::merge_starts(const EventOperator& op, Word* block) {
  const bool takes_right = op.op == EventOp::kDisjunction || op.op == EventOp::kConjunction;
  std::span<const Word> sets[] = {
      set_at(block, op.left_starts),
      set_at(block, takes_right ? op.right_starts : kNowhere),
      {starts_.data(), own_starts(op, block)},
  };
  Word* members = block + op.starts + 1;
  const Word count_before = block[op.starts];
  Word count = 0;
  bool is_changed = false;
  while (true) {
    Word next = std::numeric_limits<Word>::max();
    bool is_over = true;
    for (const auto& set : sets) {
      if (set.empty()) continue;
      is_over = false;
      next = std::min(next, set.front());
    }
    if (is_over) break;
    for (auto& set : sets) {
      if (!set.empty() && set.front() == next) set = set.subspan(1);
    }
    is_changed |= count >= count_before || members[count] != next;
    members[count++] = next;
  }
  block[op.starts] = count;
  assert(count <= static_cast<Word>(op.starts_max));
  return is_changed || count != count_before;
}

uint64_t Detector::stored_instances(const Word* block) const {
  uint64_t count = 0;
  for (const EventOperator& op : expression_->operators()) {
    if (op.left_last != kNowhere) count += !is_none(block + op.left_last);
    if (op.right_last != kNowhere) count += !is_none(block + op.right_last);
    count += set_at(block, op.stored).size();
  }
  return count;
}

uint64_t Detector::stored_times(const Word* block) const {
  uint64_t count = 0;
  for (const EventOperator& op : expression_->operators()) {
    if (op.latest_start != kNowhere) count += block[op.latest_start] != kNone;
    count += set_at(block, op.starts).size();
  }
  return count;
}

void Detector::check_instance(const Word* instance, uint32_t words, Clock now,
                              Position position) const {
  if (is_none(instance)) return require_intact(instance[kEnd] == kNone, "an instance has no start");
  require_intact(instance[kStart] <= instance[kEnd] && instance[kEnd] <= now,
                 "an instance ends before it starts, or too late");
  if (!expression_->with_rows()) return;
  const Word count = instance[kCount];
  require_intact(count > 0 && count <= static_cast<Word>(words - head_words(true)),
                 "an instance has too many rows");
  for (Word i = 0; i < count; ++i) {
    const Word element = instance[kElements + i];
    require_intact(element >= 0 && primitive_of(element) < expression_->primitive_count() &&
                       row_of(element) < position,
                   "an instance has a row that is not there");
  }
}

void Detector::check_stored(const EventOperator& op, const Word* block, Clock now,
                            Position position) const {
  const Word count = block[op.stored];
  require_intact(count >= 0 && count <= static_cast<Word>(op.stored_max),
                 "there are too many instances");
  const Word* last = block + op.left_last;
  for (Word i = 0; i < count; ++i) {
    const Word* instance = block + op.stored + 1 + i * op.left_words;
    const Word* next = i + 1 < count ? instance + op.left_words : last;
    check_instance(instance, op.left_words, now, position);
    const bool is_last = i + 1 == count;  // May be the one that l is.
    require_intact(
        !is_none(instance) &&
            (instance[kStart] < next[kStart] || (is_last && instance[kStart] == next[kStart])) &&
            instance[kEnd] <= next[kEnd],
        "instances are out of order");
  }
}

void Detector::check_starts(const EventOperator& op, const Word* block, Clock now) const {
  const Word count = block[op.starts];
  require_intact(count >= 0 && count <= static_cast<Word>(op.starts_max),
                 "there are too many starts");
  const auto starts = set_at(block, op.starts);
  require_intact(std::ranges::adjacent_find(starts, std::greater_equal<>()) == starts.end() &&
                     (starts.empty() || (starts.front() != kNone && starts.back() <= now)),
                 "starts are out of order");
}

void Detector::check(const Word* block, Clock now, Position position) const {
  for (const EventOperator& op : expression_->operators()) {
    if (op.left_last != kNowhere) {
      check_instance(block + op.left_last, op.left_words, now, position);
    }
    if (op.right_last != kNowhere) {
      check_instance(block + op.right_last, op.right_words, now, position);
    }
    if (op.latest_start != kNowhere) {
      require_intact(block[op.latest_start] <= now, "a start is too late");
    }
    if (op.stored != kNowhere) check_stored(op, block, now, position);
    if (op.starts != kNowhere) check_starts(op, block, now);
  }
}

}  // namespace catena
