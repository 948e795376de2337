// Decimals by value: trailing zeros, nearest floats, and which floats can stand for a decimal.
#include <cmath>

#include "arrow_builder.h"
#include "check.h"
#include "columns/decimals.h"

using namespace catena;
using namespace catena::testing;

namespace {

Wide power_of_ten(int exponent) {
  Wide power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

bool is_read_as(Wide digits, int32_t scale, double expected) {
  const Decimal decimal = normalized(digits, scale);
  return nearest_float(decimal) == expected && is_faithful(expected, decimal);
}

}  // namespace

TEST(trailing_zeros_do_not_count) {
  CHECK(normalized(1'500, 3).digits == 15);
  CHECK_EQ(normalized(1'500, 3).scale, 1);
  CHECK(normalized(-1'200, 0).digits == -12);
  CHECK_EQ(normalized(-1'200, 0).scale, -2);
  CHECK_EQ(normalized(0, 7).scale, 0);
}

TEST(short_decimals_are_read_as_the_float_that_is_written_alike) {
  CHECK(is_read_as(110, 2, 1.1));
  CHECK(is_read_as(3, 1, 0.3));
  CHECK(is_read_as(-3 * power_of_ten(29), 30, -0.3));
  CHECK(is_read_as(5 * power_of_ten(37), 38, 0.5));
  CHECK(is_read_as(12, -2, 1200.0));
  CHECK(is_read_as(7, -30, 7e30));
  CHECK(is_read_as(7, 30, 7e-30));
  CHECK(is_read_as(0, 10, 0.0));
}

TEST(long_decimals_are_read_only_if_a_float_stands_for_them) {
  CHECK(is_read_as((Wide{1} << 60), 0, 0x1p60));
  CHECK(is_read_as(15'625 * power_of_ten(16) + 1, 20, 1.5625) == false);
  CHECK(is_read_as(Wide{931'322'574'615'478'515} * 1'000 + 625, 30, std::ldexp(1.0, -30)));
  const Decimal many = normalized(123'456'789'012'345'678, 18);
  CHECK(!is_faithful(nearest_float(many), many));
  CHECK(!is_short(many));
}

TEST(a_column_of_decimals_tells_the_first_that_no_float_stands_for) {
  const Batch batch =
      BatchBuilder()
          .add(number_array<Wide>("d", {110, std::nullopt, 123'456'789'012'345'678, 1}, "d:20,2"))
          .ints<int8_t>("i", {1, 2, 3, 4})
          .build();
  const DecimalFloats floats = floats_of_decimals(batch.column(0));
  CHECK_EQ(floats.values[0], 1.1);
  CHECK_EQ(floats.values[3], 0.01);
  CHECK(floats.unfaithful_row == 2);
  CHECK_THROWS(floats_of_decimals(batch.column(1)), ErrorKind::kUser);
}
