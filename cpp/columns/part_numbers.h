// The number of a row within its part: how many rows of the same key came before it.
//
// A stream divided over machines has no positions of its own; within a part they are the same
// wherever the part is evaluated. Keys are those of the engine (values.h), so that rows are told
// apart here exactly as they are there.
//
// The table is open addressing over slots of 24 bytes and one string of all keys: no allocation for
// a key that is there. At most half of the slots are in use.
//
// Cost: one look-up a row; memory for every key seen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "columns/batch.h"
#include "columns/values.h"

namespace catena {

class PartNumbers {
 public:
  explicit PartNumbers(std::vector<uint32_t> keys) : encoder_(std::move(keys)) {}

  // The numbers of a batch's rows, counted on from the batches before; -1 where a key is null.
  std::vector<int64_t> number(const Batch& batch);

  size_t part_count() const { return part_count_; }

 private:
  static constexpr size_t kSlotsMin = 1024;  // A power of two, as is every size of the table.

  struct Slot {
    uint64_t hash = 0;
    int64_t row_count = 0;  // 0: the slot is free.
    uint32_t key_start = 0;
    uint32_t key_size = 0;
  };

  // The slot of a key, or the free one where it belongs.
  Slot& find(uint64_t hash, std::string_view key);
  Slot& add(Slot& slot, uint64_t hash, std::string_view key);
  void grow();

  KeyEncoder encoder_;
  std::vector<Slot> slots_ = std::vector<Slot>(kSlotsMin);
  std::string keys_;  // The bytes of all keys.
  size_t part_count_ = 0;
  std::string key_;
};

}  // namespace catena
