#include "columns/class_trie.h"

#include <string>

#include "base/error.h"

namespace catena {

ClassTrie::ClassTrie(uint32_t guard_count, uint32_t class_count_max)
    : guard_count_(guard_count),
      class_count_max_(class_count_max),
      byte_count_((guard_count + 7) / 8),
      next_(256, kMissing) {
  if (byte_count_ == 0) class_count_ = 1;  // Without guards all rows are alike.
}

ClassId ClassTrie::class_of(const std::vector<bool>& satisfied) {
  std::vector<uint8_t> bytes(byte_count_, 0);
  for (uint32_t guard = 0; guard < guard_count_; ++guard) {
    if (satisfied[guard]) bytes[guard / 8] |= static_cast<uint8_t>(1u << (guard % 8));
  }
  return class_of(bytes.data());
}

uint32_t ClassTrie::add(uint32_t node, const uint8_t* bytes, uint32_t depth) {
  uint32_t made;
  if (depth + 1 < byte_count_) {
    made = static_cast<uint32_t>(next_.size() / 256);
    next_.resize(next_.size() + 256, kMissing);
  } else {
    if (class_count_ >= class_count_max_) {
      throw Error(ErrorKind::kLimit, "the query distinguishes more than " +
                                         std::to_string(class_count_max_) +
                                         " kinds of rows (class_count_max)");
    }
    made = class_count_++;
    bits_.insert(bits_.end(), bytes, bytes + byte_count_);
  }
  next_[node * 256 + bytes[depth]] = made;
  return made;
}

}  // namespace catena
