#include "engine/step_ops.h"

#include <algorithm>

namespace catena {
namespace {

// The moves into one slot as one operation; `first` is the place of the first of them.
SlotOp op_of(std::span<const Move> group, size_t first) {
  const Move& head = group[0];
  const SlotOp list{SlotOpCode::kList,
                    SlotRest::kNothing,
                    false,
                    head.target,
                    static_cast<uint32_t>(first),
                    kNoMarks,
                    static_cast<uint32_t>(group.size()),
                    kNoMarks};
  if (head.waits()) return list;
  SlotOp op{head.source == kNewRun ? SlotOpCode::kStart : SlotOpCode::kOutput,
            SlotRest::kNothing,
            head.is_final,
            head.target,
            head.source,
            head.marks,
            0,
            kNoMarks};
  if (group.size() == 1) return op;
  if (group.size() > 3 || !group[1].waits() || group[1].is_final) return list;
  op.rest = SlotRest::kWaits;
  op.second = group[1].source;
  if (group.size() == 2) return op;
  if (group[2].source != op.second || group[2].is_final) return list;
  op.rest = SlotRest::kWaitsAndOutput;
  op.add_marks = group[2].marks;
  return op;
}

// Keeps account of which slots have been written.
class Written {
 public:
  // Whether moves into one slot can be carried out now; afterwards that is written.
  bool admits(std::span<const Move> group) {
    for (const Move& move : group) {
      if (move.source != kNewRun && std::ranges::find(slots_, move.source) != slots_.end()) {
        return false;
      }
    }
    slots_.push_back(group[0].target);
    return true;
  }

 private:
  std::vector<uint32_t> slots_;
};

}  // namespace

std::optional<std::vector<SlotOp>> compile_ops(std::span<const Move> moves) {
  std::vector<SlotOp> ops;
  Written written;
  for (size_t begin = 0; begin < moves.size();) {
    const uint32_t target = moves[begin].target;
    size_t end = begin + 1;
    while (end < moves.size() && target != kNoSlot && moves[end].target == target) ++end;
    const std::span<const Move> group = moves.subspan(begin, end - begin);
    const bool only_waits = group.size() == 1 && group[0].waits() && !group[0].is_final;
    if (only_waits && group[0].source != target) return std::nullopt;
    if (!only_waits) {
      if (!written.admits(group)) return std::nullopt;
      ops.push_back(op_of(group, begin));
    }
    begin = end;
  }
  return ops;
}

}  // namespace catena
