#include "engine/part_table.h"

#include <algorithm>
#include <bit>

namespace catena {

size_t PartTable::bucket_of(std::string_view key, uint64_t hash) const {
  for (size_t at = hash & mask();; at = (at + 1) & mask()) {
    const Bucket& bucket = buckets_[at];
    if (bucket.place == kNowhere) return at;
    if (bucket.hash == hash && parts_[bucket.place].key == key) return at;
  }
}

uint32_t PartTable::find_or_add(std::string_view key, uint64_t hash) {
  Bucket& bucket = buckets_[bucket_of(key, hash)];
  if (bucket.place != kNowhere) return bucket.place;
  uint32_t place;
  if (free_.empty()) {
    place = static_cast<uint32_t>(parts_.size());
    parts_.emplace_back();
  } else {
    place = free_.back();
    free_.pop_back();
  }
  parts_[place].key = key;
  parts_[place].is_used = true;
  bucket = {hash, place};
  if (2 * ++size_ > buckets_.size()) make_table(2 * buckets_.size());
  return place;
}

void PartTable::prefetch_part(uint64_t hash) const {
  const Bucket& bucket = buckets_[hash & mask()];
  if (bucket.place == kNowhere) return;
  const Part& part = parts_[bucket.place];
  __builtin_prefetch(&part);
  __builtin_prefetch(&part.state.slots);
}

void PartTable::make_table(size_t bucket_count) {
  buckets_.assign(bucket_count, Bucket{});
  for (uint32_t place = 0; place < parts_.size(); ++place) {
    if (!parts_[place].is_used) continue;
    const uint64_t hash = hash_of(parts_[place].key);
    buckets_[bucket_of(parts_[place].key, hash)] = {hash, place};
  }
}

void PartTable::drop_idle() {
  size_t dropped = 0;
  for (uint32_t place = 0; place < parts_.size(); ++place) {
    Part& part = parts_[place];
    if (!part.is_used || part.state.frontier != FrontierTable::kEmpty || part.state.runs) continue;
    part = Part();
    free_.push_back(place);
    ++dropped;
  }
  size_ -= dropped;
  if (dropped > 0) make_table(std::max(kBucketsMin, std::bit_ceil(2 * size_ + 1)));
  sweep_at_ = std::max(kSweepMin, 2 * size_);
}

size_t PartTable::bytes(const StrategyEvaluator* strategy) const {
  size_t total = buckets_.capacity() * sizeof(Bucket) + parts_.capacity() * sizeof(Part) +
                 free_.capacity() * sizeof(uint32_t);
  const size_t inside = std::string().capacity();  // Short keys lie inside the part.
  for (const Part& part : parts_) {
    if (part.key.capacity() > inside) total += part.key.capacity();
    total += part.state.slots.capacity() * sizeof(Slot);
    if (part.state.runs) total += strategy->bytes(*part.state.runs);
  }
  return total;
}

size_t PartTable::valuation_count(const StrategyEvaluator* strategy) const {
  size_t total = 0;
  for (const Part& part : parts_) {
    if (part.state.runs) total += strategy->valuation_count(*part.state.runs);
  }
  return total;
}

}  // namespace catena
