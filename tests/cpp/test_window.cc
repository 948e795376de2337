#include <cmath>
#include <limits>
#include <random>

#include "check.h"
#include "engine/window.h"

using namespace catena;

TEST(float_clocks_keep_the_order) {
  const double inf = std::numeric_limits<double>::infinity();
  const double values[] = {-inf, -1e300, -1.5, -1e-310, 0.0, 1e-310, 1.0, 1.5, 1e300, inf};
  for (size_t i = 1; i < std::size(values); ++i) {
    CHECK(clock_of_float(values[i - 1]) < clock_of_float(values[i]));
    CHECK_EQ(float_of_clock(clock_of_float(values[i])), values[i]);
  }
  CHECK_EQ(clock_of_float(-0.0), clock_of_float(0.0));
}

// The threshold is the smallest start inside, by the very subtraction that defines a window.
TEST(float_thresholds_are_exact) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-20, 20);
  for (int round = 0; round < 20000; ++round) {
    const double end = (round % 3 == 0 ? 1 : -1) * std::exp(exponent(random));
    const double bound = round % 7 == 0 ? std::abs(end) : std::exp(exponent(random));
    const Window window{WindowKind::kFloat, 0, bound};
    const double first = float_of_clock(window.threshold(clock_of_float(end)));
    CHECK(end - first <= bound);
    const double before = std::nextafter(first, -std::numeric_limits<double>::infinity());
    CHECK(!(end - before <= bound));
  }
}

TEST(event_windows_count_both_ends) {
  const Window window{WindowKind::kEvents, 3, 0.0};
  CHECK_EQ(window.threshold(10), 8);
}

TEST(thresholds_do_not_overflow) {
  const Window window{WindowKind::kInt, std::numeric_limits<int64_t>::max(), 0.0};
  CHECK_EQ(window.threshold(-5), kClockMin);
  CHECK_EQ((Window{}.threshold(0)), kClockMin);
  const Window all{WindowKind::kInt, std::numeric_limits<uint64_t>::max(), 0.0};
  CHECK_EQ(all.threshold(std::numeric_limits<Clock>::max()), kClockMin);
  const Window half{WindowKind::kInt, uint64_t{1} << 63, 0.0};
  CHECK_EQ(half.threshold(Clock{1} << 62), -(Clock{1} << 62));
}
