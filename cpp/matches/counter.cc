#include "matches/counter.h"

#include <algorithm>
#include <unordered_map>

#include "matches/enumerator.h"

namespace catena {

BigCount& BigCount::operator+=(const BigCount& other) {
  if (limbs_.size() < other.limbs_.size()) limbs_.resize(other.limbs_.size(), 0);
  uint64_t carry = 0;
  for (size_t i = 0; i < limbs_.size() && (carry != 0 || i < other.limbs_.size()); ++i) {
    const uint64_t addend = i < other.limbs_.size() ? other.limbs_[i] : 0;
    uint64_t sum;
    const bool over_a = __builtin_add_overflow(limbs_[i], addend, &sum);
    const bool over_b = __builtin_add_overflow(sum, carry, &limbs_[i]);
    carry = static_cast<uint64_t>(over_a || over_b);
  }
  if (carry != 0) limbs_.push_back(carry);
  return *this;
}

BigCount BigCount::operator*(const BigCount& other) const {
  BigCount result;
  result.limbs_.assign(limbs_.size() + other.limbs_.size(), 0);
  for (size_t i = 0; i < limbs_.size(); ++i) {
    unsigned __int128 carry = 0;
    for (size_t j = 0; j < other.limbs_.size() || carry != 0; ++j) {
      const uint64_t factor = j < other.limbs_.size() ? other.limbs_[j] : 0;
      carry += static_cast<unsigned __int128>(limbs_[i]) * factor + result.limbs_[i + j];
      result.limbs_[i + j] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
  }
  while (!result.limbs_.empty() && result.limbs_.back() == 0) result.limbs_.pop_back();
  return result;
}

namespace {

// The children of a node that have an output inside the window.
struct Children {
  NodeRef refs[2];
  int count = 0;
};

Children children_of(const Graph& graph, NodeRef ref, Clock threshold) {
  Children result;
  if (ref.kind() == NodeKind::kStart) return result;
  const GraphNode& node = graph[ref];
  result.refs[result.count++] = node.child();
  if (ref.kind() == NodeKind::kJoin && node.right_max_start() >= threshold) {
    result.refs[result.count++] = node.right();
  }
  return result;
}

// 64-bit sums of one graph, by node, each stamped with the round it was made in.
class SmallSums {
 public:
  void start_over(const Graph& graph) {
    ++round_;
    if (sums_.size() < graph.size()) sums_.resize(graph.size());
  }
  void forget() { sums_.clear(); }
  const uint64_t* find(NodeRef ref) const {
    const Sum& sum = sums_[ref.index()];
    return sum.round == round_ ? &sum.value : nullptr;
  }
  // False if the sum of the children does not fit.
  bool set(NodeRef ref, const Children& children) {
    uint64_t total = children.count == 0 ? 1 : 0;
    for (int i = 0; i < children.count; ++i) {
      if (__builtin_add_overflow(total, *find(children.refs[i]), &total)) return false;
    }
    sums_[ref.index()] = {total, round_};
    return true;
  }

 private:
  struct Sum {
    uint64_t value = 0;
    uint64_t round = 0;
  };
  std::vector<Sum> sums_;
  uint64_t round_ = 0;
};

class BigSums {
 public:
  const BigCount* find(NodeRef ref) const {
    const auto found = sums_.find(ref.bits());
    return found == sums_.end() ? nullptr : &found->second;
  }
  bool set(NodeRef ref, const Children& children) {
    BigCount total(children.count == 0 ? 1 : 0);
    for (int i = 0; i < children.count; ++i) total += *find(children.refs[i]);
    sums_.emplace(ref.bits(), std::move(total));
    return true;
  }

 private:
  std::unordered_map<uint32_t, BigCount> sums_;
};

// Fills in the sums of a root and all below it, children first. False if one did not fit.
template <typename Sums>
bool sum_up(Sums& sums, const Graph& graph, NodeRef root, Clock threshold) {
  std::vector<NodeRef> pending{root};
  while (!pending.empty()) {
    const NodeRef ref = pending.back();
    if (sums.find(ref)) {
      pending.pop_back();
      continue;
    }
    const Children children = children_of(graph, ref, threshold);
    const size_t before = pending.size();
    for (int i = 0; i < children.count; ++i) {
      if (!sums.find(children.refs[i])) pending.push_back(children.refs[i]);
    }
    if (pending.size() > before) continue;
    pending.pop_back();
    if (!sums.set(ref, children)) return false;
  }
  return true;
}

class MatchCounter {
 public:
  BigCount count(const Graph& graph, const Root& root) {
    const BigCount back = count_below(graph, root, root.node);
    return root.front == kNoNode ? back : back * count_below(graph, root, root.front);
  }

 private:
  BigCount count_below(const Graph& graph, const Root& root, NodeRef node) {
    if (&graph != graph_ || root.threshold != threshold_) {
      if (&graph != graph_) small_.forget();
      graph_ = &graph;
      threshold_ = root.threshold;
      small_.start_over(graph);
      big_ = BigSums();
    }
    if (sum_up(small_, graph, node, threshold_)) return BigCount(*small_.find(node));
    sum_up(big_, graph, node, threshold_);
    return *big_.find(node);
  }

  const Graph* graph_ = nullptr;
  Clock threshold_ = kClockMin;
  SmallSums small_;
  BigSums big_;
};

// The matches of one row's roots, by looking at each of them.
BigCount count_by_enumerating(const ResultSegment& row, std::optional<uint64_t> limit) {
  ResultSet results;
  results.segments.push_back(row);
  Enumerator enumerator(results, limit);
  uint64_t count = 0;
  while (enumerator.next()) ++count;
  return BigCount(count);
}

BigCount count_row(MatchCounter& counter, const ResultSegment& row, std::optional<uint64_t> limit) {
  if (row.roots.front().may_repeat) return count_by_enumerating(row, limit);
  if (limit && row.roots.size() >= *limit) return BigCount(*limit);  // No root is without a match.
  BigCount total;
  for (const Root& root : row.roots) total += counter.count(*row.graph, root);
  return limit && total > *limit ? BigCount(*limit) : total;
}

}  // namespace

BigCount count_matches(const ResultSet& results, std::optional<uint64_t> limit_per_row) {
  MatchCounter counter;
  BigCount total;
  ResultSegment row;
  RootCursor cursor(results);
  while (!cursor.at_end()) {
    row.graph = results.segments[cursor.segment()].graph;
    row.roots.clear();
    const Position end = cursor.root().end;
    for (; !cursor.at_end() && cursor.root().end == end; cursor.advance()) {
      row.roots.push_back(cursor.root());
    }
    total += count_row(counter, row, limit_per_row);
  }
  return total;
}

}  // namespace catena
