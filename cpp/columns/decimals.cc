#include "columns/decimals.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "base/error.h"

namespace catena {
namespace {

constexpr int64_t kShortEnd = 1'000'000'000'000'000;  // 10^15: all below have at most 15 digits.
constexpr int32_t kExactPowers = 22;                  // 10^22 is the last that a float64 equals.
constexpr size_t kTextMax = 512;                      // A float64 before the point, and 76 digits.

constexpr std::array<double, kExactPowers + 1> powers_of_ten() {
  std::array<double, kExactPowers + 1> powers{};
  double power = 1;
  for (double& entry : powers) {
    entry = power;
    power *= 10;
  }
  return powers;
}
constexpr auto kPowers = powers_of_ten();

// The digits without sign, most significant first.
std::string digits_of(Wide digits) {
  std::string text;
  for (Wide rest = digits; rest != 0; rest /= 10) {
    const auto digit = static_cast<int>(rest % 10);  // Has the sign of `rest`.
    text.push_back(static_cast<char>('0' + (digit < 0 ? -digit : digit)));
  }
  std::ranges::reverse(text);
  return text.empty() ? "0" : text;
}

// As to_chars writes a number: with a digit before the point, and no point if none are after it.
std::string fixed_text(const Decimal& decimal) {
  std::string text = digits_of(decimal.digits);
  if (decimal.scale <= 0) {
    text.append(static_cast<size_t>(-decimal.scale), '0');
  } else {
    const auto scale = static_cast<size_t>(decimal.scale);
    if (text.size() <= scale) text.insert(0, scale + 1 - text.size(), '0');
    text.insert(text.size() - scale, 1, '.');
  }
  return decimal.digits < 0 ? "-" + text : text;
}

}  // namespace

Decimal normalized(Wide digits, int32_t scale) {
  if (digits == 0) return {};
  while (digits % 10 == 0) {
    digits /= 10;
    --scale;
  }
  return {digits, scale};
}

bool is_short(const Decimal& decimal) {
  return decimal.digits > -kShortEnd && decimal.digits < kShortEnd;
}

double nearest_float(const Decimal& decimal) {
  const bool has_power = decimal.scale >= -kExactPowers && decimal.scale <= kExactPowers;
  if (is_short(decimal) && has_power) {  // Both operands are exact, so it is rounded once.
    const auto digits = static_cast<double>(decimal.digits);
    return decimal.scale >= 0 ? digits / kPowers[static_cast<size_t>(decimal.scale)]
                              : digits * kPowers[static_cast<size_t>(-decimal.scale)];
  }
  const std::string text = digits_of(decimal.digits) + "e" + std::to_string(-decimal.scale);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return decimal.digits < 0 ? -value : value;
}

bool is_faithful(double value, const Decimal& decimal) {
  if (is_short(decimal)) return true;
  std::array<char, kTextMax> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::fixed, std::max(decimal.scale, 0));
  return error == std::errc() && std::string_view(buffer.data(), end) == fixed_text(decimal);
}

DecimalFloats floats_of_decimals(const Column& column) {
  if (column.type() != PhysicalType::kDecimal) {
    throw Error(ErrorKind::kUser,
                "column '" + std::string(column.name()) + "' is not a decimal column");
  }
  DecimalFloats floats;
  floats.values.resize(static_cast<size_t>(column.length()));
  const bool has_nulls = column.has_nulls();
  for (int64_t row = 0; row < column.length(); ++row) {
    if (has_nulls && !column.is_valid(row)) continue;
    const Decimal decimal = normalized(column.decimal_at(row), column.decimal_scale());
    const double value = nearest_float(decimal);
    floats.values[static_cast<size_t>(row)] = value;
    if (!floats.unfaithful_row && !is_faithful(value, decimal)) floats.unfaithful_row = row;
  }
  return floats;
}

}  // namespace catena
