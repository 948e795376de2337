// A contest with those of the scopes in its automaton, and what a part remembers of them all.
//
// The runs of a scope's operand are followed once for all runs around (contest.h), unless the
// operand's conditions read events further left. Then what is compared depends on what the run
// around lends the scope as it opens it: only matches that see the same are compared with each
// other. So a scope has a *member* for each combination of values lent, a contest of its own, and a
// run around is in one configuration of one member.
//
//   A AS x ; NEXT(B ; (C FILTER C.v > x.v))   a member for each v of the As that are waiting
//
// A member compares over the whole part as every strategy does, also what began before somebody had
// these values. So when it is first asked for it reads the part's rows again (contest_history.h),
// and then goes along as long as a run around is in it or might open it on the next row.
//
// A run's place in a scope is a word: the member and a reference into its contest, or kNowhere.
//
// Invariant: a scope that is lent nothing has one member, from the first row on; others have those
// that are in use. Cost: that of the members; for a new one that of all rows kept.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/contest.h"
#include "engine/contest_history.h"

namespace catena {

struct MemberState;

// What a part remembers of a scope.
struct ScopeState {
  std::vector<std::unique_ptr<MemberState>> members;
};

struct TreeState {
  ContestState own;
  std::vector<ScopeState> scopes;

  size_t size() const;
  size_t bytes() const;
  bool is_empty() const;
};

struct MemberState {
  std::vector<Clock> lent;  // The words of the registers that the operand's runs begin with.
  TreeState tree;
};

// What all contests of an evaluator have in common.
struct ContestParts {
  ClassTrie& classes;
  RegisterMachine& machine;
};

// The row that contests are open on.
struct ContestRow {
  ClassId cls;
  const Row& row;
  const ContestHistory& history;
  uint32_t until;  // The rows of the history that came before.
};

class ContestTree {
 public:
  // The references must outlive this object.
  ContestTree(Strategy strategy, const Cea& cea, ContestParts parts, bool has_window,
              const std::vector<RegisterId>& lent = {});
  ~ContestTree();

  Contest& contest() { return *contest_; }
  void bind(const std::vector<Interval>& intervals);

  // The state of a part of which no row has been read; also what is left if nothing is alive.
  void start(TreeState& state) const;

  // Whether a row of the class changes nothing.
  bool is_unaffected(const TreeState& state, std::span<const StateId> before, ClassId cls);
  // Whether one can change anything, whatever the state.
  bool matters(ClassId cls);
  // Whether some scope is lent registers, so that the history is needed.
  bool needs_history() const;

  // As those of Contest; the state must not be moved in between. `lent` are the words that what
  // starts begins with.
  void open(TreeState& state, std::span<const StateId> before, std::span<const Clock> lent,
            const ContestRow& at, const std::vector<bool>& wanted = {});
  void close(TreeState& state);

  // By configuration of its own contest, whether its runs can end no more. Returns whether any in
  // the tree can.
  bool find_dead(const TreeState& state, Clock threshold, std::span<const Clock> now,
                 std::vector<bool>& dead) const;

  template <typename Visit>
  void for_each_register(TreeState& state, Visit visit) const;

  void write(const TreeState& state, ByteWriter& out) const;
  void read(ByteReader& in, TreeState& state) const;

  uint64_t operations() const;

 private:
  ContestParts parts_;
  std::unique_ptr<Contest> contest_;
  std::vector<std::unique_ptr<ScopeContests>> scopes_;
};

class ScopeContests {
 public:
  // The references must outlive this object.
  ScopeContests(const Scope& scope, ContestParts parts);

  const Scope& scope() const { return scope_; }
  const Cea& cea() const { return *scope_.operand; }
  ContestTree& any() { return *trees_[0]; }
  const ContestTree& any() const { return *trees_[0]; }
  bool is_lent() const { return !scope_.lent.empty(); }

  void bind(const std::vector<Interval>& intervals);
  void start(ScopeState& state) const;
  bool is_unaffected(const ScopeState& state, ClassId cls);
  void open(ScopeState& state, const ContestRow& at);
  void close(ScopeState& state);
  // Drops the members that are not wanted; gives the new numbers of the others.
  std::vector<uint32_t> keep(ScopeState& state, const std::vector<bool>& is_wanted) const;
  // The number of the member with these words; kNowhere if there is none.
  static uint32_t find(const ScopeState& state, std::span<const Clock> lent);

  // A run's place after a transition of the operand that opens the scope, and after another one.
  struct Moved {
    bool is_possible;
    int64_t place;
  };
  Moved enter(std::span<const Clock> lent, uint32_t transition);
  Moved follow(int64_t place, uint32_t transition);

  static uint32_t member_of(int64_t place) { return static_cast<uint32_t>(place >> 32); }
  static Reference reference_of(int64_t place) { return static_cast<Reference>(place); }
  static int64_t place_of(uint32_t member, Reference reference) {
    return static_cast<int64_t>(member) << 32 | reference;
  }

  uint64_t operations() const;

 private:
  uint32_t add_member(std::span<const Clock> lent);
  ContestTree& tree_of(uint32_t member);
  ContestTree& replayed();
  static Moved moved(uint32_t member, const Followed& followed);

  const Scope& scope_;
  ContestParts parts_;
  std::vector<Interval> intervals_;
  std::vector<std::unique_ptr<ContestTree>> trees_;  // By member, at least one; more may be spare.
  std::unique_ptr<ContestTree> replayed_;            // Reads the history for new members.
  ScopeState* state_ = nullptr;                      // Between open and close,
  const ContestRow* at_ = nullptr;                   // and the row.
};

template <typename Visit>
void ContestTree::for_each_register(TreeState& state, Visit visit) const {
  contest_->for_each_register(state.own, visit);
  for (size_t scope = 0; scope < scopes_.size(); ++scope) {
    for (const auto& member : state.scopes[scope].members) {
      visit_registers(member->lent, visit);
      scopes_[scope]->any().for_each_register(member->tree, visit);
    }
  }
}

}  // namespace catena
