#include "engine/window.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

namespace catena {
namespace {

// Below the image of every number, infinities included, there is nothing to look at.
Clock lowest_float_clock() { return clock_of_float(-std::numeric_limits<double>::infinity()); }

}  // namespace

// Gallops down from a first guess, then halves the last stride.
Clock earliest_float_clock(double end, double bound, bool is_below) {
  if (std::isinf(end)) return std::numeric_limits<Clock>::max();
  const auto inside = [&](Clock clock) {
    const double difference = end - float_of_clock(clock);
    return is_below ? difference < bound : difference <= bound;
  };
  const Clock lowest = lowest_float_clock();
  const Clock guess = clock_of_float(end - bound);
  Clock low = guess;   // Outside, once the galloping has ended.
  Clock high = guess;  // Inside.
  for (Clock stride = 1; !inside(high); stride *= 2) high += stride;
  for (Clock stride = 1; inside(low); stride *= 2) {
    if (low < lowest + stride) return lowest;
    high = low;
    low -= stride;
  }
  while (low + 1 < high) {
    const Clock middle = low + (high - low) / 2;
    (inside(middle) ? high : low) = middle;
  }
  return high;
}

Clock Window::float_threshold(Clock clock) const {
  if (std::isinf(float_of_clock(clock))) return clock;
  return earliest_float_clock(float_of_clock(clock), float_bound, false);
}

Clock clock_of_float(double value) {
  assert(!std::isnan(value));
  const auto bits = std::bit_cast<int64_t>(value + 0.0);  // -0.0 + 0.0 is 0.0.
  return bits >= 0 ? bits : std::numeric_limits<int64_t>::min() - bits;
}

double float_of_clock(Clock clock) {
  const int64_t bits = clock >= 0 ? clock : std::numeric_limits<int64_t>::min() - clock;
  return std::bit_cast<double>(bits);
}

}  // namespace catena
