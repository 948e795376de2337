#include "engine/part_table.h"

#include <algorithm>

namespace catena {

uint32_t PartTable::find_or_add(std::string_view key) {
  if (const auto found = places_.find(key); found != places_.end()) return found->second;
  uint32_t place;
  if (free_.empty()) {
    place = static_cast<uint32_t>(states_.size());
    states_.emplace_back();
  } else {
    place = free_.back();
    free_.pop_back();
  }
  places_.emplace(key, place);
  return place;
}

const PartState* PartTable::find(std::string_view key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : &states_[found->second];
}

void PartTable::drop_idle() {
  for (auto it = places_.begin(); it != places_.end();) {
    if (states_[it->second].frontier != FrontierTable::kEmpty || states_[it->second].runs) {
      ++it;
      continue;
    }
    states_[it->second] = PartState();
    free_.push_back(it->second);
    it = places_.erase(it);
  }
  sweep_at_ = std::max(kSweepMin, 2 * places_.size());
}

size_t PartTable::bytes(const StrategyEvaluator* strategy) const {
  size_t total = states_.capacity() * sizeof(PartState) + free_.capacity() * sizeof(uint32_t);
  for (const PartState& state : states_) {
    total += state.lists.capacity() * sizeof(Entry);
    if (state.runs) total += strategy->bytes(*state.runs);
  }
  for (const auto& [key, place] : places_)
    total += sizeof(key) + key.capacity() + 2 * sizeof(void*);
  return total + places_.bucket_count() * sizeof(void*);
}

size_t PartTable::valuation_count(const StrategyEvaluator* strategy) const {
  size_t total = 0;
  for (const PartState& state : states_) {
    if (state.runs) total += strategy->valuation_count(*state.runs);
  }
  return total;
}

}  // namespace catena
