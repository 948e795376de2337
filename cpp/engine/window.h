// The window's clock: what a start is measured by, and from which clock on it is still inside.
//
// For `n EVENTS` the clock of a row is its number in its part; for a window of time or of an
// attribute it is that value itself. So a window is one comparison of clocks wherever it is
// checked, and no table from times to positions is needed.
//
// Floating clocks are mapped to integers of the same order. Their threshold is exact: the smallest
// s for which the floating-point difference t - s is at most the window, which is what the
// definition says, and not t - window rounded.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace catena {

enum class WindowKind : uint8_t { kNone, kEvents, kInt, kFloat };

struct Window {
  WindowKind kind = WindowKind::kNone;
  uint64_t bound = 0;        // kEvents: rows spanned. kInt: the largest difference allowed.
  double float_bound = 0.0;  // kFloat: the largest difference allowed.

  // The earliest clock inside a window that ends at `clock`.
  Clock threshold(Clock clock) const {
    if (kind == WindowKind::kNone) return kClockMin;
    if (kind == WindowKind::kFloat) return float_threshold(clock);
    Clock result;
    const uint64_t difference = kind == WindowKind::kEvents ? bound - 1 : bound;
    return __builtin_sub_overflow(clock, difference, &result) ? kClockMin : result;
  }

 private:
  Clock float_threshold(Clock clock) const;
};

// The smallest clock of a number whose floating-point difference to `end` is at most the bound, or
// below it; beyond every clock if there is none.
Clock earliest_float_clock(double end, double bound, bool is_below);

// The order-preserving image of a number that is not NaN; both zeros are equal.
Clock clock_of_float(double value);
double float_of_clock(Clock clock);

}  // namespace catena
