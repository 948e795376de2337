// Arrow batches built by hand for tests, down to offsets, bitmaps and null buffer pointers.
//
// Invariant: what BatchBuilder exports is exactly sized heap memory, so that the address
// sanitizer sees any read beyond a buffer, and is freed when the Batch releases it; the live
// count lets a test see that nothing is released twice or never.
// Use: BatchBuilder().ints<int32_t>("x", {1, std::nullopt, 3}).strings("s", {"a", "b"}).build()
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "columns/batch.h"

namespace catena::testing {

enum class StringLayout { kPlain, kLarge, kView };

// Buffers, children and a dictionary of one array, with its part of the schema.
struct ArrayData {
  std::string format;
  std::string name;
  int64_t length = 0;
  int64_t offset = 0;
  int64_t null_count = 0;
  std::vector<std::optional<std::vector<char>>> buffers;  // None: a null pointer.
  std::vector<ArrayData> children;
  std::shared_ptr<ArrayData> dictionary;
};

inline int& live_exports() {
  static int count = 0;
  return count;
}

// Owns what one exported struct points to.
template <typename Abi>
struct Holder {
  ArrayData data;
  std::vector<const void*> buffers;
  std::vector<std::unique_ptr<char[]>> memory;
  std::vector<Abi> children;
  std::vector<Abi*> child_pointers;
  std::unique_ptr<Abi> dictionary;
};

template <typename Abi>
void release_export(Abi* abi) {
  auto* holder = static_cast<Holder<Abi>*>(abi->private_data);
  for (Abi& child : holder->children) {
    if (child.release != nullptr) child.release(&child);
  }
  if (holder->dictionary != nullptr) holder->dictionary->release(holder->dictionary.get());
  delete holder;
  abi->release = nullptr;
  --live_exports();
}

template <typename Abi>
void export_tree(const ArrayData& data, Abi* out);

template <typename Abi>
Holder<Abi>* new_holder(const ArrayData& data, Abi* out) {
  auto* holder = new Holder<Abi>();
  holder->data = data;
  holder->children.resize(data.children.size());
  for (size_t i = 0; i < data.children.size(); ++i) {
    export_tree(data.children[i], &holder->children[i]);
    holder->child_pointers.push_back(&holder->children[i]);
  }
  if (data.dictionary != nullptr) {
    holder->dictionary = std::make_unique<Abi>();
    export_tree(*data.dictionary, holder->dictionary.get());
  }
  *out = Abi{};
  out->n_children = static_cast<int64_t>(data.children.size());
  out->children = holder->child_pointers.data();
  out->dictionary = holder->dictionary.get();
  out->release = release_export<Abi>;
  out->private_data = holder;
  ++live_exports();
  return holder;
}

template <>
inline void export_tree(const ArrayData& data, ArrowSchema* out) {
  auto* holder = new_holder(data, out);
  out->format = holder->data.format.c_str();
  out->name = holder->data.name.c_str();
  out->flags = ARROW_FLAG_NULLABLE;
}

template <>
inline void export_tree(const ArrayData& data, ArrowArray* out) {
  auto* holder = new_holder(data, out);
  for (const auto& buffer : data.buffers) {
    holder->buffers.push_back(nullptr);
    if (!buffer) continue;
    holder->memory.push_back(std::make_unique<char[]>(buffer->size()));
    if (!buffer->empty()) std::memcpy(holder->memory.back().get(), buffer->data(), buffer->size());
    holder->buffers.back() = holder->memory.back().get();
  }
  out->length = data.length;
  out->offset = data.offset;
  out->null_count = data.null_count;
  out->n_buffers = static_cast<int64_t>(data.buffers.size());
  out->buffers = holder->buffers.data();
}

inline Batch make_batch(const ArrayData& data) {
  ArrowSchema schema;
  ArrowArray array;
  export_tree(data, &schema);
  export_tree(data, &array);
  return Batch(&schema, &array);
}

template <typename T>
constexpr const char* format_of() {
  if constexpr (std::is_same_v<T, int8_t>) return "c";
  if constexpr (std::is_same_v<T, uint8_t>) return "C";
  if constexpr (std::is_same_v<T, int16_t>) return "s";
  if constexpr (std::is_same_v<T, uint16_t>) return "S";
  if constexpr (std::is_same_v<T, int32_t>) return "i";
  if constexpr (std::is_same_v<T, uint32_t>) return "I";
  if constexpr (std::is_same_v<T, int64_t>) return "l";
  if constexpr (std::is_same_v<T, uint64_t>) return "L";
  if constexpr (std::is_same_v<T, float>) return "f";
  if constexpr (std::is_same_v<T, double>) return "g";
}

template <typename T>
void append_raw(std::vector<char>& bytes, const T& value) {
  const auto* from = reinterpret_cast<const char*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof(T));
}

inline std::vector<char> pack_bits(const std::vector<bool>& bits) {
  std::vector<char> bytes((bits.size() + 7) / 8, 0);
  for (size_t i = 0; i < bits.size(); ++i) {
    if (bits[i]) bytes[i / 8] = static_cast<char>(bytes[i / 8] | (1 << (i % 8)));
  }
  return bytes;
}

// Length, null count and bitmap; the bitmap is left out when nothing is null.
template <typename T>
ArrayData start_array(const std::string& name, const std::string& format,
                      const std::vector<std::optional<T>>& values) {
  ArrayData data;
  data.name = name;
  data.format = format;
  data.length = static_cast<int64_t>(values.size());
  std::vector<bool> valid;
  for (const auto& value : values) {
    valid.push_back(value.has_value());
    if (!value) ++data.null_count;
  }
  data.buffers.emplace_back();
  if (data.null_count > 0) data.buffers[0] = pack_bits(valid);
  return data;
}

// What lies under a null is made to look like a real value, to catch who looks at it.
template <typename T>
ArrayData number_array(const std::string& name, const std::vector<std::optional<T>>& values,
                       const std::string& format = format_of<T>()) {
  ArrayData data = start_array(name, format, values);
  std::vector<char> bytes;
  for (const auto& value : values) append_raw(bytes, value.value_or(static_cast<T>(77)));
  if (values.empty()) {
    data.buffers.emplace_back();
  } else {
    data.buffers.emplace_back(std::move(bytes));
  }
  return data;
}

inline ArrayData bool_array(const std::string& name,
                            const std::vector<std::optional<bool>>& values) {
  ArrayData data = start_array(name, "b", values);
  std::vector<bool> bits;
  for (const auto& value : values) bits.push_back(value.value_or(true));
  data.buffers.emplace_back();
  if (!values.empty()) data.buffers.back() = pack_bits(bits);
  return data;
}

template <typename Offset>
void add_offsets(const std::vector<std::optional<std::string>>& values, ArrayData& data) {
  std::vector<char> offsets;
  std::vector<char> bytes;
  append_raw(offsets, Offset{0});
  for (const auto& value : values) {
    if (value) bytes.insert(bytes.end(), value->begin(), value->end());
    append_raw(offsets, static_cast<Offset>(bytes.size()));
  }
  data.buffers.emplace_back();
  if (!values.empty()) data.buffers.back() = std::move(offsets);
  data.buffers.emplace_back();
  if (!bytes.empty()) data.buffers.back() = std::move(bytes);
}

// Long strings alternate between two variadic buffers.
inline void add_views(const std::vector<std::optional<std::string>>& values, ArrayData& data) {
  std::vector<char> views;
  std::vector<char> text[2];
  int32_t turn = 0;
  for (const auto& value : values) {
    const std::string string = value.value_or("");
    append_raw(views, static_cast<int32_t>(string.size()));
    if (string.size() <= 12) {
      char padded[12] = {};
      if (!string.empty()) std::memcpy(padded, string.data(), string.size());
      views.insert(views.end(), padded, padded + 12);
      continue;
    }
    views.insert(views.end(), string.begin(), string.begin() + 4);
    append_raw(views, turn);
    append_raw(views, static_cast<int32_t>(text[turn].size()));
    text[turn].insert(text[turn].end(), string.begin(), string.end());
    turn = 1 - turn;
  }
  std::vector<char> sizes;
  append_raw(sizes, static_cast<int64_t>(text[0].size()));
  append_raw(sizes, static_cast<int64_t>(text[1].size()));
  data.buffers.emplace_back();
  if (!values.empty()) data.buffers.back() = std::move(views);
  data.buffers.emplace_back(std::move(text[0]));
  data.buffers.emplace_back(std::move(text[1]));
  data.buffers.emplace_back(std::move(sizes));
}

inline ArrayData string_array(const std::string& name,
                              const std::vector<std::optional<std::string>>& values,
                              StringLayout layout = StringLayout::kPlain) {
  const char* format = layout == StringLayout::kPlain   ? "u"
                       : layout == StringLayout::kLarge ? "U"
                                                        : "vu";
  ArrayData data = start_array(name, format, values);
  if (layout == StringLayout::kPlain) add_offsets<int32_t>(values, data);
  if (layout == StringLayout::kLarge) add_offsets<int64_t>(values, data);
  if (layout == StringLayout::kView) add_views(values, data);
  return data;
}

template <typename Index>
ArrayData dictionary_array(const std::string& name,
                           const std::vector<std::optional<Index>>& indices, ArrayData values) {
  ArrayData data = number_array<Index>(name, indices);
  data.dictionary = std::make_shared<ArrayData>(std::move(values));
  return data;
}

// Cuts the first `skip` rows off by an offset, as a slice does.
inline ArrayData sliced(ArrayData data, int64_t skip) {
  data.offset += skip;
  data.length -= skip;
  if (data.null_count > 0) data.null_count = -1;
  return data;
}

class BatchBuilder {
 public:
  BatchBuilder() {
    root_.format = "+s";
    root_.buffers.emplace_back();
  }

  BatchBuilder& add(ArrayData column) {
    root_.length = column.length;
    root_.children.push_back(std::move(column));
    return *this;
  }
  template <typename T>
  BatchBuilder& ints(const std::string& name, const std::vector<std::optional<T>>& values) {
    return add(number_array<T>(name, values));
  }
  BatchBuilder& doubles(const std::string& name, const std::vector<std::optional<double>>& values) {
    return add(number_array<double>(name, values));
  }
  BatchBuilder& bools(const std::string& name, const std::vector<std::optional<bool>>& values) {
    return add(bool_array(name, values));
  }
  BatchBuilder& strings(const std::string& name,
                        const std::vector<std::optional<std::string>>& values,
                        StringLayout layout = StringLayout::kPlain) {
    return add(string_array(name, values, layout));
  }

  // The struct's own window over its children.
  BatchBuilder& slice(int64_t offset, int64_t length) {
    root_.offset = offset;
    root_.length = length;
    return *this;
  }
  ArrayData& root() { return root_; }
  Batch build() const { return make_batch(root_); }

 private:
  ArrayData root_;
};

}  // namespace catena::testing
