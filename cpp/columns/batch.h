// A batch of rows in Arrow's memory, and views of its columns.
//
// Invariant: a Batch owns the exported arrays and releases them once; a Column is a view into its
// Batch and lives no longer. Row 0 of every Column is row 0 of the Batch: the offsets of the
// struct, of the child and of a dictionary are already applied. A batch has no null rows of its
// own. A column of a type we cannot read is no error until somebody asks for it, so a query may
// run over a table whose other columns are lists or decimals.
// Cost: constant per column to open (and one popcount over a bitmap whose null count is unknown);
// no value is copied.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "columns/arrow_abi.h"

namespace catena {

// How values lie in memory. Dates, times, timestamps and durations are kInt32 or kInt64.
enum class PhysicalType : uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat32,
  kFloat64,
  kUtf8,
  kLargeUtf8,
  kUtf8View,
  kDictionary,  // Integer indices into a dictionary of strings.
  kDecimal,     // 128 bits; only keys and decimals.h read it.
  kUnsupported,
};

constexpr bool is_integer(PhysicalType type) {
  return type >= PhysicalType::kInt8 && type <= PhysicalType::kUInt64;
}
constexpr bool is_float(PhysicalType type) {
  return type == PhysicalType::kFloat32 || type == PhysicalType::kFloat64;
}
constexpr bool is_string(PhysicalType type) {
  return type >= PhysicalType::kUtf8 && type <= PhysicalType::kDictionary;
}

class Column {
 public:
  PhysicalType type() const { return type_; }
  std::string_view name() const { return name_; }
  // The Arrow format string, e.g. "tsu:UTC"; of a dictionary column that of its indices.
  std::string_view format() const { return format_; }
  int64_t length() const { return length_; }

  // False when surely no row is null.
  bool has_nulls() const;
  // A dictionary row is null when its index or the value it points to is.
  bool is_valid(int64_t row) const;
  // One byte per row: 1 when valid, else 0.
  void read_validity(int64_t begin, int64_t count, uint8_t* out) const;

  // The values of an integer or float column, or the indices of a dictionary column. A null
  // pointer when the column has no rows. What lies under a null row is arbitrary.
  template <typename T>
  const T* values() const {
    return values_ == nullptr ? nullptr : static_cast<const T*>(values_) + offset_;
  }
  // kBool: one byte per row, 0 or 1.
  void read_bools(int64_t begin, int64_t count, uint8_t* out) const;
  bool bool_at(int64_t row) const;

  // kDecimal: the value times 10 to the power of the scale.
  Wide decimal_at(int64_t row) const;
  int32_t decimal_scale() const { return decimal_scale_; }

  // The string of a valid row, of any string type.
  std::string_view string_at(int64_t row) const;
  // kUtf8 (int32_t) and kLargeUtf8 (int64_t): length() + 1 offsets into string_bytes().
  template <typename Offset>
  const Offset* string_offsets() const {
    return values<Offset>();
  }
  const char* string_bytes() const { return bytes_; }

  // kDictionary only.
  PhysicalType index_type() const { return index_type_; }
  const Column& dictionary() const { return *dictionary_; }
  // The index of a row as unsigned: a negative one becomes too large for any dictionary.
  uint64_t index_at(int64_t row) const;

 private:
  friend class Batch;

  std::string_view view_at(int64_t row) const;

  PhysicalType type_ = PhysicalType::kUnsupported;
  PhysicalType index_type_ = PhysicalType::kUnsupported;
  std::string_view name_;
  std::string_view format_;
  int64_t length_ = 0;
  int32_t decimal_scale_ = 0;
  int64_t offset_ = 0;                         // Of row 0 in every buffer below.
  const uint8_t* validity_ = nullptr;          // Null when no row is null.
  const void* values_ = nullptr;               // Values, bits, indices, offsets or views.
  const char* bytes_ = nullptr;                // kUtf8 and kLargeUtf8.
  const void* const* view_buffers_ = nullptr;  // kUtf8View.
  const Column* dictionary_ = nullptr;         // Owned by the Batch.
};

class Batch {
 public:
  // Takes the contents of both structs and marks them as released, also when it throws. The
  // array must be an exported struct (a record batch).
  Batch(ArrowSchema* schema, ArrowArray* array);

  int64_t num_rows() const { return num_rows_; }
  size_t num_columns() const { return columns_.size(); }
  // Throws Error kUser when the column's type is not supported.
  const Column& column(size_t index) const;
  // Differs between any two batches of a process, so that work done once per batch can be found
  // again when a batch is handed over in pieces.
  uint64_t id() const { return id_; }

 private:
  // An ABI struct that is released once.
  template <typename T>
  class Owned {
   public:
    explicit Owned(T* source) : value_(*source) { source->release = nullptr; }
    Owned(Owned&& other) noexcept : value_(other.value_) { other.value_.release = nullptr; }
    Owned& operator=(Owned&& other) noexcept {
      std::swap(value_, other.value_);
      return *this;
    }
    ~Owned() {
      if (value_.release != nullptr) value_.release(&value_);
    }
    const T& operator*() const { return value_; }
    const T* operator->() const { return &value_; }

   private:
    T value_;
  };

  void check_struct() const;
  Column open(const ArrowSchema& schema, const ArrowArray& array, int64_t row_offset,
              int64_t length);
  void open_dictionary(const ArrowSchema& schema, const ArrowArray& array, Column& column);

  Owned<ArrowSchema> schema_;
  Owned<ArrowArray> array_;
  int64_t num_rows_ = 0;
  uint64_t id_ = 0;
  std::vector<Column> columns_;
  std::vector<std::unique_ptr<Column>> dictionaries_;  // Behind pointers: columns point to them.
};

}  // namespace catena
