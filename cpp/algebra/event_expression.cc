#include "algebra/event_expression.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "base/error.h"

namespace catena {

EventExpression::EventExpression(uint32_t primitive_count, const std::vector<EventNode>& nodes,
                                 uint32_t root, uint32_t interval_count, bool with_rows,
                                 uint64_t bytes_max)
    : primitive_count_(primitive_count),
      root_(root),
      interval_count_(interval_count),
      with_rows_(with_rows) {
  check(nodes);
  find_widths(nodes);
  find_starts();
  place(bytes_max);
  find_users();
}

// Sides come before their operator, and an operator is a side of one other at most.
void EventExpression::check(const std::vector<EventNode>& nodes) const {
  const auto require = [](bool condition, const char* what) {
    if (!condition) throw Error(ErrorKind::kUser, std::string("a bad event expression: ") + what);
  };
  // An element holds a primitive in 16 bits (detector.h); places are numbered with 32.
  require(primitive_count_ < (1u << 16), "it names too many primitives");
  require(nodes.size() < (1u << 20), "it has too many operators");
  std::vector<bool> is_used(nodes.size(), false);
  const auto use = [&](uint32_t source, size_t limit) {
    require(source <= primitive_count_ + limit, "a side does not come before its operator");
    if (source <= primitive_count_) return;
    const size_t op = source - primitive_count_ - 1;
    require(!is_used[op], "an operator is a side of two others");
    is_used[op] = true;
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    use(nodes[i].left, i);
    const bool is_restriction = nodes[i].op == EventOp::kRestriction;
    if (!is_restriction) use(nodes[i].right, i);
    require(!is_restriction || nodes[i].interval < interval_count_, "an interval is missing");
  }
  use(root_, nodes.size());
  require(std::ranges::all_of(is_used, [](bool used) { return used; }), "a part is not used");
}

// How long instances are. An alternative needs room for the longer one only.
void EventExpression::find_widths(const std::vector<EventNode>& nodes) {
  const uint32_t head = head_words(with_rows_);
  words_.assign(primitive_count_, head + (with_rows_ ? 1 : 0));
  words_.push_back(head);  // The empty event.
  for (const EventNode& node : nodes) {
    EventOperator op{};
    op.op = node.op;
    op.interval = node.interval;
    op.left = node.left;
    op.right = node.op == EventOp::kRestriction ? kNowhere : node.right;
    op.parent = kNowhere;
    op.left_words = words_[op.left];
    op.right_words = op.right == kNowhere ? 0 : words_[op.right];
    const uint32_t index = operator_count();
    for (uint32_t side : {op.left, op.right}) {
      if (side != kNowhere && is_operator(side)) operators_[operator_of(side)].parent = index;
    }
    const bool joins = op.op == EventOp::kConjunction || op.op == EventOp::kSequence;
    op.words = op.left_words;
    if (op.op == EventOp::kDisjunction) op.words = std::max(op.left_words, op.right_words);
    if (joins) op.words = op.left_words + op.right_words - head;
    words_.push_back(op.words);
    operators_.push_back(op);
  }
}

uint32_t EventExpression::starts_max_of(uint32_t source) const {
  return is_operator(source) ? operators_[operator_of(source)].starts_max : 0;
}

uint32_t EventExpression::starts_of(uint32_t source) const {
  return is_operator(source) ? operators_[operator_of(source)].starts : kNowhere;
}

// Which operators keep S, from the root down, and how large Q and S can get, from the leaves up.
void EventExpression::find_starts() {
  keeps_starts_.assign(operators_.size(), false);
  for (size_t i = operators_.size(); i-- > 0;) {
    const EventOperator& op = operators_[i];
    const bool left = keeps_starts_[i];
    const bool right = op.op == EventOp::kSequence || (left && op.op != EventOp::kNegation);
    if (is_operator(op.left)) keeps_starts_[operator_of(op.left)] = left;
    if (op.right != kNowhere && is_operator(op.right)) {
      keeps_starts_[operator_of(op.right)] = right;
    }
  }
  for (size_t i = 0; i < operators_.size(); ++i) {
    EventOperator& op = operators_[i];
    const uint32_t right = op.right == kNowhere ? 0 : starts_max_of(op.right);
    if (op.op == EventOp::kSequence) op.stored_max = right;
    if (!keeps_starts_[i]) continue;
    op.starts_max = starts_max_of(op.left);
    if (op.op == EventOp::kDisjunction) op.starts_max += right;
    if (op.op == EventOp::kConjunction) op.starts_max += right + 2;
    if (op.op == EventOp::kSequence) op.starts_max += op.stored_max + 1;
  }
}

void EventExpression::place_operator(EventOperator& op, uint64_t& words) {
  const auto take = [&](uint64_t count) {
    const uint64_t place = words;
    words += count;
    return static_cast<uint32_t>(std::min<uint64_t>(place, kNowhere));
  };
  op.left_last = op.right_last = op.latest_start = op.stored = op.starts = op.made = kNowhere;
  const bool joins = op.op == EventOp::kConjunction || op.op == EventOp::kSequence;
  if (joins) op.left_last = take(op.left_words);
  if (op.op == EventOp::kConjunction) op.right_last = take(op.right_words);
  if (op.op == EventOp::kNegation) op.latest_start = take(1);
  if (op.stored_max > 0) op.stored = take(1 + uint64_t{op.stored_max} * op.left_words);
  if (op.starts_max > 0) op.starts = take(1 + uint64_t{op.starts_max});
  op.left_starts = starts_of(op.left);
  op.right_starts = op.right == kNowhere ? kNowhere : starts_of(op.right);
  if (joins) {
    op.made = scratch_words_;
    scratch_words_ += op.words;
  }
  instance_count_max_ += (op.left_last != kNowhere) + (op.right_last != kNowhere) + op.stored_max;
  time_count_max_ += (op.latest_start != kNowhere) + op.starts_max;
  starts_words_ = std::max(starts_words_, op.stored_max + 2);
}

void EventExpression::place(uint64_t bytes_max) {
  for (uint32_t p = 0; p < primitive_count_; ++p) scratch_words_ += words_[p];
  uint64_t words = 0;
  for (EventOperator& op : operators_) place_operator(op, words);
  const uint64_t bytes = sizeof(Word) * (words + scratch_words_ + starts_words_);
  if (bytes > bytes_max || words >= kNowhere) {
    throw Error(ErrorKind::kLimit, "the expression takes " + std::to_string(bytes) +
                                       " bytes to detect, more than " + std::to_string(bytes_max) +
                                       " (detector_bytes_max)");
  }
  state_words_ = static_cast<uint32_t>(words);
}

void EventExpression::find_users() {
  user_words_ = (operator_count() + 63) / 64;
  users_.assign(static_cast<size_t>(primitive_count_) * user_words_, 0);
  for (uint32_t i = 0; i < operator_count(); ++i) {
    for (uint32_t side : {operators_[i].left, operators_[i].right}) {
      if (side >= primitive_count_) continue;
      users_[static_cast<size_t>(side) * user_words_ + i / 64] |= uint64_t{1} << (i % 64);
    }
  }
}

}  // namespace catena
