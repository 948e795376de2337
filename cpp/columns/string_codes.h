// Strings as small numbers, so that a condition on a string costs one table look-up a row.
//
// A column that only meets literals is turned into codes: equal strings get equal codes. Every
// condition on it then keeps its truth by code and is evaluated once per distinct string, be it
// `=` or LIKE. Example: type in {BUY, SELL} has codes 1 and 2; `type = 'BUY'` is the table
// [unknown, true, false]. Counter-example: two columns compared with each other have different
// codes; they are compared as strings (classifier.cc).
//
// Invariant: inside one batch equal strings have equal codes and different ones different codes;
// code 0 is null. Codes last until the interner starts over, which happens only between batches
// and changes its generation; whoever keeps tables by code compares that number.
// Cost: a dictionary column costs one hash look-up per dictionary entry and batch and one table
// look-up a row; a plain column one hash look-up a row, less when a row repeats the one before.
// Memory is that of the distinct strings: bounded by the capacity between batches, and by the
// batch inside one.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "columns/batch.h"
#include "columns/program.h"

namespace catena {

// SQL LIKE: `%` matches any run of characters, `_` one UTF-8 code point, and a backslash takes the
// next character as it is (at the end of the pattern it stands for itself). The whole text must
// match. Time is at most the product of the lengths.
bool like(std::string_view text, std::string_view pattern);

class StringInterner {
 public:
  static constexpr uint32_t kNullCode = 0;

  // Starts over once it holds more than this many strings, or 64 bytes for each of them.
  explicit StringInterner(uint32_t capacity = 1 << 16);

  // The code of a string, a new one if it has none yet.
  uint32_t code(std::string_view text) { return code(text, text.data() + text.size()); }
  // Same; memory up to `readable_end` may be read, which makes short strings cheaper.
  uint32_t code(std::string_view text, const char* readable_end) {
    const Key key = make_key(text, readable_end);
    if (key == last_key_ && text.size() <= 16) return last_code_;  // The same as the row before.
    last_code_ = find_or_add(key, text);
    last_key_ = key;
    return last_code_;
  }
  std::string_view text(uint32_t code) const { return texts_[code]; }
  // Codes in use, null's included.
  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }

  // To be called between batches.
  void start_batch();
  uint64_t generation() const { return generation_; }

 private:
  // A string up to 16 bytes is its key; of a longer one the key is a hash and the first bytes.
  struct Key {
    uint64_t low;
    uint64_t high;
    uint64_t length;
    bool operator==(const Key&) const = default;
  };
  struct Slot {
    Key key;
    uint32_t code;  // 0: free.
  };

  static Key make_key(std::string_view text, const char* readable_end);
  static uint64_t hash(const Key& key);
  uint32_t find_or_add(const Key& key, std::string_view text);
  uint32_t add(const Key& key, std::string_view text, size_t slot);
  void grow();
  void clear();

  uint32_t capacity_;
  uint64_t generation_ = 0;
  uint64_t bytes_ = 0;
  std::vector<Slot> slots_;        // Open addressing; the size is a power of two.
  int shift_ = 0;                  // Takes a hash to a slot.
  std::deque<std::string> texts_;  // By code; never moves a string.
  Key last_key_;                   // Of the last string coded; of no string at first.
  uint32_t last_code_ = kNullCode;
};

// The codes of one string column, batch after batch.
class StringCodes {
 public:
  // To be called when a batch begins, before its rows are encoded.
  void start_batch(const Column& column);
  void encode(const Column& column, int64_t begin, int64_t count, uint32_t* codes);
  const StringInterner& interner() const { return interner_; }

  // The code of each entry of the batch's dictionary, and null's; empty if there is no dictionary,
  // or it is too large to be coded as a whole.
  const std::vector<uint32_t>& by_index() const { return by_index_; }

  // In place of codes, what a table has for each entry of the dictionary, and for null.
  static void look_up(const Column& column, int64_t begin, int64_t count,
                      const std::vector<uint32_t>& by_index, uint32_t* out);

 private:
  template <typename Offset>
  void encode_offsets(const Column& column, int64_t begin, int64_t count, uint32_t* codes);
  void encode_each(const Column& column, int64_t begin, int64_t count, uint32_t* codes);

  StringInterner interner_;
  std::vector<uint32_t> by_index_;  // Code by dictionary index, null's last; see by_index().
};

// A condition on one string: a comparison with a literal, membership in a set, or LIKE.
class StringTest {
 public:
  // `op` is a comparison with `literal` on the right (a null one is never true nor false), kIn or
  // kLike with the fields of `node`.
  StringTest(Op op, const Node& node);
  uint8_t operator()(std::string_view text) const;

 private:
  Op op_;
  bool is_null_;
  std::string literal_;
  std::vector<std::string> set_;  // Sorted.
};

// The truth of a condition by code, filled for codes as they appear.
class StringTruth {
 public:
  explicit StringTruth(StringTest test) : test_(std::move(test)) {}
  // Makes the table cover all codes of the interner and returns it.
  const std::vector<uint8_t>& table(const StringInterner& interner);

 private:
  StringTest test_;
  uint64_t generation_ = UINT64_MAX;
  std::vector<uint8_t> truth_;
};

}  // namespace catena
