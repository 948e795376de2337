#include "columns/one_row.h"

#include "base/error.h"

namespace catena {
namespace {

// The row keeps what it lends.
template <typename T>
void keep(T* lent) {
  lent->release = nullptr;
}

}  // namespace

OneRow::OneRow(const std::vector<std::string>& names, const std::string& formats) {
  if (names.size() != formats.size()) throw Error(ErrorKind::kUser, "names and formats differ");
  for (size_t i = 0; i < names.size(); ++i) {
    OneColumn& column = columns_.emplace_back();
    column.name = names[i];
    column.format = formats[i];
    const bool is_text = formats[i] == 'u';
    if (is_text) {
      column.buffers[1] = column.offsets.data();
    } else if (formats[i] == 'g') {
      column.buffers[1] = &column.number;
    } else if (formats[i] == 'l' || formats[i] == 'b') {
      column.buffers[1] = &column.whole;
    } else {
      throw Error(ErrorKind::kUser, "a row cannot have a column of format " + column.format);
    }
    column.schema.format = column.format.c_str();
    column.schema.name = column.name.c_str();
    column.array.length = 1;
    column.array.n_buffers = is_text ? 3 : 2;
    column.array.buffers = column.buffers.data();
    schemas_.push_back(&column.schema);
    arrays_.push_back(&column.array);
  }
}

void OneRow::set_text(size_t column, std::string_view text) {
  columns_[column].offsets[1] = static_cast<int32_t>(text.size());
  columns_[column].buffers[2] = text.data();
}

Batch OneRow::batch() {
  ArrowSchema schema{};
  schema.format = "+s";
  schema.n_children = static_cast<int64_t>(columns_.size());
  schema.children = schemas_.data();
  schema.release = keep<ArrowSchema>;
  ArrowArray array{};
  array.length = 1;
  array.n_buffers = 1;
  array.n_children = static_cast<int64_t>(columns_.size());
  array.buffers = &no_bitmap_;
  array.children = arrays_.data();
  array.release = keep<ArrowArray>;
  return Batch(&schema, &array);
}

}  // namespace catena
