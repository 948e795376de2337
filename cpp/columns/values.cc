#include "columns/values.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"

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

// One word for all zeros and one for all NaN.
uint64_t canonical_bits(double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return std::bit_cast<uint64_t>(value + 0.0);
}

void append_value(const Column& column, int64_t row, std::string& key) {
  if (is_string(column.type())) {
    const std::string_view text = column.string_at(row);
    key.push_back('s');
    append_word(key, text.size());
    key.append(text);
  } else if (is_float(column.type())) {
    key.push_back('f');
    append_word(key, canonical_bits(float_at(column, row)));
  } else if (column.type() == PhysicalType::kBool) {
    key.push_back(column.bool_at(row) ? 't' : 'n');
  } else {
    const int64_t value = int_at(column, row);
    const bool is_large = column.type() == PhysicalType::kUInt64 && value < 0;
    key.push_back(is_large ? 'u' : 'i');
    append_word(key, static_cast<uint64_t>(value));
  }
}

}  // namespace

void read_clock_int(const Column& column, int64_t begin, int64_t count, int64_t* out) {
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
  for (uint32_t index : columns_) {
    const Column& column = batch.column(index);
    if (!column.is_valid(row)) return false;
    append_value(column, row, key);
  }
  return true;
}

}  // namespace catena
