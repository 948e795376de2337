#include "matches/counter.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "matches/enumerator.h"
#include "matches/window_sums.h"

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

// Sums in a clock-aware graph, by node and by the thresholds of the gates above it.
//
// A gate that closes all clocks has the same outputs whatever is above it: it heads a *region*, and
// its sum is kept for all who come by. Sums inside a region are of use only there.
class GatedSums {
 public:
  const BigCount& count(const Graph& graph, const Root& root) {
    if (&graph != graph_ || root.threshold != threshold_) {
      graph_ = &graph;
      threshold_ = root.threshold;
      regions_.clear();
    }
    all_clocks_ = (ClockMask{1} << graph.clock_count()) - 1;
    std::vector<NodeRef> pending;
    if (!regions_.contains(root.node.bits())) pending.push_back(root.node);
    while (!pending.empty()) {
      const size_t before = pending.size();
      const NodeRef head = pending.back();
      std::optional<BigCount> sum = sum_up(head, pending);
      if (pending.size() > before) continue;  // Regions below come first.
      pending.pop_back();
      if (sum) regions_.insert_or_assign(head.bits(), std::move(*sum));
    }
    return regions_.at(root.node.bits());
  }

 private:
  using Thresholds = std::vector<Clock>;
  struct Key {
    NodeRef node;
    uint32_t thresholds;  // Their place among those of the region.
  };

  static uint64_t packed(const Key& key) {
    return uint64_t{key.thresholds} << 32 | key.node.bits();
  }
  bool is_gate(NodeRef ref) const {
    return ref.kind() == NodeKind::kOutput && (*graph_)[ref].is_gate();
  }
  bool heads_region(NodeRef ref) const {
    return is_gate(ref) && (*graph_)[ref].resets() == all_clocks_;
  }

  uint32_t intern(Thresholds thresholds) {
    const auto [place, is_new] =
        ids_.try_emplace(std::move(thresholds), static_cast<uint32_t>(thresholds_.size()));
    if (is_new) thresholds_.push_back(&place->first);
    return place->second;
  }

  int children_of(const Key& key, Key* children) {
    const GraphNode& node = (*graph_)[key.node];
    if (key.node.kind() == NodeKind::kStart) return 0;
    if (is_gate(key.node)) {
      Thresholds below = *thresholds_[key.thresholds];
      pass_gate(*graph_, key.node, below);
      children[0] = {node.child(), intern(std::move(below))};
      return 1;
    }
    children[0] = {node.child(), key.thresholds};
    if (key.node.kind() != NodeKind::kJoin || node.right_max_start() < threshold_) return 1;
    if (!reaches(graph_->clocks(key.node), *thresholds_[key.thresholds])) return 1;
    children[1] = {node.right(), key.thresholds};
    return 2;
  }

  // The sum of a child, once known.
  const BigCount* known(const Key& key) const {
    if (heads_region(key.node)) {
      const auto found = regions_.find(key.node.bits());
      return found == regions_.end() ? nullptr : &found->second;
    }
    const auto found = sums_.find(packed(key));
    return found == sums_.end() ? nullptr : &found->second;
  }

  // The sum of a region; nothing, and the regions that it lacks, if it lacks some.
  std::optional<BigCount> sum_up(NodeRef head, std::vector<NodeRef>& lacking) {
    const size_t before = lacking.size();
    sums_.clear();
    ids_.clear();
    thresholds_.clear();
    const Key first{head, intern(Thresholds(graph_->clock_count(), kClockMin))};
    std::vector<Key> pending{first};
    while (!pending.empty()) {
      const Key key = pending.back();
      Key children[2];
      const int count = children_of(key, children);
      const size_t waiting = pending.size();
      BigCount total(count == 0 ? 1 : 0);
      for (int i = 0; i < count; ++i) {
        if (const BigCount* sum = known(children[i])) {
          total += *sum;
        } else if (heads_region(children[i].node)) {
          lacking.push_back(children[i].node);
        } else {
          pending.push_back(children[i]);
        }
      }
      if (pending.size() > waiting) continue;
      pending.pop_back();
      sums_.insert_or_assign(packed(key), std::move(total));
    }
    if (lacking.size() > before) return std::nullopt;
    return std::move(sums_.at(packed(first)));
  }

  const Graph* graph_ = nullptr;
  Clock threshold_ = kClockMin;
  ClockMask all_clocks_ = 0;
  std::unordered_map<uint32_t, BigCount> regions_;  // By the gate that heads it; and the roots'.
  // Of the region that is looked at.
  std::unordered_map<uint64_t, BigCount> sums_;
  std::map<Thresholds, uint32_t> ids_;
  std::vector<const Thresholds*> thresholds_;  // Keys of ids_.
};

class MatchCounter {
 public:
  BigCount count(const Graph& graph, const Root& root) {
    if (graph.clock_count() > 0) return gated_.count(graph, root);
    if (root.front == kNoNode) {
      if (const auto sum = sums_.count(graph, root.node, root.threshold)) return BigCount(*sum);
    }
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
  WindowSums sums_;
  GatedSums gated_;
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
