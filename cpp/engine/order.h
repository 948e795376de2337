// The values of a column that orders the rows, as clocks.
#pragma once

#include "columns/batch.h"

namespace catena {

// A column whose values must not fall: over the whole stream, or within each part, where rows of no
// part may hold anything.
struct OrderColumn {
  uint32_t column;
  bool is_float;
  bool is_by_part = false;
};

// The clocks of `count` rows from `begin` on. Nulls and NaN are refused, with their position, which
// is counted from the `first` row of the batch.
void read_order(const Batch& batch, const OrderColumn& order, Position first, int64_t begin,
                int64_t count, Clock* clocks);

}  // namespace catena
