// The table of standings: interned, with the step that a row of each class makes.
//
// A step depends on the standing and the row's class alone, not on the clocks that the ranks stand
// for: of two rivals that meet in a state the one of lower rank stays, and ranks are in the order
// of the clocks. So a step is worked out once and looked up ever after; it tells for each set of
// shown marks where the bundle goes, whether that reports, and which ranks of the old standing the
// ranks of the new one are, so that the caller can carry the clocks along.
//
//   A+ ; B, standing runs {1}, equals {1 rank 0}, betters {1 rank 1}:
//   on B   marks {}: to the same, ranks [1];   marks {B}: to nothing, not reported, since a better
//          gets to the final state as well. Once rank 1 has left the window, `cut` gives the
//          standing without it, from which marks {B} is reported.
//
// The outlook steps likewise (`start`), and its edges start runs. For the runs that start at this
// row "own" is this row's clock, and so is rank 0. If the latest rival of the outlook has this very
// clock too (rows at the same time), it is as good as own: the step `is_tied`. Without a window no
// start ever leaves, and all ranks are 0.
//
// Cost: a look-up is two array accesses once made. The number of standings is limited; passing the
// limit is an Error of kind kLimit, never exhausted memory.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "automaton/cea.h"
#include "base/types.h"
#include "columns/class_trie.h"
#include "engine/bundle_plan.h"
#include "engine/max_rivals.h"
#include "engine/max_standing.h"

namespace catena {

// The kinds of bundles are standings. The clocks of a standing are those of its ranks from 1 up, so
// the edges tell the rank that each rank of the target had before; 0: this row's.
using StandingId = BundleKind;
inline constexpr StandingId kNoStanding = kNoKind;

struct StandingStep {
  std::vector<BundleEdge> edges;  // By increasing marks.
  BundleEdge next;                // Of an outlook only: what becomes of it.
  bool is_identity = false;       // Nothing changes.
};

class StandingTable {
 public:
  // The references must outlive this object.
  StandingTable(const Cea& cea, const ClassTrie& classes, bool has_window,
                uint32_t state_count_max);

  // The outlook before the first row, and an outlook without its rivals.
  StandingId initial() const { return initial_; }
  StandingId without_rivals(StandingId outlook);

  // The step of a bundle, and of an outlook.
  const StandingStep& step(StandingId id, ClassId cls) { return look_up(id, 2 * cls); }
  const StandingStep& start(StandingId outlook, ClassId cls, bool is_tied) {
    return look_up(outlook, 2 * cls + (is_tied ? 1 : 0));
  }

  // The standing without the ranks above `rank_max`.
  StandingId cut(StandingId id, uint32_t rank_max);

  StandingId intern(Standing standing);
  const Standing& operator[](StandingId id) const { return *records_[id].standing; }
  uint32_t rank_count(StandingId id) const { return records_[id].rank_count; }
  const Rivals& rivals() const { return rivals_; }

  uint32_t size() const { return static_cast<uint32_t>(records_.size()); }
  uint32_t step_count() const { return step_count_; }

  // Forgets everything but the initial outlook.
  void clear();

 private:
  struct Record {
    const Standing* standing;  // A key of ids_.
    uint32_t rank_count;
    std::vector<std::unique_ptr<StandingStep>> steps;  // By class, untied and tied.
    std::vector<StandingId> cuts;                      // By ranks left.
  };

  const StandingStep& look_up(StandingId id, uint32_t place) {
    const auto& steps = records_[id].steps;
    if (place < steps.size() && steps[place]) return *steps[place];
    return make_step(id, place);
  }
  const StandingStep& make_step(StandingId id, uint32_t place);
  BundleEdge make_edge(MarksId marks, bool is_final, Standing target, bool ages);

  const Cea& cea_;
  const ClassTrie& classes_;
  Rivals rivals_;
  bool has_window_;
  uint32_t state_count_max_;
  std::map<Standing, StandingId> ids_;
  std::vector<Record> records_;
  StandingId initial_ = 0;
  uint32_t step_count_ = 0;
};

}  // namespace catena
