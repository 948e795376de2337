#include "engine/bundle_store.h"

#include <algorithm>
#include <cassert>

namespace catena {

uint64_t BundleStore::hash_of(BundleKind kind, std::span<const Clock> values) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15ull;
  uint64_t hash = (kind + 1) * kOdd;
  for (Clock value : values) {
    hash = (hash ^ (hash >> 29) ^ static_cast<uint64_t>(value)) * kOdd;
  }
  return hash ^ (hash >> 32);
}

uint32_t BundleStore::find(BundleKind kind, std::span<const Clock> values) const {
  if (buckets_.empty()) return kNowhere;
  const uint64_t hash = hash_of(kind, values);
  const size_t mask = buckets_.size() - 1;
  for (size_t at = hash & mask; buckets_[at] != kFree; at = (at + 1) & mask) {
    const StoredBundle& one = all_[buckets_[at]];
    if (one.hash == hash && one.bundle.kind == kind && std::ranges::equal(one.values, values)) {
      return buckets_[at];
    }
  }
  return kNowhere;
}

void BundleStore::grow() {
  buckets_.assign(std::max<size_t>(16, 2 * buckets_.size()), kFree);
  for (uint32_t i = 0; i < all_.size(); ++i) {
    if (all_[i].is_live) enter(i);
  }
}

void BundleStore::enter(uint32_t place) {
  const size_t mask = buckets_.size() - 1;
  size_t at = all_[place].hash & mask;
  while (buckets_[at] != kFree) at = (at + 1) & mask;
  buckets_[at] = place;
}

// Moves back what stands behind in the same run of buckets, so that no marks are left.
void BundleStore::leave(uint32_t place) {
  const size_t mask = buckets_.size() - 1;
  size_t hole = all_[place].hash & mask;
  while (buckets_[hole] != place) hole = (hole + 1) & mask;
  for (size_t at = (hole + 1) & mask; buckets_[at] != kFree; at = (at + 1) & mask) {
    const size_t home = all_[buckets_[at]].hash & mask;
    if (((at - home) & mask) >= ((at - hole) & mask)) {
      buckets_[hole] = buckets_[at];
      hole = at;
    }
  }
  buckets_[hole] = kFree;
}

StoredKind& BundleStore::list_of(BundleKind kind) {
  const auto found = std::ranges::find(kinds_, kind, &StoredKind::kind);
  if (found != kinds_.end()) return *found;
  return kinds_.emplace_back(StoredKind{kind, {}, {}});
}

uint32_t BundleStore::add(const Bundle& bundle, std::span<const Clock> values,
                          std::span<const Entry> entries) {
  uint32_t place = static_cast<uint32_t>(all_.size());
  if (free_.empty()) {
    all_.emplace_back();
  } else {
    place = free_.back();
    free_.pop_back();
  }
  StoredBundle& one = all_[place];
  one.bundle = bundle;
  one.values.assign(values.begin(), values.end());
  one.entries.assign(entries.begin(), entries.end());
  one.hash = hash_of(bundle.kind, values);
  one.sequence = next_sequence_++;
  one.touched = 0;
  if (2 * (size_ + 1) > buckets_.size()) grow();
  enter(place);
  one.is_live = true;
  ++size_;
  ++added_;
  StoredKind& list = list_of(bundle.kind);
  one.in_kind = static_cast<uint32_t>(list.places.size());
  list.places.push_back(place);
  return place;
}

void BundleStore::remove(uint32_t place) {
  StoredBundle& one = all_[place];
  leave(place);
  StoredKind& list = list_of(one.bundle.kind);
  list.places[one.in_kind] = list.places.back();
  all_[list.places.back()].in_kind = one.in_kind;
  list.places.pop_back();
  if (list.places.empty()) list.indexes.clear();
  one.is_live = false;
  ++one.generation;
  free_.push_back(place);
  --size_;
}

void BundleStore::clear() { *this = BundleStore(); }

void BundleStore::drop_indexes() {
  for (StoredKind& kind : kinds_) kind.indexes.clear();
}

void BundleStore::rehash() {
  std::ranges::fill(buckets_, kFree);
  for (uint32_t i = 0; i < all_.size(); ++i) {
    if (!all_[i].is_live) continue;
    all_[i].hash = hash_of(all_[i].bundle.kind, all_[i].values);
    enter(i);
  }
}

std::vector<uint32_t> BundleStore::in_order() const {
  std::vector<uint32_t> places;
  for (const StoredKind& kind : kinds_) {
    places.insert(places.end(), kind.places.begin(), kind.places.end());
  }
  std::ranges::sort(places, [&](uint32_t a, uint32_t b) { return comes_before(a, b); });
  return places;
}

bool BundleStore::comes_before(uint32_t place, uint32_t other) const {
  const Clock late = all_[place].bundle.max_start;
  const Clock other_late = all_[other].bundle.max_start;
  return late != other_late ? late > other_late : all_[place].sequence < all_[other].sequence;
}

void BundleStore::swept() {
  added_ = 0;
  sweep_at_ = std::max(kSweepMin, size_);
  std::erase_if(kinds_, [](const StoredKind& kind) { return kind.places.empty(); });
}

void BundleStore::cut_lists(Clock threshold) {
  for (StoredBundle& one : all_) {
    if (!one.is_live) continue;
    std::erase_if(one.entries, [&](const Entry& entry) { return entry.max_start < threshold; });
    assert(!one.entries.empty());
    one.bundle.length = static_cast<uint32_t>(one.entries.size());
    if (one.entries.size() == 1) one.bundle.merged = one.entries.front().node;
  }
}

void BundleStore::mark_nodes(Compaction& compaction, Clock threshold) const {
  for (const StoredBundle& one : all_) {
    if (!one.is_live) continue;
    if (one.bundle.merged != kNotMerged) compaction.mark(one.bundle.merged, threshold);
    for (const Entry& entry : one.entries) compaction.mark(entry.node, threshold);
  }
}

void BundleStore::move_nodes(const Compaction& compaction) {
  for (StoredBundle& one : all_) {
    if (!one.is_live) continue;
    if (one.bundle.merged != kNotMerged) one.bundle.merged = compaction.moved(one.bundle.merged);
    for (Entry& entry : one.entries) entry.node = compaction.moved(entry.node);
  }
}

size_t BundleStore::bytes() const {
  size_t bytes = all_.capacity() * sizeof(StoredBundle) + buckets_.capacity() * sizeof(uint32_t) +
                 free_.capacity() * sizeof(uint32_t);
  for (const StoredBundle& one : all_) {
    bytes += one.values.capacity() * sizeof(Clock) + one.entries.capacity() * sizeof(Entry);
  }
  for (const StoredKind& kind : kinds_) {
    bytes += sizeof(StoredKind) + kind.places.capacity() * sizeof(uint32_t);
    for (const RegisterIndex& index : kind.indexes) bytes += index.bytes();
  }
  return bytes;
}

}  // namespace catena
