// The parts of a partitioned stream: key bytes to the state of that part.
//
// A stream that is not partitioned is one part with an empty key. A part without live runs holds
// nothing that a new one would not, so it may be dropped at any time; `drop_idle` does so, and is
// called often enough that idle parts are at most half of all, at amortised constant cost.
//
// With many parts nearly every row finds its part in no cache. So a table of hashes alone (open
// addressing, at most half full) leads to the parts, each of which lies together with its key, and
// both can be fetched ahead of time by who knows the next rows' keys.
//
// Invariant: a place holds a part or is one of the free ones; every part is found by its key. Cost:
// one look-up per row.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/evaluator.h"

namespace catena {

class PartTable {
 public:
  static uint64_t hash_of(std::string_view key) { return std::hash<std::string_view>{}(key); }

  // The place of the part of a key, made if need be.
  uint32_t find_or_add(std::string_view key) { return find_or_add(key, hash_of(key)); }
  uint32_t find_or_add(std::string_view key, uint64_t hash);

  // The same, or kNowhere if there is none.
  static constexpr uint32_t kNowhere = 0xffffffffu;
  uint32_t find(std::string_view key) const { return find(key, hash_of(key)); }
  uint32_t find(std::string_view key, uint64_t hash) const {
    return buckets_[bucket_of(key, hash)].place;
  }

  PartState& operator[](uint32_t place) { return parts_[place].state; }
  size_t size() const { return size_; }

  // Ask for memory that is about to be used: where a hash leads to, first as the table has it, then
  // the part; and what that points to.
  void prefetch_bucket(uint64_t hash) const { __builtin_prefetch(&buckets_[hash & mask()]); }
  void prefetch_part(uint64_t hash) const;
  void prefetch_slots(uint32_t place) const {
    __builtin_prefetch(parts_[place].state.slots.data());
  }

  // Calls visit(key, state) for every part, in no particular order.
  template <typename Visit>
  void for_each(Visit visit) {
    for (Part& part : parts_) {
      if (part.is_used) visit(std::string_view(part.key), part.state);
    }
  }

  // True when enough parts have been added since the last call of drop_idle to make it pay.
  bool wants_sweep() const { return size_ >= sweep_at_; }
  void drop_idle();

  // The strategy that the parts' runs belong to, if any, tells what those hold.
  size_t bytes(const StrategyEvaluator* strategy) const;
  size_t valuation_count(const StrategyEvaluator* strategy) const;

 private:
  static constexpr size_t kSweepMin = 1024;
  static constexpr size_t kBucketsMin = 16;  // A power of two, as is every size of the table.

  struct Bucket {
    uint64_t hash = 0;
    uint32_t place = kNowhere;  // Nowhere: the bucket is free.
  };
  struct Part {
    std::string key;
    PartState state;
    bool is_used = false;
  };

  size_t mask() const { return buckets_.size() - 1; }
  // The bucket of a key, or the free one where it belongs.
  size_t bucket_of(std::string_view key, uint64_t hash) const;
  void make_table(size_t bucket_count);

  std::vector<Bucket> buckets_ = std::vector<Bucket>(kBucketsMin);
  std::vector<Part> parts_;
  std::vector<uint32_t> free_;
  size_t size_ = 0;
  size_t sweep_at_ = kSweepMin;
};

}  // namespace catena
