// The parts of a partitioned stream: key bytes to the state of that part.
//
// A stream that is not partitioned is one part with an empty key. A part without live runs holds
// nothing that a new one would not, so it may be dropped at any time; `drop_idle` does so, and is
// called often enough that idle parts are at most half of all, at amortised constant cost.
//
// Invariant: `states` is dense but for the free places listed. Cost: one hash look-up per row.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/evaluator.h"

namespace catena {

class PartTable {
 public:
  // The place of the part of a key, made if need be.
  uint32_t find_or_add(std::string_view key);

  // The part of a key, or null if there is none.
  const PartState* find(std::string_view key) const;

  PartState& operator[](uint32_t place) { return states_[place]; }
  size_t size() const { return places_.size(); }

  // Calls visit(key, state) for every part, in no particular order.
  template <typename Visit>
  void for_each(Visit visit) {
    for (auto& [key, place] : places_) visit(std::string_view(key), states_[place]);
  }

  // True when enough parts have been added since the last call of drop_idle to make it pay.
  bool wants_sweep() const { return places_.size() >= sweep_at_; }
  void drop_idle();

  // The strategy that the parts' runs belong to, if any, tells what those hold.
  size_t bytes(const StrategyEvaluator* strategy) const;
  size_t valuation_count(const StrategyEvaluator* strategy) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return std::hash<std::string_view>{}(key); }
  };

  static constexpr size_t kSweepMin = 1024;

  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> places_;
  std::vector<PartState> states_;
  std::vector<uint32_t> free_;
  size_t sweep_at_ = kSweepMin;
};

}  // namespace catena
