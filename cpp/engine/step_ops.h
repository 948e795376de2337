// What a step does to the slots of a part, as a short program.
//
// The moves of a step (frontier.h) tell which slots flow into which. Most steps leave most slots
// alone, and what they do to the others has one of a few shapes, each of them an operation that
// makes one or a few graph nodes and writes one slot:
//
//   A ; B ; C on an A    slot 0 = [start, slot 0]           kStart, then kWaits
//             on a B     slot 1 = [output of 0, slot 1]     kOutput, then kWaits
//             on a C     a root: output of slot 1           kOutput, without a target
//   A+ ; B on an A       slot 0 = [start, slot 0 with and without this row]
//                                                           kStart, then kWaitsAndOutput
//
// What has another shape is kList: the moves themselves, worked through one by one.
//
// Invariant: operations may be carried out in place one after the other: none reads a slot that an
// earlier one has written. Steps for which no such order is at hand, or that renumber slots, have
// no operations. Cost: made once for each step.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/types.h"

namespace catena {

inline constexpr uint32_t kNewRun = 0xffffffffu;  // As a source: a run that starts at this row.
inline constexpr uint32_t kNoSlot = 0xffffffffu;  // As a target: nothing follows.

struct Move {
  uint32_t source;  // A slot of the old frontier, or kNewRun.
  uint32_t target;  // A slot of the new frontier, or kNoSlot.
  MarksId marks;
  bool is_final;

  bool waits() const { return source != kNewRun && marks == kNoMarks; }
};

enum class SlotOpCode : uint8_t { kStart, kOutput, kList };

// What stands behind the new node in the target's list.
enum class SlotRest : uint8_t { kNothing, kWaits, kWaitsAndOutput };

struct SlotOp {
  SlotOpCode code;
  SlotRest rest;
  bool is_final;      // The new node is a root.
  uint32_t target;    // The slot that is written, or kNoSlot.
  uint32_t source;    // kOutput: of which slot. kList: the first of its moves.
  MarksId marks;      // kStart, kOutput: of the new node.
  uint32_t second;    // The slot behind it. kList: the number of its moves.
  MarksId add_marks;  // kWaitsAndOutput: what the row is marked as there.
};

// The operations of a step, given its moves by target; nothing if it cannot be done in place.
std::optional<std::vector<SlotOp>> compile_ops(std::span<const Move> moves);

}  // namespace catena
