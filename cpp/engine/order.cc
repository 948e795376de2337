#include "engine/order.h"

#include "base/error.h"
#include "columns/values.h"
#include "engine/window.h"

namespace catena {

void read_order(const Batch& batch, const OrderColumn& order, Position first, int64_t begin,
                int64_t count, Clock* clocks) {
  const Column& column = batch.column(order.column);
  try {
    if (!order.is_float) return read_clock_int(column, begin, count, clocks);
    for (int64_t i = 0; i < count; ++i) {
      double value;
      read_clock_float(column, begin + i, 1, &value);
      clocks[i] = clock_of_float(value);
    }
  } catch (const Error& error) {
    throw Error(error.kind, error.what(), first + error.row.value_or(0));
  }
}

}  // namespace catena
