// Lists of graph nodes that turn into joins of bounded left depth (the papers' union-lists).
//
// A determinized state is reached by many runs; their nodes are kept as a list n0 n1 ... nk in
// order of falling max_start, and joined only when somebody extends them. Joining carelessly would
// let the left depth of joins grow with the stream, and the enumerator, which goes left first,
// would walk ever longer between two results. The rules that keep it at three (paper 000, appendix
// C):
//
//   - a node is *simple* if it is no join; it is *safe* if it is simple, or a join whose left side
//   is
//     simple and whose right side has left depth at most two;
//   - n0 is simple, the others are safe, and n1 > n2 > ... > nk strictly by max_start;
//   - `merge` makes join(n0, join(n1, ... nk)), which is safe: n1's left depth is at most one;
//   - a node as late as n_i (i >= 1) is united with it by `unite`, which gives a safe node again.
//
// Example: n3 = join(a, A) and n4 = join(b, B), equally late, a and b simple. join(n3, n4) would be
// one deeper on the left than n3. unite gives join(a, join(b, join(A, B))) instead, with the later
// of A and B on the left: its left side is simple.
//
// Cost: a list is never longer than the number of determinized states alive, whatever the stream.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"
#include "matches/graph.h"

namespace catena {

struct Entry {
  Clock max_start;
  NodeRef node;
};

// Joins two safe, equally late nodes into a safe one.
NodeRef unite(Graph& graph, NodeRef a, NodeRef b);

// Inserts a safe node into the list that lies in entries[begin, end); it is no later than its head.
void insert(Graph& graph, std::vector<Entry>& entries, size_t begin, Entry entry);

// One safe node for the whole list. Entries from `threshold` down are left out; the head must not
// be.
NodeRef merge(Graph& graph, std::span<const Entry> list, Clock threshold);

}  // namespace catena
