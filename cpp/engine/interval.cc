#include "engine/interval.h"

#include "engine/window.h"

namespace catena {
namespace {

__int128 difference(Clock then, Clock now) { return static_cast<__int128>(now) - then; }

double float_difference(Clock then, Clock now) {
  return float_of_clock(now) - float_of_clock(then);
}

constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();

}  // namespace

Interval Interval::of_floats(double low, double high, bool low_open, bool high_open) {
  Interval interval(0, 0);
  interval.is_float_ = true;
  interval.float_low_ = low;
  interval.float_high_ = high;
  interval.low_open_ = low_open;
  interval.high_open_ = high_open;
  return interval;
}

bool Interval::contains(Clock then, Clock now) const {
  if (is_past(then, now)) return false;
  if (!is_float_) return difference(then, now) >= low_;
  const double apart = float_difference(then, now);
  return low_open_ ? apart > float_low_ : apart >= float_low_;
}

bool Interval::is_past(Clock then, Clock now) const {
  if (!is_float_) return high_ != kForEver && difference(then, now) > high_;
  return is_above_high(float_difference(then, now));
}

bool Interval::is_settled(Clock then, Clock now) const {
  if (is_past(then, now)) return true;
  return bounds_from_below() && contains(then, now);
}

Clock Interval::long_ago() const {
  return is_float_ ? clock_of_float(-std::numeric_limits<double>::infinity()) : kClockMin + 1;
}

bool Interval::bounds_from_above() const {
  return is_float_ ? float_low_ < 0 || (float_low_ == 0 && !low_open_) : low_ <= 0;
}

bool Interval::bounds_from_below() const {
  return is_float_ ? float_high_ == std::numeric_limits<double>::infinity() : high_ == kForEver;
}

Clock Interval::threshold(Clock now) const {
  if (is_float_) return earliest_float_clock(float_of_clock(now), float_high_, high_open_);
  Clock result;
  if (high_ == kForEver) return kClockMin;
  if (!__builtin_sub_overflow(now, high_, &result)) return result;
  return high_ > 0 ? kClockMin : std::numeric_limits<Clock>::max();
}

bool Interval::ends_after(const Interval& other) const {
  if (!is_float_) return high_ > other.high_;
  if (float_high_ != other.float_high_) return float_high_ > other.float_high_;
  return !high_open_ && other.high_open_;
}

}  // namespace catena
