// The small vocabulary of the engine: ids, positions, clocks, and the limits that have names.
#pragma once

#include <cstdint>
#include <limits>

namespace catena {

using StateId = uint32_t;     // A state of the automaton that the compiler made.
using DetStateId = uint32_t;  // A determinized state: an interned set of StateIds.
using FrontierId = uint32_t;  // An interned sequence of DetStateIds.
using ClassId = uint32_t;     // A kind of row: which guards it satisfies.
using GuardId = uint32_t;     // A predicate of one row.
using MarksId = uint32_t;     // An interned set of variables; 0 is the empty set.
using VariableId = uint32_t;
using ClockId = uint32_t;      // A clock of a timed automaton.
using ClockMask = uint32_t;    // A set of clocks, by bits.
using IntervalId = uint32_t;   // An interval that a clock is checked against.
using ActionsId = uint32_t;    // What a transition asks of and does to clocks and registers; 0 is
                               // nothing.
using RegisterId = uint32_t;   // A register of an automaton with conditions over several events.
using ConditionId = uint32_t;  // A condition over registers and the row.
using UpdateId = uint32_t;     // What a register is set to, from registers and the row.
using AbsenceId = uint32_t;    // What runs must pass over, followed by its open matches.
using ScopeId = uint32_t;      // A strategy inside an automaton.
using AsksId = uint32_t;       // What a transition asks of scopes; 0 is nothing.

using Position = int64_t;  // A row's number in the whole stream.

// What windows measure a start by: a row count, a time, or an attribute; larger is later. Floating
// clocks are mapped to integers in an order-preserving way (engine/window.h).
using Clock = int64_t;

// Which of the complex events with the same end are reported, by their sets of marked positions.
enum class Strategy : uint8_t { kAll, kNext, kLast, kMax };

__extension__ typedef __int128 Wide;  // Holds every int64 and every uint64.

inline constexpr GuardId kTrueGuard = std::numeric_limits<GuardId>::max();
inline constexpr DetStateId kNoState = std::numeric_limits<DetStateId>::max();
inline constexpr RegisterId kNoRegister = std::numeric_limits<RegisterId>::max();
inline constexpr MarksId kNoMarks = 0;
inline constexpr Position kGate = -2;   // In place of a position: the node is a gate (graph.h).
inline constexpr Position kPivot = -1;  // In place of a start: it lies in the root's `front`.
inline constexpr Clock kClockMin = std::numeric_limits<Clock>::min();

}  // namespace catena
