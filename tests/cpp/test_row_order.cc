// Rows in order by radix, and numbered by key.
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "arrow_builder.h"
#include "base/error.h"
#include "check.h"
#include "columns/part_numbers.h"
#include "columns/row_order.h"

using namespace catena;
using namespace catena::testing;

namespace {

using Rows = std::vector<int64_t>;

}  // namespace

TEST(rows_in_order_are_left_alone) {
  CHECK(ordered_rows(BatchBuilder().ints<int64_t>("t", {1, 2, 2, 5}).build()).empty());
  CHECK(ordered_rows(BatchBuilder().ints<int64_t>("t", {}).build()).empty());
  CHECK(ordered_rows(BatchBuilder().ints<int64_t>("t", {7}).build()).empty());
}

TEST(equal_rows_keep_their_order_and_extremes_are_in_place) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const Batch batch = BatchBuilder().ints<int64_t>("t", {3, kMost, 3, kLeast, -1, 3}).build();
  CHECK(ordered_rows(batch) == (Rows{3, 4, 0, 2, 5, 1}));
}

TEST(the_first_column_counts_most) {
  const Batch batch =
      BatchBuilder().ints<int32_t>("t", {2, 1, 2, 1}).ints<int8_t>("s", {-5, 9, -7, -9}).build();
  CHECK(ordered_rows(batch) == (Rows{3, 1, 2, 0}));
}

TEST(the_order_is_that_of_a_stable_sort) {
  std::mt19937_64 random(1);
  for (const int64_t range : {int64_t{3}, int64_t{5'000}, int64_t{1} << 40}) {
    std::vector<std::optional<int64_t>> values(3'000);
    for (auto& value : values) value = static_cast<int64_t>(random() % (2 * range)) - range;
    Rows expected(values.size());
    std::iota(expected.begin(), expected.end(), 0);
    std::ranges::stable_sort(expected, {}, [&](int64_t row) { return *values[row]; });
    CHECK(ordered_rows(BatchBuilder().ints<int64_t>("t", values).build()) == expected);
  }
}

TEST(a_null_cannot_order_rows) {
  const Batch batch = BatchBuilder().ints<int64_t>("t", {1, std::nullopt}).build();
  bool is_refused = false;
  try {
    ordered_rows(batch);
  } catch (const Error& error) {
    is_refused = error.kind == ErrorKind::kData && error.row == 1;
  }
  CHECK(is_refused);
}

TEST(rows_are_numbered_by_key_over_batches) {
  PartNumbers numbers({0, 1});
  const Batch first = BatchBuilder()
                          .ints<int32_t>("id", {1, 2, 1, std::nullopt, 1})
                          .strings("s", {"a", "a", "a", "a", "b"})
                          .build();
  CHECK(numbers.number(first) == (Rows{0, 0, 1, -1, 0}));
  const Batch second = BatchBuilder().ints<int64_t>("id", {1, 2}).strings("s", {"a", "c"}).build();
  CHECK(numbers.number(second) == (Rows{2, 0}));
  CHECK_EQ(numbers.part_count(), 4u);
}

TEST(the_table_of_keys_grows) {
  PartNumbers numbers({0});
  std::vector<std::optional<int64_t>> keys;
  for (int64_t round = 0; round < 2; ++round) {
    for (int64_t key = 0; key < 20'000; ++key) keys.emplace_back(key * 7'919);
  }
  const Rows found = numbers.number(BatchBuilder().ints<int64_t>("id", keys).build());
  CHECK_EQ(numbers.part_count(), 20'000u);
  CHECK(std::ranges::all_of(found.begin(), found.begin() + 20'000, [](auto n) { return n == 0; }));
  CHECK(std::ranges::all_of(found.begin() + 20'000, found.end(), [](auto n) { return n == 1; }));
}
