// The numbering of row classes: which guards a row satisfies, as one small integer.
//
// Guard bits are packed eight to a byte and walked through a trie, `next[node][byte]`; a leaf is a
// class. Classes are numbered in order of first appearance and keep their numbers, also when
// columns change their types and predicates are bound anew. The number of classes is limited:
// passing the limit is an Error of kind kLimit. Cost: one look-up per eight guards; 1 KiB per inner
// node.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.h"

namespace catena {

class ClassTrie {
 public:
  ClassTrie(uint32_t guard_count, uint32_t class_count_max);

  // The class of packed bits: bit g % 8 of byte g / 8 tells whether guard g is satisfied.
  ClassId class_of(const uint8_t* bytes) {
    uint32_t node = 0;
    for (uint32_t depth = 0; depth < byte_count_; ++depth) {
      const uint32_t next = next_[node * 256 + bytes[depth]];
      node = next != kMissing ? next : add(node, bytes, depth);
    }
    return node;
  }
  ClassId class_of(const std::vector<bool>& satisfied);

  bool satisfies(ClassId cls, GuardId guard) const {
    return ((bits_[cls * byte_count_ + guard / 8] >> (guard % 8)) & 1) != 0;
  }

  uint32_t byte_count() const { return byte_count_; }
  uint32_t num_classes() const { return class_count_; }

 private:
  static constexpr uint32_t kMissing = 0xffffffffu;

  uint32_t add(uint32_t node, const uint8_t* bytes, uint32_t depth);

  uint32_t guard_count_;
  uint32_t class_count_max_;
  uint32_t byte_count_;
  uint32_t class_count_ = 0;
  std::vector<uint32_t>
      next_;  // By inner node and byte: an inner node, or in the last level a class.
  std::vector<uint8_t> bits_;  // By class: its packed bits.
};

}  // namespace catena
