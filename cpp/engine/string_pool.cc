#include "engine/string_pool.h"

namespace catena {

uint32_t StringPool::intern(std::string_view text) {
  if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
  const uint32_t number = size();
  numbers_.emplace(texts_.emplace_back(text), number);
  return number;
}

std::optional<uint32_t> StringPool::find(std::string_view text) const {
  const auto found = numbers_.find(text);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

size_t StringPool::bytes() const {
  size_t bytes = numbers_.size() * (sizeof(std::string_view) + sizeof(uint32_t));
  for (const std::string& text : texts_) bytes += sizeof(std::string) + text.capacity();
  return bytes;
}

std::vector<uint32_t> StringPool::keep(const std::vector<bool>& is_used) {
  std::deque<std::string> old = std::move(texts_);
  texts_.clear();
  numbers_.clear();
  std::vector<uint32_t> moved(old.size(), 0);
  for (size_t i = 0; i < old.size(); ++i) {
    if (is_used[i]) moved[i] = intern(old[i]);
  }
  return moved;
}

}  // namespace catena
