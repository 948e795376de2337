#include "columns/values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "columns/decimals.h"

namespace catena {
namespace {

[[noreturn]] void refuse(const Column& column, int64_t row, const char* what) {
  throw Error(ErrorKind::kData,
              "column '" + std::string(column.name()) + "' orders the rows and is " + what, row);
}

// The value of an integer column as 64 bits; those of uint64 past its half wrap around.
int64_t int_at(const Column& column, int64_t row) {
  switch (column.type()) {
    case PhysicalType::kInt8:
      return column.values<int8_t>()[row];
    case PhysicalType::kInt16:
      return column.values<int16_t>()[row];
    case PhysicalType::kInt32:
      return column.values<int32_t>()[row];
    case PhysicalType::kInt64:
      return column.values<int64_t>()[row];
    case PhysicalType::kUInt8:
      return column.values<uint8_t>()[row];
    case PhysicalType::kUInt16:
      return column.values<uint16_t>()[row];
    case PhysicalType::kUInt32:
      return column.values<uint32_t>()[row];
    case PhysicalType::kUInt64:
      return static_cast<int64_t>(column.values<uint64_t>()[row]);
    default:
      throw Error(ErrorKind::kUser,
                  "column '" + std::string(column.name()) + "' is not an integer column");
  }
}

double float_at(const Column& column, int64_t row) {
  if (column.type() == PhysicalType::kFloat32) {
    return static_cast<double>(column.values<float>()[row]);
  }
  if (column.type() == PhysicalType::kFloat64) return column.values<double>()[row];
  throw Error(ErrorKind::kUser,
              "column '" + std::string(column.name()) + "' is not a float column");
}

void append_word(std::string& key, uint64_t word) {
  for (int shift = 0; shift < 64; shift += 8) key.push_back(static_cast<char>(word >> shift));
}

bool fits_64_bits(Wide value) {
  return value >= std::numeric_limits<int64_t>::min() &&
         value <= std::numeric_limits<uint64_t>::max();
}

void append_integer(std::string& key, Wide value) {
  key.push_back(value > std::numeric_limits<int64_t>::max() ? 'u' : 'i');
  append_word(key, static_cast<uint64_t>(value));
}

// A whole number as an integer, so that 1.0 is the key that 1 is; one word for all NaN.
void append_float(std::string& key, double value) {
  if (value >= -0x1p63 && value < 0x1p64 && std::trunc(value) == value) {
    return append_integer(key, static_cast<Wide>(value));
  }
  key.push_back('f');
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  append_word(key, std::bit_cast<uint64_t>(value));
}

// As the number that it is; only one that needs more digits than a float64 has is a kind of its
// own.
void append_decimal(std::string& key, const Decimal& decimal) {
  if (is_short(decimal)) return append_float(key, nearest_float(decimal));
  Wide whole = decimal.digits;
  for (int32_t zeros = decimal.scale; zeros < 0 && fits_64_bits(whole); ++zeros) whole *= 10;
  if (decimal.scale <= 0 && fits_64_bits(whole)) return append_integer(key, whole);
  key.push_back('d');
  append_word(key, static_cast<uint64_t>(decimal.digits));
  append_word(key, static_cast<uint64_t>(decimal.digits >> 64));
  append_word(key, static_cast<uint64_t>(decimal.scale));
}

int64_t ticks_per_second(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 1'000;
    case 'u':
      return 1'000'000;
    default:
      return 1'000'000'000;
  }
}

// By the instant, or the length, in seconds and nanoseconds. Times with a zone are instants; dates
// and times without one are what the clock on some wall shows; the two are never equal.
void append_temporal(std::string& key, std::string_view format, int64_t value) {
  const bool is_zoned = format.starts_with("ts") && format.size() > 4;
  key.push_back(format.starts_with("tD") ? 'D' : is_zoned ? 'Z' : 'T');
  if (format == "tdD") value *= 86'400;
  const int64_t ticks = format == "tdD" ? 1 : ticks_per_second(format[2]);
  const int64_t rest = value % ticks;  // Has the sign of the value.
  append_word(key, static_cast<uint64_t>(value / ticks - (rest < 0 ? 1 : 0)));
  append_word(key,
              static_cast<uint64_t>((rest < 0 ? rest + ticks : rest) * (1'000'000'000 / ticks)));
}

void append_string(std::string& key, std::string_view text) {
  key.push_back('s');
  append_word(key, text.size());
  key.append(text);
}

void append_value(const Column& column, int64_t row, std::string& key) {
  if (is_string(column.type())) return append_string(key, column.string_at(row));
  if (is_float(column.type())) return append_float(key, float_at(column, row));
  if (column.type() == PhysicalType::kBool) return key.push_back(column.bool_at(row) ? 't' : 'n');
  if (column.type() == PhysicalType::kDecimal) {
    return append_decimal(key, normalized(column.decimal_at(row), column.decimal_scale()));
  }
  const int64_t value = int_at(column, row);
  if (column.format().starts_with('t')) return append_temporal(key, column.format(), value);
  const bool is_large = column.type() == PhysicalType::kUInt64;
  append_integer(key, is_large ? static_cast<Wide>(static_cast<uint64_t>(value)) : Wide{value});
}

}  // namespace

void read_clock_int(const Column& column, int64_t begin, int64_t count, int64_t* out) {
  if (column.type() == PhysicalType::kInt64 && !column.has_nulls()) {
    if (count > 0) std::copy_n(column.values<int64_t>() + begin, count, out);
    return;
  }
  const bool has_nulls = column.has_nulls();
  for (int64_t row = begin; row < begin + count; ++row) {
    if (has_nulls && !column.is_valid(row)) refuse(column, row, "null");
    const int64_t value = int_at(column, row);
    if (value < 0 && column.type() == PhysicalType::kUInt64) refuse(column, row, "too large");
    out[row - begin] = value;
  }
}

void read_clock_float(const Column& column, int64_t begin, int64_t count, double* out) {
  const bool has_nulls = column.has_nulls();
  for (int64_t row = begin; row < begin + count; ++row) {
    if (has_nulls && !column.is_valid(row)) refuse(column, row, "null");
    const double value = float_at(column, row);
    if (std::isnan(value)) refuse(column, row, "NaN");
    out[row - begin] = value;
  }
}

bool KeyEncoder::encode(const Batch& batch, int64_t row, std::string& key) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = batch.column(columns_[i]);
    if (!column.is_valid(row)) return false;
    if (i >= first_tie_ && is_float(column.type()) && std::isnan(float_at(column, row))) {
      return false;
    }
    append_value(column, row, key);
  }
  return true;
}

}  // namespace catena
