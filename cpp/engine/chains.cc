#include "engine/chains.h"

#include <cassert>
#include <optional>

#include "matches/result_set.h"

namespace catena {
namespace {

bool is_simple(NodeRef ref) { return ref.kind() != NodeKind::kJoin; }

// A node and its latest values.
struct Valued {
  NodeRef node;
  std::span<const Clock> values;  // Start, then the clocks.
};

NodeRef join(Graph& graph, const Valued& left, const Valued& right) {
  return graph.join(left.node, left.values[0], right.node, right.values[0],
                    right.values.subspan(1));
}

// The right side of a join; `values` is where its values go.
Valued right_of(const Graph& graph, NodeRef ref, std::vector<Clock>& values) {
  const auto clocks = graph.clocks(ref);
  values.assign(1, graph[ref].right_max_start());
  values.insert(values.end(), clocks.begin(), clocks.end());
  return {graph[ref].right(), values};
}

// As `unite` of union_list.h, of two safe nodes with equal values; nothing if what stands on their
// right sides is apart.
std::optional<NodeRef> unite(Graph& graph, NodeRef a, NodeRef b, std::span<const Clock> values) {
  if (is_simple(a)) return join(graph, {a, values}, {b, values});
  if (is_simple(b)) return join(graph, {b, values}, {a, values});
  std::vector<Clock> values_a;
  std::vector<Clock> values_b;
  Valued first = right_of(graph, a, values_a);
  Valued second = right_of(graph, b, values_b);
  const Order order = compare(first.values, second.values);
  if (order == Order::kApart) return std::nullopt;
  if (order == Order::kAfter) std::swap(first, second);
  const NodeRef rest = join(graph, first, second);
  const NodeRef tail = join(graph, {graph[b].left(), values}, {rest, first.values});
  return join(graph, {graph[a].left(), values}, {tail, values});
}

}  // namespace

void Chains::clear() {
  all.clear();
  entries.clear();
  values.clear();
}

size_t Chains::bytes() const {
  return all.capacity() * sizeof(Chain) + entries.capacity() * sizeof(ChainEntry) +
         values.capacity() * sizeof(Clock);
}

Order compare(std::span<const Clock> one, std::span<const Clock> other) {
  bool is_later = false;
  bool is_earlier = false;
  for (size_t i = 0; i < one.size(); ++i) {
    is_later |= one[i] > other[i];
    is_earlier |= one[i] < other[i];
  }
  if (is_later && is_earlier) return Order::kApart;
  if (is_later) return Order::kBefore;
  return is_earlier ? Order::kAfter : Order::kEqual;
}

void ChainList::begin(const ChainEntry& entry, std::span<const Clock> values) {
  begin({&entry, 1}, values, entry.node, kClockMin);
}

void ChainList::begin(std::span<const ChainEntry> entries, std::span<const Clock> values,
                      NodeRef merged, Clock threshold) {
  size_t length = entries.size();
  while (length > 1 && values[(length - 1) * width_] < threshold) --length;
  entries_.assign(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(length));
  values_.assign(values.begin(), values.begin() + static_cast<ptrdiff_t>(length * width_));
  merged_ = merged;
  assert(is_simple(entries_.front().node));
}

bool ChainList::insert(Graph& graph, const ChainEntry& entry, std::span<const Clock> values) {
  const Order order = compare(values_of(0), values);
  if (order != Order::kBefore && order != Order::kEqual) return false;
  for (size_t i = 1; i < entries_.size(); ++i) {
    switch (compare(values_of(i), values)) {
      case Order::kBefore:
        continue;
      case Order::kApart:
        return false;
      case Order::kEqual: {
        const auto united = unite(graph, entries_[i].node, entry.node, values);
        if (!united) return false;
        entries_[i] = {*united, ~ClockMask{0}};
        merged_ = kNoNode;
        return true;
      }
      case Order::kAfter: {
        const auto at = static_cast<ptrdiff_t>(i);
        entries_.insert(entries_.begin() + at, entry);
        values_.insert(values_.begin() + at * static_cast<ptrdiff_t>(width_), values.begin(),
                       values.end());
        merged_ = kNoNode;
        return true;
      }
    }
  }
  entries_.push_back(entry);
  values_.insert(values_.end(), values.begin(), values.end());
  merged_ = kNoNode;
  return true;
}

void ChainList::append_to(Chains& chains, DetStateId state) const {
  const NodeRef merged = entries_.size() == 1 ? entries_.front().node : merged_;
  chains.all.push_back({state, static_cast<uint32_t>(entries_.size()), merged});
  chains.entries.insert(chains.entries.end(), entries_.begin(), entries_.end());
  chains.values.insert(chains.values.end(), values_.begin(), values_.end());
}

NodeRef merge_chain(Graph& graph, std::span<const ChainEntry> entries,
                    std::span<const Clock> values) {
  const size_t width = values.size() / entries.size();
  const auto values_of = [&](size_t place) { return values.subspan(place * width, width); };
  NodeRef result = entries.back().node;
  for (size_t i = entries.size() - 1; i-- > 0;) {
    result = join(graph, {entries[i].node, values_of(i)}, {result, values_of(i + 1)});
  }
  return result;
}

}  // namespace catena
