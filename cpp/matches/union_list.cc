#include "matches/union_list.h"

namespace catena {
namespace {

bool is_simple(NodeRef ref) { return ref.kind() != NodeKind::kJoin; }

NodeRef join_in_order(Graph& graph, NodeRef a, NodeRef b) {
  const Clock late_a = graph[a].max_start;
  const Clock late_b = graph[b].max_start;
  return late_a >= late_b ? graph.join(a, late_a, b, late_b) : graph.join(b, late_b, a, late_a);
}

}  // namespace

NodeRef unite(Graph& graph, NodeRef a, NodeRef b) {
  const Clock late = graph[a].max_start;
  assert(late == graph[b].max_start);
  if (is_simple(a)) return graph.join(a, late, b, late);
  if (is_simple(b)) return graph.join(b, late, a, late);
  const GraphNode join_a = graph[a];
  const GraphNode join_b = graph[b];
  const NodeRef rest = join_in_order(graph, join_a.right(), join_b.right());
  const NodeRef tail = graph.join(join_b.left(), late, rest, graph[rest].max_start);
  return graph.join(join_a.left(), late, tail, late);
}

void insert(Graph& graph, std::vector<Entry>& entries, size_t begin, Entry entry) {
  assert(entry.max_start <= entries[begin].max_start);
  size_t i = begin + 1;
  while (i < entries.size() && entries[i].max_start > entry.max_start) ++i;
  if (i < entries.size() && entries[i].max_start == entry.max_start) {
    entries[i].node = unite(graph, entries[i].node, entry.node);
  } else {
    entries.insert(entries.begin() + static_cast<std::ptrdiff_t>(i), entry);
  }
}

NodeRef merge(Graph& graph, std::span<const Entry> list, Clock threshold) {
  size_t count = list.size();
  while (count > 1 && list[count - 1].max_start < threshold) --count;
  Entry result = list[count - 1];
  for (size_t i = count - 1; i-- > 0;) {
    result.node = graph.join(list[i].node, list[i].max_start, result.node, result.max_start);
    result.max_start = list[i].max_start;
  }
  return result.node;
}

}  // namespace catena
