// Standings: where the open matches of a bundle stand among their rivals under MAX.
//
// A bundle is what the evaluator keeps in one list: open matches (start, shown marks) that have the
// same future. Under ALL the future is decided by a set of automaton states. Under MAX it also
// matters which other runs there are: a match is reported at its end unless a run that ends there
// too, inside the window, has marked a strict superset of its positions. Let D be the marked
// positions of an open match. Three sets of states decide its future (paper 003, Algorithm 7, whose
// T and U are two of them):
//
//   runs     where the runs of this very match are
//   equals   where runs are that have marked D: other starts, other variables (T)
//   betters  where runs are that have marked a strict superset of D (U)
//
// On a row that the match marks, `equals` and `betters` follow their marked transitions; on a row
// that it passes over, `equals` follow the unmarked ones, `betters` all, and the marked successors
// of `equals` become betters. A final state among the betters hides the match.
//
// Windows. A rival counts until its start leaves the window, so of the rivals in one state the one
// with the latest start decides. Starts are told from each other only as far as it matters: a
// rival that started no earlier than the match itself stays inside at least as long as the match,
// whatever its clock. It has rank 0, "own". Rivals that started earlier have ranks 1, 2, ... by
// falling start; their clocks lie beside the standing, one for each rank. So
//
//   A ; B+ ; C  the supersets of a match that can get ahead begin with the same A: every rank is 0,
//               and the matches of all starts share a handful of standings;
//   A+ ; B      {A at 7} is hidden by {A at 5, A at 7} until 5 leaves the window: its standing is
//               runs {1}, equals {1 rank 0}, betters {1 rank 1}, with the clock 5 beside it.
//
// What is left out, since it cannot change any report: a run in a state where a better of rank 0 is
// (a better can do all it does); an equal where a better of no higher rank is; rivals that the
// table of pairs excludes (max_rivals.h); states without a future.
//
// Marks that are not shown make one open match stand for runs with several D: its standing has a
// *member* for each way they stand, so that each (start, shown marks) is in one bundle only and
// nothing is ever reported twice. Members with the same rivals are one, their runs united.
//
// A match that has marked nothing yet is a case of its own: runs that start later can still equal
// or beat it. Its member `is_unmarked`, and where runs start from (`before`) is part of the
// standing. The same holds of the *outlook*, the standing of the match that has not started: its
// one run is in the state `waiting` (max_rivals.h), and its rivals are all runs there are. It is
// what the runs that start at a row begin with.
//
// Invariant (`is_settled`): vectors are sorted by state and members by their rivals; ranks from 1
// up are all in use; nothing is in that could be left out.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "automaton/cea.h"
#include "base/types.h"
#include "engine/max_rivals.h"

namespace catena {

struct Ranked {
  StateId state;
  uint32_t rank;

  auto operator<=>(const Ranked&) const = default;
};

struct Member {
  bool is_unmarked = false;
  std::vector<Ranked> equals;
  std::vector<Ranked> betters;
  std::vector<StateId> runs;

  auto operator<=>(const Member&) const = default;
};

struct Standing {
  std::vector<StateId> before;  // Empty if no member is unmarked.
  std::vector<Member> members;

  auto operator<=>(const Standing&) const = default;
};

// The lowest rank in each state, for the making of members.
class RankTable {
 public:
  static constexpr uint32_t kAbsent = 0xffffffffu;

  explicit RankTable(uint32_t state_count) : ranks_(state_count, kAbsent) {}
  explicit RankTable(uint32_t state_count, std::span<const Ranked> entries);

  uint32_t operator[](StateId state) const { return ranks_[state]; }
  uint32_t size() const { return static_cast<uint32_t>(ranks_.size()); }
  void add(StateId state, uint32_t rank);
  void add(const RankTable& other);

 private:
  std::vector<uint32_t> ranks_;
};

// A member of which all is left out that can be; without runs it can be left out itself.
Member settled(const Cea& cea, const Rivals& rivals, std::vector<StateId> runs,
               const RankTable& equals, const RankTable& betters);

// Sorts the members and unites those with the same rivals.
void unite_members(Standing& standing);

// Renumbers the ranks from 1 up without gaps; gives the former rank of each. Rank 0 stays what it
// is, or becomes rank 1 if it is to age.
std::vector<uint32_t> close_ranks(Standing& standing, bool ages);

uint32_t rank_count(const Standing& standing);

// Leaves out the rivals of higher ranks, whose starts have left the window.
void drop_ranks(Standing& standing, uint32_t rank_max);

// Whether a standing read from somewhere keeps the invariant; its states must be in range.
bool is_settled(const Cea& cea, const Rivals& rivals, const Standing& standing);

}  // namespace catena
