// An interval of differences between two clocks: how long ago a clock may have been reset.
//
// Whole clocks have whole differences, so open and fractional ends are closed whole ones by the
// time they get here; a difference may exceed 63 bits. Floating clocks (engine/window.h) are
// subtracted as the floating-point numbers they stand for.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "base/types.h"

namespace catena {

class Interval {
 public:
  // Closed; the largest number stands for no upper end.
  Interval(int64_t low, int64_t high) : low_(low), high_(high) {}
  static Interval of_floats(double low, double high, bool low_open, bool high_open);

  bool contains(Clock then, Clock now) const;

  // True if the difference has grown past the interval, and so for good.
  bool is_past(Clock then, Clock now) const;

  // The earliest reset that is not past.
  Clock threshold(Clock now) const;

  // The end of an interval of whole differences: unlimited by the largest number. None of floats.
  std::optional<uint64_t> whole_end() const {
    if (is_float_) return std::nullopt;
    const bool is_unlimited = high_ == std::numeric_limits<int64_t>::max();
    return is_unlimited ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(high_);
  }

  // True if the outcome will not change any more, whatever time passes.
  bool is_settled(Clock then, Clock now) const;

  // A reset so long ago that every interval of this one's kind is settled.
  Clock long_ago() const;

  // Without a lower end, and without an upper one: whether a later reset, or an earlier one, serves
  // at least as well.
  bool bounds_from_above() const;
  bool bounds_from_below() const;

  bool is_bounded_above() const {
    return is_float_ ? float_high_ != std::numeric_limits<double>::infinity()
                     : high_ != std::numeric_limits<int64_t>::max();
  }

  // True if this one ends later than the other; of one query, so both of the same type.
  bool ends_after(const Interval& other) const;

 private:
  bool is_above_high(double difference) const {
    return high_open_ ? difference >= float_high_ : difference > float_high_;
  }

  bool is_float_ = false;
  bool low_open_ = false;
  bool high_open_ = false;
  int64_t low_;
  int64_t high_;
  double float_low_ = 0.0;
  double float_high_ = 0.0;
};

}  // namespace catena
