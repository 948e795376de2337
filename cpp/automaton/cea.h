// A complex event automaton (CEA): the machine that the compiler makes of a formula.
//
// A transition reads one row that satisfies its guard, marks that row with a set of variables
// (possibly none) and goes on to its target. A run starts at any row with a transition out of an
// initial state; it yields a complex event whenever a transition enters a final state: start is the
// row of its first transition, end that of its last. Unlike in the paper (003, section 6) nothing
// loops before the start, and the row that ends a run need not be marked, since start and end are
// part of a complex event here.
//
// Some automata must know what came before a run starts: NEXT(A ; B) compares with matches that
// started earlier. They have *observers*: states that read the stream from its first row without
// starting. A transition between observers only watches; one from an observer to another state
// starts a run. A row for which an observer has no transition to another leaves it where it is.
//
// Selection strategies compare which rows are marked at all, so a transition says that
// (`is_marked`) apart from what it shows: `marks` may be empty where the items leave all out.
//
// Timed automata have clocks (paper 000, section 4). A transition may check that the time since a
// clock was last reset lies in an interval, and may reset clocks to the row's own time; checks look
// at the clocks as they were before the row. Intervals are numbers here: how long they are is known
// when the type of the time column is.
//
// Conditions over several events are asked of *registers*: values that a run keeps of the events it
// has bound (paper 001, section 3). A transition may ask conditions of the registers and the row,
// and may set registers to values made of both; conditions and values see the registers as they
// were before the row. Here conditions and values are numbers: what they are is known when the
// types of the columns are (columns/program.h). A run's registers are unbound at first.
//
// What a run must pass over may have clocks and conditions of its own. Then it is an automaton by
// itself, an *absence*, and a register of the run holds the configurations that its open matches
// are in. Such a register is set to what becomes of them over the row (`Follow`), those included
// that start on the row, for which the run's registers are theirs; and a condition asks whether one
// ends there. A transition may *forbid* conditions: it may not be made where all of one list hold.
//
// A strategy inside a formula whose operand has clocks compares runs of the operand while the
// stream is read. The operand is then an automaton of its own, the *scope's*, and a transition of
// this one that stands for one of the operand's asks the scope to make it: it may be made only if
// the strategy lets a run that makes it go on. A transition of the operand out of its initial state
// opens the scope for a run, one into its final state closes it. Conditions inside may read what
// the run has bound before: then what opens the scope lends it registers.
//
// Invariant: immutable after construction; ids are in range; transitions are sorted by source;
// nothing enters an observer but from an observer; what shows marks is marked. Nothing enters the
// initial state of a scope's operand or leaves its final ones, and it has no observers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"
#include "columns/class_trie.h"

namespace catena {

struct Transition {
  StateId source;
  GuardId guard;
  MarksId marks;
  StateId target;
  bool is_marked = marks != kNoMarks;
  ActionsId actions = 0;
  AsksId asks = 0;
};

// What a clock measures: the time column, rows of the part, or an attribute, of which there may be
// several, one kind after the other.
enum class ClockKind : uint8_t { kTime, kRows };
inline constexpr auto kFirstAttribute = static_cast<ClockKind>(2);
inline constexpr uint32_t kAttributeClocksMax = 6;
inline constexpr uint32_t kClockKindCount =
    static_cast<uint32_t>(kFirstAttribute) + kAttributeClocksMax;

struct ClockCheck {
  ClockId clock;
  IntervalId interval;

  auto operator<=>(const ClockCheck&) const = default;
};

struct ClockActions {
  std::vector<ClockCheck> checks;
  std::vector<ClockId> resets;  // Sorted.
};

struct Clocks {
  std::vector<ClockKind> kinds;  // By clock.
  uint32_t interval_count = 0;
  std::vector<ClockActions> actions{{}};  // By id; the first does nothing.
  // The compiler vouches that intervals only bound from above, and that transitions which runs with
  // one output take on one row make the same checks and resets: engine/monotonic.h.
  bool is_monotonic = false;
};

// The most clocks that a monotonic automaton may have.
inline constexpr uint32_t kMonotonicClocksMax = 8;

struct RegisterUpdate {
  RegisterId target;
  UpdateId update;
};

struct RegisterActions {
  std::vector<ConditionId> conditions;            // Sorted.
  std::vector<RegisterUpdate> updates;            // Sorted by target.
  std::vector<std::vector<ConditionId>> forbids;  // Each of them sorted.
};

// The open matches of an absence over a row: those held by a register, and those that start there.
struct Follow {
  AbsenceId absence;
  StateId entry = kNoState;         // Where they start; kNoState if none may.
  RegisterId before = kNoRegister;  // None are open before the row.

  bool operator==(const Follow&) const = default;
};

class Cea;

struct Absence {
  std::shared_ptr<const Cea> operand;
  // If any: the operand, but conditions and updates read what history keeps of rows.
  std::shared_ptr<const Cea> replayed{};
};

struct Registers {
  uint32_t count = 0;  // Of a run. Those from here on are of rows that are read again, `history`.
  std::vector<std::vector<RegisterId>> condition_reads;  // By condition, the registers it reads.
  std::vector<std::vector<RegisterId>> update_reads;     // The same by update.
  std::vector<RegisterActions> actions{};  // By the id of actions; those left out do nothing.
  std::vector<Absence> absences{};
  // By condition, and by update: what it has to do with open matches. Those left out: nothing.
  std::vector<std::optional<Follow>> condition_follows{};
  std::vector<std::optional<Follow>> update_follows{};
  std::vector<UpdateId> history{};  // What a row must keep of itself to be read again.
};

struct Scope {
  Strategy strategy;  // Not kAll.
  std::shared_ptr<const Cea> operand;
  std::vector<RegisterId> lent{};  // Those that its runs begin with, set by what opens the scope.
  // If any: the operand, but conditions and updates read what history keeps of rows.
  std::shared_ptr<const Cea> replayed{};
};

// That a scope makes a transition of its operand; what it is lent if that opens it, in the order of
// Scope::lent.
struct Ask {
  ScopeId scope;
  uint32_t transition;
  std::vector<RegisterId> lends{};
};

struct Scopes {
  std::vector<Scope> all;
  std::vector<std::vector<Ask>> asks{{}};  // By id; the first asks nothing.
};

class Cea {
 public:
  // `marks[i]` lists the variables of the marks id i, in increasing order; marks[0] must be empty.
  Cea(uint32_t state_count, std::vector<StateId> initial, std::vector<StateId> final,
      std::vector<Transition> transitions, std::vector<std::vector<VariableId>> marks,
      uint32_t variable_count, uint32_t guard_count, const std::vector<StateId>& observers = {},
      Clocks clocks = {}, Registers registers = {}, Scopes scopes = {});

  uint32_t state_count() const { return static_cast<uint32_t>(is_final_.size()); }
  uint32_t guard_count() const { return guard_count_; }
  uint32_t variable_count() const { return variable_count_; }
  const std::vector<StateId>& initial() const { return initial_; }
  bool is_final(StateId state) const { return is_final_[state]; }
  bool is_observer(StateId state) const { return is_observer_[state]; }

  // True if a transition out of `state` can still lead to a final state.
  bool has_future(StateId state) const { return has_future_[state]; }

  // The transitions out of a state; they are numbered from `first_from` on.
  std::span<const Transition> from(StateId state) const;
  uint32_t first_from(StateId state) const { return first_transition_[state]; }
  const std::vector<Transition>& transitions() const { return transitions_; }

  uint32_t clock_count() const { return static_cast<uint32_t>(clocks_.kinds.size()); }
  uint32_t interval_count() const { return clocks_.interval_count; }
  bool is_monotonic() const { return clocks_.is_monotonic; }
  ClockKind kind_of(ClockId clock) const { return clocks_.kinds[clock]; }
  const ClockActions& actions_of(const Transition& t) const { return clocks_.actions[t.actions]; }

  uint32_t register_count() const { return registers_.count; }
  const std::vector<std::vector<RegisterId>>& condition_reads() const {
    return registers_.condition_reads;
  }
  const std::vector<std::vector<RegisterId>>& update_reads() const {
    return registers_.update_reads;
  }
  const std::vector<UpdateId>& history() const { return registers_.history; }
  const RegisterActions& register_actions_of(const Transition& t) const {
    return registers_.actions[t.actions];
  }

  // Those of an automaton as a whole; what is asked of them may be asked inside of them as well.
  const std::vector<Absence>& absences() const { return registers_.absences; }
  const std::optional<Follow>& condition_follow(ConditionId condition) const {
    return registers_.condition_follows[condition];
  }
  const std::optional<Follow>& update_follow(UpdateId update) const {
    return registers_.update_follows[update];
  }

  const std::vector<Scope>& scopes() const { return scopes_.all; }
  const std::vector<Ask>& asks_of(const Transition& t) const { return scopes_.asks[t.asks]; }

  uint32_t marks_count() const { return static_cast<uint32_t>(marks_.size()); }
  const std::vector<VariableId>& variables_of(MarksId marks) const { return marks_[marks]; }

 private:
  void validate(const std::vector<StateId>& final) const;
  void validate_clocks() const;
  void validate_registers() const;
  void validate_absences() const;
  void validate_absence(const Cea& absence) const;
  void validate_scopes() const;
  void validate_operand(const Cea& operand) const;
  void find_states_with_future();

  std::vector<StateId> initial_;
  std::vector<bool> is_final_;
  std::vector<bool> is_observer_;
  std::vector<bool> has_future_;
  std::vector<Transition> transitions_;
  std::vector<uint32_t> first_transition_;  // By source; one more entry than states.
  std::vector<std::vector<VariableId>> marks_;
  uint32_t variable_count_;
  uint32_t guard_count_;
  Clocks clocks_;
  Registers registers_;
  Scopes scopes_;
};

// Whether a row of this class satisfies a transition's guard.
inline bool is_open(const Transition& transition, const ClassTrie& classes, ClassId cls) {
  return transition.guard == kTrueGuard || classes.satisfies(cls, transition.guard);
}

// Where a row of this class takes the states that runs start from: observers move, others stay.
std::vector<StateId> watch(const Cea& cea, const ClassTrie& classes, ClassId cls,
                           std::span<const StateId> before);

}  // namespace catena
