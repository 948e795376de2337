// Interning of strings and conditions by code: see string_codes.h. The path that counts is a
// short string already known: two loads, one multiplication and one comparison of three words.
#include "columns/string_codes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace catena {

static_assert(std::endian::native == std::endian::little, "keys are built from loaded words");

namespace {

constexpr size_t kSlotsMin = 64;
constexpr uint64_t kBytesPerString = 64;
// A dictionary with more entries than this many times the batch's rows is not coded as a whole:
// a big dictionary may come again and again with small slices of its rows.
constexpr int64_t kDictionaryEntriesPerRow = 4;

uint64_t load_8(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, 8);
  return word;
}

uint64_t load_4(const char* from) {
  uint32_t word;
  std::memcpy(&word, from, 4);
  return word;
}

uint64_t load_byte(const char* from) { return static_cast<uint8_t>(*from); }

// Up to eight bytes, zeros above them, reading none beyond.
uint64_t load_up_to_8(const char* from, size_t length) {
  if (length >= 8) return load_8(from);
  if (length >= 4) return load_4(from) | load_4(from + length - 4) << (8 * (length - 4));
  if (length == 0) return 0;
  return load_byte(from) | load_byte(from + length / 2) << (8 * (length / 2)) |
         load_byte(from + length - 1) << (8 * (length - 1));
}

uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ typedef unsigned __int128 Product;
  const Product product = static_cast<Product>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t hash_long(std::string_view text) {
  uint64_t hash = 0x9e3779b97f4a7c15;
  size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    hash = mix(hash ^ load_8(text.data() + at), 0xe7037ed1a0b428db);
  }
  return mix(hash ^ load_up_to_8(text.data() + at, text.size() - at), 0x8ebc6af09c88c6e3);
}

// kMasks[n]: the lowest n bytes.
constexpr std::array<uint64_t, 9> kMasks = {0,
                                            0xff,
                                            0xffff,
                                            0xffffff,
                                            0xffffffff,
                                            0xffffffffff,
                                            0xffffffffffff,
                                            0xffffffffffffff,
                                            0xffffffffffffffff};

[[noreturn]] void refuse_index(const Column& column, int64_t row) {
  throw Error(ErrorKind::kData,
              "column '" + std::string(column.name()) + "' has an index outside its dictionary",
              row);
}

// Signed indices are read as unsigned: a negative one is then too large, as it should be.
template <typename Index>
void look_up_as(const Column& column, int64_t begin, int64_t count,
                const std::vector<uint32_t>& by_index, uint32_t* out) {
  const Index* indices = column.values<Index>() + begin;
  const uint32_t* table = by_index.data();
  const uint64_t entries = by_index.size() - 1;
  if (!column.has_nulls()) {
    Index largest = 0;
    for (int64_t i = 0; i < count; ++i) largest = std::max(largest, indices[i]);
    if (largest < entries) {
      for (int64_t i = 0; i < count; ++i) out[i] = table[indices[i]];
      return;
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    out[i] = by_index[entries];
    if (!column.is_valid(begin + i)) continue;
    if (indices[i] >= entries) refuse_index(column, begin + i);
    out[i] = table[indices[i]];
  }
}

// The position after the code point that begins at `at`.
size_t next_code_point(std::string_view text, size_t at) {
  ++at;
  while (at < text.size() && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80) ++at;
  return at;
}

// Whether the pattern element at `in_pattern`, not a `%`, matches at `in_text`; if so moves both.
bool match_one(std::string_view text, std::string_view pattern, size_t& in_text,
               size_t& in_pattern) {
  if (in_pattern == pattern.size() || in_text == text.size()) return false;
  if (pattern[in_pattern] == '_') {
    in_text = next_code_point(text, in_text);
    ++in_pattern;
    return true;
  }
  const bool escaped = pattern[in_pattern] == '\\' && in_pattern + 1 < pattern.size();
  const size_t literal = in_pattern + (escaped ? 1 : 0);
  if (pattern[literal] != text[in_text]) return false;
  ++in_text;
  in_pattern = literal + 1;
  return true;
}

}  // namespace

// Only the last `%` seen is ever widened: what an earlier one could take in addition, the last
// one can take as well. So there is one point to return to, and no recursion.
bool like(std::string_view text, std::string_view pattern) {
  constexpr size_t kNone = std::string_view::npos;
  size_t in_text = 0;
  size_t in_pattern = 0;
  size_t after_percent = kNone;
  size_t percent_end = 0;
  for (;;) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '%') {
      after_percent = ++in_pattern;
      percent_end = in_text;
      continue;
    }
    if (in_text == text.size() && in_pattern == pattern.size()) return true;
    if (match_one(text, pattern, in_text, in_pattern)) continue;
    if (after_percent == kNone || percent_end == text.size()) return false;
    percent_end = next_code_point(text, percent_end);
    in_text = percent_end;
    in_pattern = after_percent;
  }
}

StringInterner::StringInterner(uint32_t capacity) : capacity_(capacity) { clear(); }

void StringInterner::clear() {
  texts_.clear();
  texts_.emplace_back();  // Null's place.
  slots_ = std::vector<Slot>(kSlotsMin, Slot{});
  shift_ = 64 - std::countr_zero(kSlotsMin);
  bytes_ = 0;
  last_key_ = {0, 0, std::numeric_limits<uint64_t>::max()};
}

void StringInterner::start_batch() {
  if (size() <= capacity_ && bytes_ <= kBytesPerString * capacity_) return;
  clear();
  ++generation_;
}

StringInterner::Key StringInterner::make_key(std::string_view text, const char* readable_end) {
  const size_t length = text.size();
  const char* data = text.data();
  if (length > 16) return {hash_long(text), load_8(data), length};
  if (readable_end - data >= 16) {
    const size_t low_bytes = std::min<size_t>(length, 8);
    return {load_8(data) & kMasks[low_bytes], load_8(data + 8) & kMasks[length - low_bytes],
            length};
  }
  if (length <= 8) return {load_up_to_8(data, length), 0, length};
  return {load_8(data), load_up_to_8(data + 8, length - 8), length};
}

uint64_t StringInterner::hash(const Key& key) {
  return mix(key.low ^ 0x9e3779b97f4a7c15, key.high ^ 0xe7037ed1a0b428db ^ key.length);
}

uint32_t StringInterner::find_or_add(const Key& key, std::string_view text) {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash(key) >> shift_;
  for (;; slot = (slot + 1) & mask) {
    const Slot& candidate = slots_[slot];
    if (candidate.code == kNullCode) return add(key, text, slot);
    if (candidate.key == key && (text.size() <= 16 || texts_[candidate.code] == text)) {
      return candidate.code;
    }
  }
}

uint32_t StringInterner::add(const Key& key, std::string_view text, size_t slot) {
  assert(texts_.size() < std::numeric_limits<uint32_t>::max());
  const uint32_t code = size();
  texts_.emplace_back(text);
  bytes_ += text.size();
  slots_[slot] = {key, code};
  if (texts_.size() * 2 > slots_.size()) grow();
  return code;
}

void StringInterner::grow() {
  std::vector<Slot> old(slots_.size() * 2, Slot{});
  old.swap(slots_);
  --shift_;
  const size_t mask = slots_.size() - 1;
  for (const Slot& entry : old) {
    if (entry.code == kNullCode) continue;
    size_t slot = hash(entry.key) >> shift_;
    while (slots_[slot].code != kNullCode) slot = (slot + 1) & mask;
    slots_[slot] = entry;
  }
}

void StringCodes::start_batch(const Column& column) {
  interner_.start_batch();
  by_index_.clear();
  if (column.type() != PhysicalType::kDictionary) return;
  const Column& dictionary = column.dictionary();
  if (dictionary.length() / kDictionaryEntriesPerRow > column.length()) return;
  // One entry more than needed, so that a column of nulls may have an empty dictionary.
  by_index_.assign(static_cast<size_t>(dictionary.length()) + 1, StringInterner::kNullCode);
  encode_each(dictionary, 0, dictionary.length(), by_index_.data());
}

void StringCodes::encode(const Column& column, int64_t begin, int64_t count, uint32_t* codes) {
  if (column.type() == PhysicalType::kUtf8) {
    return encode_offsets<int32_t>(column, begin, count, codes);
  }
  if (column.type() == PhysicalType::kLargeUtf8) {
    return encode_offsets<int64_t>(column, begin, count, codes);
  }
  if (by_index_.empty()) return encode_each(column, begin, count, codes);
  look_up(column, begin, count, by_index_, codes);
}

void StringCodes::look_up(const Column& column, int64_t begin, int64_t count,
                          const std::vector<uint32_t>& by_index, uint32_t* out) {
  switch (column.index_type()) {
    case PhysicalType::kInt8:
    case PhysicalType::kUInt8:
      return look_up_as<uint8_t>(column, begin, count, by_index, out);
    case PhysicalType::kInt16:
    case PhysicalType::kUInt16:
      return look_up_as<uint16_t>(column, begin, count, by_index, out);
    case PhysicalType::kInt32:
    case PhysicalType::kUInt32:
      return look_up_as<uint32_t>(column, begin, count, by_index, out);
    default:
      return look_up_as<uint64_t>(column, begin, count, by_index, out);
  }
}
template <typename Offset>
void StringCodes::encode_offsets(const Column& column, int64_t begin, int64_t count,
                                 uint32_t* codes) {
  if (count == 0) return;
  const Offset* offsets = column.string_offsets<Offset>();
  const char* bytes = column.string_bytes();
  const char* bytes_end = bytes + offsets[column.length()];
  const bool has_nulls = column.has_nulls();
  for (int64_t i = 0; i < count; ++i) {
    const Offset start = offsets[begin + i];
    const auto length = static_cast<size_t>(offsets[begin + i + 1] - start);
    codes[i] = has_nulls && !column.is_valid(begin + i)
                   ? StringInterner::kNullCode
                   : interner_.code({bytes + start, length}, bytes_end);
  }
}

void StringCodes::encode_each(const Column& column, int64_t begin, int64_t count, uint32_t* codes) {
  for (int64_t i = 0; i < count; ++i) {
    const bool valid = column.is_valid(begin + i);
    codes[i] = valid ? interner_.code(column.string_at(begin + i)) : StringInterner::kNullCode;
  }
}

StringTest::StringTest(Op op, const Node& node)
    : op_(op), is_null_(node.is_null), literal_(node.string_value), set_(node.string_set) {
  assert(is_comparison(op) || op == Op::kIn || op == Op::kLike);
  std::sort(set_.begin(), set_.end());
}

uint8_t StringTest::operator()(std::string_view text) const {
  if (op_ == Op::kIn) {
    if (std::binary_search(set_.begin(), set_.end(), text, std::less<>())) return kTrue;
    return is_null_ ? kUnknown : kFalse;
  }
  if (is_null_) return kUnknown;
  const bool result = op_ == Op::kLike ? like(text, literal_) : holds(op_, text.compare(literal_));
  return result ? kTrue : kFalse;
}

const std::vector<uint8_t>& StringTruth::table(const StringInterner& interner) {
  if (generation_ != interner.generation()) {
    generation_ = interner.generation();
    truth_.assign(1, kUnknown);
  }
  while (truth_.size() < interner.size()) {
    truth_.push_back(test_(interner.text(static_cast<uint32_t>(truth_.size()))));
  }
  return truth_;
}

}  // namespace catena
