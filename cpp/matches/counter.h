// Counting matches without enumerating them, exactly, however many there are.
//
// The number of outputs of a node inside a window is the sum over its sides (join), that of its
// child (output) or one (start), so each node of the graph is visited once per window position
// instead of once per match: counting 2^200 matches over 200 rows takes a few hundred additions.
// Where windows move on with the stream, what is common to one root and the next is not looked at
// again (window_sums.h); else the sums are kept between roots with the same window threshold.
//
// In a clock-aware graph the number also depends on what the gates above ask for, so the sums are
// by node and thresholds.
//
// A root with a front counts the outputs of its node times those of the front. Rows whose roots may
// repeat each other have to be enumerated.
//
// Sums are 64-bit; a root whose sum overflows is counted again with numbers of any length.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.h"
#include "matches/graph.h"
#include "matches/result_set.h"

namespace catena {

// A natural number of any size, least significant limb first, without leading zero limbs.
class BigCount {
 public:
  BigCount() = default;
  explicit BigCount(uint64_t value) {
    if (value != 0) limbs_.push_back(value);
  }
  BigCount& operator+=(const BigCount& other);
  BigCount operator*(const BigCount& other) const;
  bool operator>(uint64_t value) const {
    return limbs_.size() > 1 || (limbs_.size() == 1 && limbs_[0] > value);
  }
  const std::vector<uint64_t>& limbs() const { return limbs_; }

 private:
  std::vector<uint64_t> limbs_;
};

// The number of matches an Enumerator with the same limit would report.
BigCount count_matches(const ResultSet& results, std::optional<uint64_t> limit_per_row);

}  // namespace catena
