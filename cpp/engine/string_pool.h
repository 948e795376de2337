// The strings that registers hold, each once, by number.
//
// Equal strings have equal numbers, so that valuations are compared and hashed by number, across
// batches and parts. A stream may bring ever new strings: when many have come, those that no run
// holds any more are dropped and the others are numbered anew (`keep`).
//
// Cost: a hash look-up per string stored or looked for. Memory: that of the strings in use, times
// two.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace catena {

class StringPool {
 public:
  uint32_t intern(std::string_view text);
  std::optional<uint32_t> find(std::string_view text) const;
  std::string_view text(uint32_t number) const { return texts_[number]; }
  uint32_t size() const { return static_cast<uint32_t>(texts_.size()); }
  size_t bytes() const;

  // Drops the strings of which `is_used` is false; gives the new number of each of the others.
  std::vector<uint32_t> keep(const std::vector<bool>& is_used);

 private:
  std::deque<std::string> texts_;  // Never moves a string.
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

}  // namespace catena
