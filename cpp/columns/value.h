// A value by itself, with its type: what a run keeps in a register, or reads of a row.
//
// Columns are evaluated by the thousand and their types are known beforehand (program.h); a
// register outlives its batch, and the next one may bring floats where there were integers. So a
// value here says what it is. Two values compare as predicates do: integers exactly, an integer
// with a float as floats, strings by code points.
//
// A string is text that lies in a batch (`high` is its length), or, in a register, a number in the
// pool of strings (`high` is kPooled). The open matches of what a run must pass over are a number
// too, in a pool of their own (engine/absences.h); nothing compares them.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "base/types.h"

namespace catena {

enum class ValueTag : uint8_t { kUnbound, kNull, kBool, kInt, kWide, kFloat, kString, kMatches };
inline constexpr uint8_t kValueTagCount = 8;

struct Value {
  static constexpr int64_t kPooled = -1;

  ValueTag tag = ValueTag::kUnbound;
  int64_t low = 0;
  int64_t high = 0;

  static Value null() { return {ValueTag::kNull, 0, 0}; }
  static Value of_bool(bool value) { return {ValueTag::kBool, value ? 1 : 0, 0}; }
  static Value of_int(int64_t value) { return {ValueTag::kInt, value, 0}; }
  static Value of_float(double value) {
    return {ValueTag::kFloat, std::bit_cast<int64_t>(value), 0};
  }
  static Value of_wide(Wide value) {
    return {ValueTag::kWide, static_cast<int64_t>(value), static_cast<int64_t>(value >> 64)};
  }
  static Value of_text(std::string_view text) {
    return {ValueTag::kString, static_cast<int64_t>(std::bit_cast<uintptr_t>(text.data())),
            static_cast<int64_t>(text.size())};
  }
  static Value of_matches(uint32_t number) { return {ValueTag::kMatches, number, 0}; }
  static Value of_pooled(uint32_t number) { return {ValueTag::kString, number, kPooled}; }

  bool is_known() const { return tag > ValueTag::kNull; }
  bool is_number() const { return tag >= ValueTag::kInt && tag <= ValueTag::kFloat; }

  // Of numbers and truths.
  Wide as_wide() const {
    if (tag != ValueTag::kWide) return low;
    return static_cast<Wide>(high) * (Wide{1} << 64) + static_cast<uint64_t>(low);
  }
  double as_float() const {
    if (tag == ValueTag::kFloat) return std::bit_cast<double>(low);
    return tag == ValueTag::kWide ? static_cast<double>(as_wide()) : static_cast<double>(low);
  }
  // Of text that lies in a batch.
  std::string_view as_text() const {
    return {std::bit_cast<const char*>(static_cast<uintptr_t>(low)), static_cast<size_t>(high)};
  }

  bool operator==(const Value&) const = default;
};

}  // namespace catena
