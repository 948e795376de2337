// The bundles of a part, kept where they are until a row changes them.
//
// A row changes few of the bundles of a query with registers: those whose conditions it satisfies.
// So bundles (bundles.h) stand in places of their own, are found by kind and values (to unite those
// that become alike), by kind (to see all that a row may concern), and through indexes on what
// their registers hold. For a row that changes some, these are taken out in order of falling latest
// start, moved by BundleStep as one flat list, and the outcome is put in.
//
// Invariants: no two bundles have the same kind and values; a place's generation changes when its
// bundle goes. Cost: constant time to add, find and remove, and for each index of the kind. Places
// and their vectors are used again, so nothing is allocated once warm.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/bundles.h"
#include "engine/register_index.h"

namespace catena {

struct StoredBundle {
  Bundle bundle;
  uint32_t generation = 0;
  uint32_t in_kind = 0;   // Its place in the list of its kind.
  uint32_t touched = 0;   // The last row that looked at it, by the evaluator's count.
  uint64_t sequence = 0;  // Later ones have larger numbers.
  uint64_t hash = 0;
  bool is_live = false;
  std::vector<Clock> values;
  std::vector<Entry> entries;
};

struct StoredKind {
  BundleKind kind;
  std::vector<uint32_t> places;
  std::vector<RegisterIndex> indexes;
};

class BundleStore {
 public:
  size_t size() const { return size_; }
  StoredBundle& operator[](uint32_t place) { return all_[place]; }
  const StoredBundle& operator[](uint32_t place) const { return all_[place]; }
  std::vector<StoredKind>& kinds() { return kinds_; }
  const std::vector<StoredKind>& kinds() const { return kinds_; }

  static constexpr uint32_t kNowhere = 0xffffffffu;
  uint32_t find(BundleKind kind, std::span<const Clock> values) const;

  // The bundles of a kind, a new list if there is none.
  StoredKind& list_of(BundleKind kind);

  // Takes the bundle over; gives its place.
  uint32_t add(const Bundle& bundle, std::span<const Clock> values, std::span<const Entry> entries);
  void remove(uint32_t place);
  void clear();
  void drop_indexes();
  // After values have changed by themselves (strings have other numbers).
  void rehash();

  // The places of all bundles in order of falling latest start; of equal ones the older first.
  std::vector<uint32_t> in_order() const;
  bool comes_before(uint32_t place, uint32_t other) const;

  // True when so many bundles have come since the last time that looking through all pays.
  bool wants_sweep() const { return added_ >= sweep_at_; }
  void swept();

  // Drops the entries that have left the window; every bundle must have one inside.
  void cut_lists(Clock threshold);

  void mark_nodes(Compaction& compaction, Clock threshold) const;
  void move_nodes(const Compaction& compaction);
  size_t bytes() const;

 private:
  static constexpr uint32_t kFree = 0xffffffffu;
  static constexpr size_t kSweepMin = 64;

  static uint64_t hash_of(BundleKind kind, std::span<const Clock> values);
  void grow();
  void enter(uint32_t place);
  void leave(uint32_t place);

  std::vector<StoredBundle> all_;
  std::vector<uint32_t> free_;
  std::vector<StoredKind> kinds_;
  std::vector<uint32_t> buckets_;  // Places by hash: open addressing, a power of two, half full.
  size_t size_ = 0;
  uint64_t next_sequence_ = 0;
  size_t added_ = 0;
  size_t sweep_at_ = kSweepMin;
};

}  // namespace catena
