#include "columns/row_order.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "columns/values.h"

namespace catena {
namespace {

constexpr int kDigitBits = 11;
constexpr uint64_t kDigits = uint64_t{1} << kDigitBits;

using Codes = std::vector<uint64_t>;

struct CodedRow {
  uint64_t code;
  int64_t row;
};

constexpr uint64_t kSignBit = uint64_t{1} << 63;

// Floats in IEEE order: negative ones fall as their bits rise. -0.0 is 0.0.
uint64_t code_of(double value) {
  const auto bits = std::bit_cast<uint64_t>(value == 0.0 ? 0.0 : value);
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}

Codes float_codes(const Column& column) {
  std::vector<double> values(static_cast<size_t>(column.length()));
  read_clock_float(column, 0, column.length(), values.data());
  Codes codes(values.size());
  std::ranges::transform(values, codes.begin(), code_of);
  return codes;
}

Codes integer_codes(const Column& column) {
  std::vector<int64_t> values(static_cast<size_t>(column.length()));
  read_clock_int(column, 0, column.length(), values.data());
  Codes codes(values.size());
  std::ranges::transform(values, codes.begin(),
                         [](int64_t value) { return static_cast<uint64_t>(value) ^ kSignBit; });
  return codes;
}

// The codes of a column, from 0 on.
Codes codes_of(const Column& column) {
  Codes codes = is_float(column.type()) ? float_codes(column) : integer_codes(column);
  if (codes.empty()) return codes;
  const uint64_t smallest = *std::ranges::min_element(codes);
  for (uint64_t& code : codes) code -= smallest;
  return codes;
}

bool is_in_order(const std::vector<Codes>& columns) {
  const size_t row_count = columns.empty() ? 0 : columns.front().size();
  for (size_t row = 1; row < row_count; ++row) {
    for (const Codes& codes : columns) {
      if (codes[row - 1] > codes[row]) return false;
      if (codes[row - 1] < codes[row]) break;
    }
  }
  return true;
}

// One stable pass by a digit of the codes.
void sort_by_digit(const std::vector<CodedRow>& from, int shift, std::vector<CodedRow>& to) {
  std::vector<size_t> places(kDigits + 1);
  const auto digit = [shift](const CodedRow& row) { return (row.code >> shift) & (kDigits - 1); };
  for (const CodedRow& row : from) ++places[digit(row) + 1];
  for (size_t i = 1; i <= kDigits; ++i) places[i] += places[i - 1];
  for (const CodedRow& row : from) to[places[digit(row)]++] = row;
}

void sort_by_column(const Codes& codes, std::vector<CodedRow>& rows,
                    std::vector<CodedRow>& scratch) {
  uint64_t largest = 0;
  for (CodedRow& row : rows) {
    row.code = codes[static_cast<size_t>(row.row)];
    largest = std::max(largest, row.code);
  }
  const auto bits = static_cast<int>(std::bit_width(largest));
  for (int shift = 0; shift < bits; shift += kDigitBits) {
    sort_by_digit(rows, shift, scratch);
    rows.swap(scratch);
  }
}

}  // namespace

std::vector<int64_t> ordered_rows(const Batch& batch) {
  std::vector<Codes> columns;
  for (size_t i = 0; i < batch.num_columns(); ++i) columns.push_back(codes_of(batch.column(i)));
  if (is_in_order(columns)) return {};
  std::vector<CodedRow> rows(columns.front().size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i].row = static_cast<int64_t>(i);
  std::vector<CodedRow> scratch(rows.size());
  for (size_t i = columns.size(); i-- > 0;) sort_by_column(columns[i], rows, scratch);
  std::vector<int64_t> order(rows.size());
  std::ranges::transform(rows, order.begin(), &CodedRow::row);
  return order;
}

}  // namespace catena
