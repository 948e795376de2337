// Opening an exported Arrow batch: see batch.h. What an exporter may get wrong and we can see
// (missing buffers, short children, null rows) is refused here; what the ABI does not tell (the
// size of a buffer) is trusted.
#include "columns/batch.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "base/error.h"

namespace catena {

static_assert(std::endian::native == std::endian::little, "bits and views are read as such");

namespace {

bool bit_at(const uint8_t* bits, int64_t index) {
  return ((bits[index >> 3] >> (index & 7)) & 1) != 0;
}

// Spreads bits to bytes of 0 or 1, eight at a time; reads no byte beyond the last bit.
void unpack_bits(const uint8_t* bits, int64_t first, int64_t count, uint8_t* out) {
  const int shift = static_cast<int>(first & 7);
  const uint8_t* source = bits + (first >> 3);
  int64_t row = 0;
  for (; row + 8 <= count; row += 8, ++source) {
    uint64_t eight = source[0];
    if (shift != 0) eight = ((eight >> shift) | (uint64_t{source[1]} << (8 - shift))) & 0xff;
    const uint64_t lanes = (eight * 0x0101010101010101) & 0x8040201008040201;
    const uint64_t ones = ((lanes + 0x7f7f7f7f7f7f7f7f) >> 7) & 0x0101010101010101;
    std::memcpy(out + row, &ones, 8);
  }
  for (; row < count; ++row) out[row] = bit_at(bits, first + row) ? 1 : 0;
}

int64_t count_zeros(const uint8_t* bits, int64_t first, int64_t count) {
  int64_t zeros = 0;
  int64_t row = 0;
  for (; row < count && ((first + row) & 7) != 0; ++row) zeros += bit_at(bits, first + row) ? 0 : 1;
  for (; row + 8 <= count; row += 8) zeros += 8 - std::popcount(bits[(first + row) >> 3]);
  for (; row < count; ++row) zeros += bit_at(bits, first + row) ? 0 : 1;
  return zeros;
}

PhysicalType integer_type(char letter) {
  switch (letter) {
    case 'c':
      return PhysicalType::kInt8;
    case 'C':
      return PhysicalType::kUInt8;
    case 's':
      return PhysicalType::kInt16;
    case 'S':
      return PhysicalType::kUInt16;
    case 'i':
      return PhysicalType::kInt32;
    case 'I':
      return PhysicalType::kUInt32;
    case 'l':
      return PhysicalType::kInt64;
    case 'L':
      return PhysicalType::kUInt64;
    default:
      return PhysicalType::kUnsupported;
  }
}

PhysicalType temporal_type(std::string_view format) {
  if (format == "tdD" || format == "tts" || format == "ttm") return PhysicalType::kInt32;
  if (format == "tdm" || format == "ttu" || format == "ttn") return PhysicalType::kInt64;
  if (format.starts_with("ts") || format.starts_with("tD")) return PhysicalType::kInt64;
  return PhysicalType::kUnsupported;
}

// "d:precision,scale" or "d:precision,scale,bits": the scale, if the decimal has 128 bits.
std::optional<int32_t> decimal_scale(std::string_view format) {
  const size_t comma = format.find(',');
  if (!format.starts_with("d:") || comma == std::string_view::npos) return std::nullopt;
  const char* end = format.data() + format.size();
  int32_t scale = 0;
  const auto [rest, error] = std::from_chars(format.data() + comma + 1, end, scale);
  if (error != std::errc()) return std::nullopt;
  if (rest != end && std::string_view(rest, end) != ",128") return std::nullopt;
  return scale;
}

PhysicalType physical_type(std::string_view format) {
  if (format == "vu") return PhysicalType::kUtf8View;
  if (decimal_scale(format)) return PhysicalType::kDecimal;
  if (format.starts_with('t')) return temporal_type(format);
  if (format.size() != 1) return PhysicalType::kUnsupported;
  switch (format[0]) {
    case 'b':
      return PhysicalType::kBool;
    case 'f':
      return PhysicalType::kFloat32;
    case 'g':
      return PhysicalType::kFloat64;
    case 'u':
      return PhysicalType::kUtf8;
    case 'U':
      return PhysicalType::kLargeUtf8;
    default:
      return integer_type(format[0]);
  }
}

int64_t buffer_count_min(PhysicalType type) {
  if (type == PhysicalType::kUnsupported) return 0;
  return type == PhysicalType::kUtf8 || type == PhysicalType::kLargeUtf8 ? 3 : 2;
}

std::string_view text_or_empty(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::kData, "the batch cannot be read: " + message);
}

}  // namespace

bool Column::has_nulls() const {
  return validity_ != nullptr || (dictionary_ != nullptr && dictionary_->has_nulls());
}

bool Column::is_valid(int64_t row) const {
  if (validity_ != nullptr && !bit_at(validity_, offset_ + row)) return false;
  if (dictionary_ == nullptr || !dictionary_->has_nulls()) return true;
  const uint64_t index = index_at(row);
  return index >= static_cast<uint64_t>(dictionary_->length()) ||
         dictionary_->is_valid(static_cast<int64_t>(index));
}

void Column::read_validity(int64_t begin, int64_t count, uint8_t* out) const {
  if (validity_ == nullptr) {
    std::memset(out, 1, static_cast<size_t>(count));
  } else {
    unpack_bits(validity_, offset_ + begin, count, out);
  }
  if (dictionary_ == nullptr || !dictionary_->has_nulls()) return;
  for (int64_t i = 0; i < count; ++i) out[i] = is_valid(begin + i) ? 1 : 0;
}

void Column::read_bools(int64_t begin, int64_t count, uint8_t* out) const {
  assert(type_ == PhysicalType::kBool);
  if (count > 0) unpack_bits(static_cast<const uint8_t*>(values_), offset_ + begin, count, out);
}

bool Column::bool_at(int64_t row) const {
  assert(type_ == PhysicalType::kBool);
  return bit_at(static_cast<const uint8_t*>(values_), offset_ + row);
}

uint64_t Column::index_at(int64_t row) const {
  switch (index_type_) {
    case PhysicalType::kInt8:
      return static_cast<uint64_t>(values<int8_t>()[row]);
    case PhysicalType::kInt16:
      return static_cast<uint64_t>(values<int16_t>()[row]);
    case PhysicalType::kInt32:
      return static_cast<uint64_t>(values<int32_t>()[row]);
    case PhysicalType::kInt64:
      return static_cast<uint64_t>(values<int64_t>()[row]);
    case PhysicalType::kUInt8:
      return values<uint8_t>()[row];
    case PhysicalType::kUInt16:
      return values<uint16_t>()[row];
    case PhysicalType::kUInt32:
      return values<uint32_t>()[row];
    default:
      assert(index_type_ == PhysicalType::kUInt64);
      return values<uint64_t>()[row];
  }
}

Wide Column::decimal_at(int64_t row) const {
  assert(type_ == PhysicalType::kDecimal);
  Wide value;
  std::memcpy(&value, static_cast<const char*>(values_) + (offset_ + row) * 16, 16);
  return value;
}

// A view is 16 bytes: the length, then either up to 12 bytes of text or a 4-byte prefix, the
// number of a buffer and an offset into it.
std::string_view Column::view_at(int64_t row) const {
  const char* view = static_cast<const char*>(values_) + (offset_ + row) * 16;
  int32_t fields[4];
  std::memcpy(fields, view, 16);
  const auto length = static_cast<size_t>(fields[0]);
  if (length <= 12) return {view + 4, length};
  return {static_cast<const char*>(view_buffers_[fields[2]]) + fields[3], length};
}

std::string_view Column::string_at(int64_t row) const {
  switch (type_) {
    case PhysicalType::kUtf8: {
      const int32_t* offsets = string_offsets<int32_t>() + row;
      return {bytes_ + offsets[0], static_cast<size_t>(offsets[1] - offsets[0])};
    }
    case PhysicalType::kLargeUtf8: {
      const int64_t* offsets = string_offsets<int64_t>() + row;
      return {bytes_ + offsets[0], static_cast<size_t>(offsets[1] - offsets[0])};
    }
    case PhysicalType::kUtf8View:
      return view_at(row);
    default:
      break;
  }
  assert(type_ == PhysicalType::kDictionary);
  const uint64_t index = index_at(row);
  if (index >= static_cast<uint64_t>(dictionary_->length())) {
    throw Error(ErrorKind::kData,
                "column '" + std::string(name_) + "' has an index outside its dictionary", row);
  }
  return dictionary_->string_at(static_cast<int64_t>(index));
}

Batch::Batch(ArrowSchema* schema, ArrowArray* array) : schema_(schema), array_(array) {
  static std::atomic<uint64_t> next_id{1};
  id_ = next_id.fetch_add(1, std::memory_order_relaxed);
  check_struct();
  num_rows_ = array_->length;
  columns_.reserve(static_cast<size_t>(schema_->n_children));
  for (int64_t i = 0; i < schema_->n_children; ++i) {
    columns_.push_back(
        open(*schema_->children[i], *array_->children[i], array_->offset, num_rows_));
  }
}

void Batch::check_struct() const {
  if (text_or_empty(schema_->format) != "+s") {
    throw Error(ErrorKind::kUser, "a batch must be a struct array, not one of Arrow format '" +
                                      std::string(text_or_empty(schema_->format)) + "'");
  }
  if (array_->n_children != schema_->n_children) refuse("schema and array differ in columns");
  if (array_->length < 0 || array_->offset < 0) refuse("its length or offset is negative");
  const bool has_bitmap =
      array_->null_count != 0 && array_->n_buffers > 0 && array_->buffers[0] != nullptr;
  if (!has_bitmap) return;
  const auto* bitmap = static_cast<const uint8_t*>(array_->buffers[0]);
  if (count_zeros(bitmap, array_->offset, array_->length) > 0) {
    throw Error(ErrorKind::kUser, "a batch must not have rows that are null as a whole");
  }
}

Column Batch::open(const ArrowSchema& schema, const ArrowArray& array, int64_t row_offset,
                   int64_t length) {
  Column column;
  column.name_ = text_or_empty(schema.name);
  column.format_ = text_or_empty(schema.format);
  column.length_ = length;
  column.type_ = physical_type(column.format_);
  const std::string where = "column '" + std::string(column.name_) + "' ";
  if (array.offset < 0 || array.length - row_offset < length) refuse(where + "is too short");
  if (array.n_buffers < buffer_count_min(column.type_)) refuse(where + "lacks a buffer");
  if (column.type_ == PhysicalType::kUnsupported) return column;
  column.offset_ = array.offset + row_offset;
  column.values_ = array.buffers[1];
  if (length > 0 && column.values_ == nullptr) refuse(where + "lacks its values");
  const auto* bitmap = static_cast<const uint8_t*>(array.buffers[0]);
  if (array.null_count != 0 && bitmap != nullptr &&
      (array.null_count > 0 || count_zeros(bitmap, column.offset_, length) > 0)) {
    column.validity_ = bitmap;
  }
  column.decimal_scale_ = decimal_scale(column.format_).value_or(0);
  if (column.type_ == PhysicalType::kUtf8View) column.view_buffers_ = array.buffers + 2;
  if (buffer_count_min(column.type_) == 3) {
    column.bytes_ = static_cast<const char*>(array.buffers[2]);
    // Empty strings need no bytes, and a view of them must still not be a null pointer.
    if (column.bytes_ == nullptr) column.bytes_ = "";
  }
  if (schema.dictionary != nullptr) open_dictionary(schema, array, column);
  return column;
}

void Batch::open_dictionary(const ArrowSchema& schema, const ArrowArray& array, Column& column) {
  column.index_type_ = column.type_;
  column.type_ = PhysicalType::kUnsupported;
  if (array.dictionary == nullptr || schema.dictionary->dictionary != nullptr) return;
  if (!is_integer(column.index_type_) || column.format_.size() != 1) return;
  const ArrowArray& values = *array.dictionary;
  auto dictionary = std::make_unique<Column>(open(*schema.dictionary, values, 0, values.length));
  if (!is_string(dictionary->type())) {
    column.format_ = dictionary->format();
    return;
  }
  column.type_ = PhysicalType::kDictionary;
  column.dictionary_ = dictionary.get();
  dictionaries_.push_back(std::move(dictionary));
}

const Column& Batch::column(size_t index) const {
  assert(index < columns_.size());
  const Column& column = columns_[index];
  if (column.type() == PhysicalType::kUnsupported) {
    throw Error(ErrorKind::kUser, "column '" + std::string(column.name()) +
                                      "' has a type that is not supported (Arrow format '" +
                                      std::string(column.format()) + "')");
  }
  return column;
}

}  // namespace catena
