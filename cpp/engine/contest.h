// A contest: the runs of one automaton that a strategy compares with each other, row by row.
//
// Where runs have clocks or registers, how they stand to each other is no function of the rows'
// classes, so it cannot be worked out beforehand (as selection_table.h and max_steps.h do). A
// contest works with the *configurations* that runs are in: state, words (valuation.h), where the
// run is in the scopes inside this automaton, and, where a window of the query can cut off rivals,
// the clock of its start. Runs in one configuration have the same future, so of those with the same
// marked positions D one stands for all. The price of a row is that of the configurations alive,
// never of the runs.
//
// The automaton is a query's (its strategy may be ALL then: nobody is compared), or the operand of
// a strategy inside a formula. What is outside, the query's bundles or the runs of the automaton
// around, knows a run in the contest by a *reference*. Per row:
//
//   open     every configuration, and what starts at the row, makes its moves; the strategy then
//            takes back those that cannot lead to a selected match
//   follow   tells those outside what became of a reference over a transition
//   close    gives the part's state after the row
//
// Contests inside others are opened before and closed after those around them.
//
//   NEXT(A ;[<= 5] B) ; C   the inner contest holds the As of the last five units, earliest first;
//   a
//                           run around it refers to one of them, and may go over the B only if no
//                           earlier A gets to a B as well
//
// A contest as such is immutable but for what it notes between open and close; the state belongs to
// a part of the stream. Kinds of contests: AllContest here, ordered_contest.h, maximal_contest.h.
//
// Invariant: configurations are distinct; a reference leads to one run's configuration only.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "automaton/cea.h"
#include "base/bytes.h"
#include "base/types.h"
#include "columns/class_trie.h"
#include "engine/row.h"
#include "engine/sequence_table.h"
#include "engine/valuation.h"

namespace catena {

using ConfigurationId = uint32_t;  // By order, in the state of a contest.
using Reference = uint32_t;
inline constexpr uint32_t kNowhere = 0xffffffffu;      // No configuration, no reference.
inline constexpr Reference kNotStarted = 0xfffffffeu;  // What starts at the row.

// What a part remembers of a contest between rows. Vectors that a strategy does not use are empty.
struct ContestState {
  Sequences<int64_t> configurations;  // State, words, references into scopes, start.
  std::vector<uint32_t> ranks;        // NEXT, LAST: by configuration.
  std::vector<uint8_t> rivals;        // MAX: by configuration, what runs in it have marked.
  Sequences<uint32_t> sets;           // MAX: sets of configurations.
  Sequences<uint32_t> standings;      // MAX: configuration, equals, betters.
  std::vector<StateId> states;        // Those of the configurations, each once.

  void clear() { *this = ContestState(); }
  bool is_empty() const { return configurations.size() == 0; }
  size_t size() const { return configurations.size() + sets.value_count() + standings.size(); }
  size_t bytes() const;
};

// What becomes of a reference over a transition: the run ends, goes on, or neither.
struct Followed {
  bool is_final = false;
  Reference target = kNowhere;
};

class ScopeContests;  // contest_tree.h

class Contest {
 public:
  // `scopes` are those of the automaton; `machine` has the row at hand while
  // contests are open. The references must outlive this object.
  Contest(const Cea& cea, const ClassTrie& classes, RegisterMachine& machine, bool has_window,
          std::vector<ScopeContests*> scopes);
  virtual ~Contest() = default;

  // The registers that what starts is lent.
  void set_lent(std::vector<RegisterId> registers) { lent_registers_ = std::move(registers); }

  void bind(const std::vector<Interval>& intervals) { valuation_.bind(intervals); }
  const Cea& cea() const { return cea_; }

  // Whether a row of the class changes nothing, given that it does not in the scopes either.
  bool is_unaffected(const ContestState& state, std::span<const StateId> before, ClassId cls);
  // Whether one can change anything, whatever the state.
  bool matters(ClassId cls);
  // Whether a run that makes the transition is where it was; scopes may still keep it from it.
  bool is_loop(const Transition& t) const;

  // `before` are the states that runs start from, `lent` the words that they begin with. If
  // `wanted` is not empty, only those configurations make moves. The state must stay as it is until
  // `close`.
  void open(const ContestState& state, std::span<const StateId> before, std::span<const Clock> lent,
            ClassId cls, const Row& row, const std::vector<bool>& wanted);
  virtual Followed follow(Reference reference, uint32_t transition) = 0;
  virtual void close(ContestState& state) = 0;

  // Calls visit(transition, followed) for all that becomes of a reference.
  template <typename Visit>
  void for_each_move(Reference reference, Visit visit) {
    for (const Move& move : moves_of(configuration_of(reference))) {
      const Followed followed = follow(reference, move.transition);
      if (followed.is_final || followed.target != kNowhere) {
        visit(cea_.transitions()[move.transition], followed);
      }
    }
  }

  // The configuration of a reference into the state.
  virtual ConfigurationId configuration_of(const ContestState&, Reference reference) const {
    return reference;
  }
  virtual uint32_t reference_count(const ContestState& state) const {
    return state.configurations.size();
  }

  // By configuration, whether its runs can end no more: of themselves, or by the scope they are in,
  // as is_dead_in(scope, place) tells. `now` are the clocks of the last row.
  void find_dead(const ContestState& state, Clock threshold, std::span<const Clock> now,
                 const std::function<bool(ScopeId, int64_t)>& is_dead_in,
                 std::vector<bool>& dead) const;

  // Calls visit(place) for every place of a run in a scope.
  template <typename Visit>
  void for_each_place(ContestState& state, ScopeId scope, Visit visit) const {
    const size_t at = 1 + valuation_.word_count() + scope;
    for (ConfigurationId id = 0; id < state.configurations.size(); ++id) {
      int64_t& place = state.configurations.at(id)[at];
      if (place != kNowhere) visit(place);
    }
  }

  // Calls visit(words) for what runs would lend a scope, could they open it on the next row.
  template <typename Visit>
  void for_each_lent(const ContestState& state, ScopeId scope, Visit visit) {
    for (ConfigurationId id = 0; id < state.configurations.size(); ++id) {
      const auto configuration = state.configurations[id];
      for (const Transition& t : cea_.from(static_cast<StateId>(configuration[0]))) {
        for (const Ask& ask : cea_.asks_of(t)) {
          if (ask.scope == scope && opens(ask)) visit(lent_by(ask, configuration));
        }
      }
    }
  }

  // Calls visit(tag, low) for the words of every register. What is distinct must stay distinct.
  template <typename Visit>
  void for_each_register(ContestState& state, Visit visit) const {
    const size_t first = 1 + cea_.clock_count();
    const size_t count = kRegisterWords * valuation_.registers().size();
    for (ConfigurationId id = 0; id < state.configurations.size(); ++id) {
      visit_registers(state.configurations.at(id).subspan(first, count), visit);
    }
  }

  // For snapshots. The state of a run in a scope, kNowhere if there is no such run, is what
  // state_at(scope, place) tells. Throws Error of kind kSnapshot unless the state keeps all
  // invariants.
  using StateAt = std::function<StateId(ScopeId, int64_t)>;
  void write(const ContestState& state, ByteWriter& out) const;
  void read(ByteReader& in, const StateAt& state_at, ContestState& state) const;

  uint64_t operations() const { return operations_; }

 protected:
  struct Move {
    uint32_t transition;
    ConfigurationId target;  // After the row; kNowhere if nothing can follow.
    bool is_final;
    bool is_marked;
  };

  // Called by `open` when all moves are made.
  virtual void select() = 0;
  virtual void write_more(const ContestState&, ByteWriter&) const {}
  virtual void read_more(ByteReader&, ContestState&) const {}

  // The moves of a configuration; of kNotStarted, those that start.
  std::span<Move> moves_of(ConfigurationId configuration);
  const Move* find_move(ConfigurationId configuration, uint32_t transition);
  ConfigurationId configuration_of(Reference reference) const {
    return reference == kNotStarted ? kNotStarted : configuration_of(*state_, reference);
  }

  // Without a window every configuration is its own base and starts are all alike.
  std::span<const int64_t> base_of(std::span<const int64_t> configuration) const {
    return configuration.first(configuration.size() - (has_window_ ? 1 : 0));
  }
  Clock start_of(std::span<const int64_t> configuration) const {
    return has_window_ ? configuration.back() : 0;
  }

  // Puts the configurations after the row into the state.
  void close_configurations(ContestState& state, const Sequences<int64_t>& next);

  const Cea& cea_;
  const bool has_window_;
  const ContestState* state_ = nullptr;  // Between open and close.
  std::vector<Move> moves_;              // Of what starts, then by configuration.
  SequenceTable<int64_t> next_;          // The configurations after the row.
  uint64_t operations_ = 0;

 private:
  size_t width() const {
    return 1 + valuation_.word_count() + scopes_.size() + (has_window_ ? 1 : 0);
  }
  std::span<const Clock> words_of(std::span<const int64_t> configuration) const {
    return configuration.subspan(1, valuation_.word_count());
  }
  std::span<const int64_t> references_of(std::span<const int64_t> configuration) const {
    return configuration.subspan(1 + valuation_.word_count(), scopes_.size());
  }
  bool is_over(std::span<const int64_t> configuration, Clock threshold,
               std::span<const Clock> now) const;
  void add_moves(std::span<const int64_t> configuration, ClassId cls, const Row& row);
  bool ask_scopes(const Transition& t, std::span<const int64_t> configuration);
  bool opens(const Ask& ask) const;
  std::span<const Clock> lent_by(const Ask& ask, std::span<const int64_t> configuration);
  uint8_t effect_of(StateId state, ClassId cls);
  void write_configuration(std::span<const int64_t> configuration, ByteWriter& out) const;
  void read_configuration(ByteReader& in, std::vector<int64_t>& configuration) const;
  void check_configuration(std::span<const int64_t> configuration, const StateAt& state_at) const;
  StateId state_in_scope(StateId state, ScopeId scope) const;

  const ClassTrie& classes_;
  RegisterMachine& machine_;
  Valuation valuation_;
  std::vector<ScopeContests*> scopes_;
  std::vector<RegisterId> lent_registers_;
  std::vector<size_t> first_move_;             // By configuration, after that of what starts.
  std::vector<int64_t> target_;                // The configuration being made.
  std::vector<int64_t> starting_;              // The configuration of what starts.
  std::vector<Clock> lent_;                    // What a run lends a scope.
  std::vector<std::vector<uint8_t>> effects_;  // By state and class, once asked for.
};

// Nobody is compared; what configurations are kept is up to those outside.
class AllContest : public Contest {
 public:
  using Contest::Contest;
  Followed follow(Reference reference, uint32_t transition) override;
  void close(ContestState& state) override { close_configurations(state, next_.all()); }

 protected:
  void select() override {}
};

std::unique_ptr<Contest> make_contest(Strategy strategy, const Cea& cea, const ClassTrie& classes,
                                      RegisterMachine& machine, bool has_window,
                                      std::vector<ScopeContests*> scopes);

}  // namespace catena
