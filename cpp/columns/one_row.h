// One row as a batch, filled with values and read again and again: the path of events that come one
// by one, without an Arrow library in between.
//
// Columns are int64, float64, booleans or strings, none of them null. Example: with columns "u" and
// "l", `set_text(0, "BUY")`, `set_int(1, 40)`, and `batch()` is a batch of that row.
//
// Invariant: a batch views the row's memory, so it lives no longer than until the next `set_...`,
// nor than the row. Cost: a few stores for each column; nothing is allocated but the batch's views.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "columns/batch.h"

namespace catena {

class OneRow {
 public:
  // Arrow formats: "l", "g", "b" or "u" for each column.
  OneRow(const std::vector<std::string>& names, const std::string& formats);
  OneRow(const OneRow&) = delete;
  OneRow& operator=(const OneRow&) = delete;

  size_t width() const { return columns_.size(); }
  const std::string& name(size_t column) const { return columns_[column].name; }
  char format(size_t column) const { return columns_[column].format[0]; }

  void set_int(size_t column, int64_t value) { columns_[column].whole = value; }
  void set_float(size_t column, double value) { columns_[column].number = value; }
  void set_bool(size_t column, bool value) { columns_[column].whole = value ? 1 : 0; }
  // The text is not copied.
  void set_text(size_t column, std::string_view text);

  Batch batch();

 private:
  struct OneColumn {
    std::string name;
    std::string format;
    int64_t whole = 0;  // Booleans too: their only bit is the lowest.
    double number = 0;
    std::array<int32_t, 2> offsets{};
    std::array<const void*, 3> buffers{};
    ArrowSchema schema{};
    ArrowArray array{};
  };

  std::deque<OneColumn> columns_;  // Never moved.
  std::vector<ArrowSchema*> schemas_;
  std::vector<ArrowArray*> arrays_;
  const void* no_bitmap_ = nullptr;
};

}  // namespace catena
