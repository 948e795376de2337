#include "columns/part_numbers.h"

#include <functional>
#include <limits>

#include "base/error.h"

namespace catena {

std::vector<int64_t> PartNumbers::number(const Batch& batch) {
  std::vector<int64_t> numbers(static_cast<size_t>(batch.num_rows()));
  for (int64_t row = 0; row < batch.num_rows(); ++row) {
    key_.clear();
    if (!encoder_.encode(batch, row, key_)) {
      numbers[static_cast<size_t>(row)] = -1;
      continue;
    }
    const uint64_t hash = std::hash<std::string_view>{}(key_);
    Slot* slot = &find(hash, key_);
    if (slot->row_count == 0) slot = &add(*slot, hash, key_);
    numbers[static_cast<size_t>(row)] = slot->row_count++;
    if (2 * part_count_ > slots_.size()) grow();
  }
  return numbers;
}

PartNumbers::Slot& PartNumbers::find(uint64_t hash, std::string_view key) {
  const size_t mask = slots_.size() - 1;
  for (size_t place = hash & mask;; place = (place + 1) & mask) {
    Slot& slot = slots_[place];
    if (slot.row_count == 0) return slot;
    if (slot.hash != hash || slot.key_size != key.size()) continue;
    if (std::string_view(keys_).substr(slot.key_start, slot.key_size) == key) return slot;
  }
}

PartNumbers::Slot& PartNumbers::add(Slot& slot, uint64_t hash, std::string_view key) {
  if (keys_.size() + key.size() > std::numeric_limits<uint32_t>::max()) {
    throw Error(ErrorKind::kLimit, "the keys of one task take more than 4 GiB");
  }
  slot = {hash, 0, static_cast<uint32_t>(keys_.size()), static_cast<uint32_t>(key.size())};
  keys_.append(key);
  ++part_count_;
  return slot;
}

void PartNumbers::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.row_count == 0) continue;
    size_t place = slot.hash & mask;
    while (slots_[place].row_count != 0) place = (place + 1) & mask;
    slots_[place] = slot;
  }
}

}  // namespace catena
