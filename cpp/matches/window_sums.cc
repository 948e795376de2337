#include "matches/window_sums.h"

#include <algorithm>

namespace catena {

std::optional<uint64_t> WindowSums::count(const Graph& graph, NodeRef node, Clock threshold) {
  if (&graph != graph_) {
    graph_ = &graph;
    threshold_ = threshold;
    is_ordered_ = true;
    pivot_ = 0;
    sums_.clear();
    move_pivot(node.index() + 1);
  }
  if (threshold < threshold_) is_ordered_ = false;
  if (!is_ordered_) return std::nullopt;
  threshold_ = threshold;
  if (first_start_ < threshold) move_pivot(node.index() + 1);
  if (has_failed_) return std::nullopt;
  uint64_t found = 0;
  Outcome outcome = total(node, found);
  if (outcome == Outcome::kFull) {
    move_pivot(node.index() + 1);  // Then it is the only column.
    outcome = total(node, found);
  }
  has_failed_ = outcome != Outcome::kDone;
  return has_failed_ ? std::nullopt : std::optional(found);
}

void WindowSums::move_pivot(uint32_t index) {
  pivot_ = std::max(index, pivot_ + static_cast<uint32_t>(sums_.size()));
  sums_.clear();
  columns_.clear();
  first_start_ = kNoClock;
  last_start_ = kClockMin;
  has_failed_ = false;
}

WindowSums::Outcome WindowSums::read_to(uint32_t index) {
  while (pivot_ + sums_.size() <= index) {
    Sum sum{};
    const Outcome outcome = read(graph_->at(pivot_ + static_cast<uint32_t>(sums_.size())), sum);
    if (outcome != Outcome::kDone) return outcome;
    sums_.push_back(sum);
  }
  return Outcome::kDone;
}

WindowSums::Outcome WindowSums::read(const GraphNode& node, Sum& sum) {
  if (node.kind() == NodeKind::kStart) {
    if (node.max_start < last_start_) {
      is_ordered_ = false;
      return Outcome::kFailed;
    }
    last_start_ = node.max_start;
    if (first_start_ == kNoClock) first_start_ = node.max_start;
    sum[0] = 1;
    return Outcome::kDone;
  }
  if (node.max_start < threshold_) return Outcome::kDone;
  const Outcome outcome = add(node.child(), sum);
  if (outcome != Outcome::kDone || node.kind() != NodeKind::kJoin) return outcome;
  return node.right_max_start() < threshold_ ? Outcome::kDone : add(node.right(), sum);
}

WindowSums::Outcome WindowSums::add(NodeRef ref, Sum& sum) {
  if (ref.index() < pivot_) {
    const Column* column = column_of(ref.index());
    if (column == nullptr) {
      const bool is_full = columns_.size() == kColumnsMax;
      return is_full ? Outcome::kFull : Outcome::kFailed;
    }
    ++sum[1 + static_cast<size_t>(column - columns_.data())];
    return Outcome::kDone;
  }
  const Sum& other = sums_[ref.index() - pivot_];
  bool is_over = false;
  for (size_t i = 0; i <= columns_.size(); ++i) {
    is_over |= __builtin_add_overflow(sum[i], other[i], &sum[i]);
  }
  return is_over ? Outcome::kFailed : Outcome::kDone;
}

WindowSums::Outcome WindowSums::total(NodeRef ref, uint64_t& result) {
  Sum sum{};
  Outcome outcome = read_to(ref.index());
  if (outcome == Outcome::kDone) outcome = add(ref, sum);
  if (outcome != Outcome::kDone) return outcome;
  result = sum[0];
  bool is_over = false;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (sum[1 + i] == 0) continue;
    drop_starts(columns_[i]);
    uint64_t product;
    is_over |= __builtin_mul_overflow(sum[1 + i], columns_[i].total, &product);
    is_over |= __builtin_add_overflow(result, product, &result);
  }
  return is_over ? Outcome::kFailed : Outcome::kDone;
}

// The column of a node before the pivot, made if need be; null if there are too many or its
// numbers do not fit.
WindowSums::Column* WindowSums::column_of(uint32_t index) {
  for (Column& column : columns_) {
    if (column.index == index) return &column;
  }
  if (columns_.size() == kColumnsMax) return nullptr;
  Column column{index, {}, 0};
  if (!find_starts(column)) return nullptr;
  columns_.push_back(std::move(column));
  return &columns_.back();
}

// Adds the ways to a node below `top`.
bool WindowSums::reach(NodeRef ref, uint32_t top, uint64_t ways) {
  const size_t place = top - ref.index();
  if (place >= ways_.size()) ways_.resize(place + 1, 0);
  return !__builtin_add_overflow(ways_[place], ways, &ways_[place]);
}

// Counts the ways down to each start, parents first.
bool WindowSums::find_starts(Column& column) {
  Clock before = kNoClock;
  ways_.assign(1, 1);
  for (size_t place = 0; place < ways_.size(); ++place) {
    const uint64_t ways = ways_[place];
    if (ways == 0) continue;
    const GraphNode& node = graph_->at(column.index - static_cast<uint32_t>(place));
    const NodeKind kind = node.kind();
    if (kind == NodeKind::kStart) {
      if (node.max_start < threshold_) continue;
      if (node.max_start > before) is_ordered_ = false;
      before = node.max_start;
      column.starts.push_back({node.max_start, ways});
      if (__builtin_add_overflow(column.total, ways, &column.total)) return false;
      continue;
    }
    if (!reach(node.child(), column.index, ways)) return false;
    if (kind != NodeKind::kJoin || node.right_max_start() < threshold_) continue;
    if (!reach(node.right(), column.index, ways)) return false;
  }
  return is_ordered_;
}

// Takes off what has left the window.
void WindowSums::drop_starts(Column& column) const {
  while (!column.starts.empty() && column.starts.back().clock < threshold_) {
    column.total -= column.starts.back().count;
    column.starts.pop_back();
  }
}

}  // namespace catena
