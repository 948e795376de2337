// I/O-determinization on the fly (paper 003, Proposition 1).
//
// A determinized state is the set of automaton states that the runs with one and the same output so
// far can be in. From it, a row's class gives for every set of marks at most one edge: so two
// different paths of edges spell two different outputs, and no result can appear twice.
//
//   A ; B   with   q0 -A/{A}-> q1,  q1 -true/{}-> q1,  q1 -B/{B}-> q2 (final)
//   edges({q1}, B) = [ marks {}: to {q1},  marks {B}: to nothing, final ]
//
// Whether an edge ends a match is a property of the edge and not of its target: states without a
// future are left out of the target set, so the target of the second edge above is empty and costs
// no further work. States and edges are made when first asked for, and kept.
//
// Before a run starts there is one determinized state for all: the initial states, or where the
// observers have got to (`watch`). Its edges start runs.
//
// Cost: an edge look-up is two array accesses once made. The number of states is limited; passing
// the limit is an Error of kind kLimit, never exhausted memory.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "automaton/cea.h"
#include "base/types.h"
#include "columns/classifier.h"

namespace catena {

struct Edge {
  MarksId marks;
  DetStateId target;  // kNoState if nothing can follow.
  bool is_final;      // The row ends a match.

  bool operator==(const Edge&) const = default;
};

class Determinizer {
 public:
  // Both references must outlive this object.
  Determinizer(const Cea& cea, const ClassTrie& classes, uint32_t state_count_max);

  DetStateId initial() const { return initial_; }

  // Where the state that runs start from goes on a row of this class.
  DetStateId watch(DetStateId before, ClassId cls);

  // The edges out of a state on a row of this class, by increasing marks.
  std::span<const Edge> edges(DetStateId state, ClassId cls);

  // The determinized state of a sorted set of states, made if need be.
  DetStateId intern(std::vector<StateId> states);

  std::span<const StateId> states_of(DetStateId state) const { return *sets_[state]; }
  uint32_t state_count() const { return static_cast<uint32_t>(sets_.size()); }
  uint32_t class_count() const { return classes_.num_classes(); }

 private:
  using EdgeList = std::vector<Edge>;

  std::unique_ptr<EdgeList> make_edges(DetStateId state, ClassId cls);

  const Cea& cea_;
  const ClassTrie& classes_;
  uint32_t state_count_max_;
  std::map<std::vector<StateId>, DetStateId> ids_;
  std::vector<const std::vector<StateId>*> sets_;              // Keys of ids_, by id.
  std::vector<std::vector<std::unique_ptr<EdgeList>>> edges_;  // By state and class.
  DetStateId initial_;
};

}  // namespace catena
