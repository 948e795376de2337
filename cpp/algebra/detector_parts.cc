#include "algebra/detector_parts.h"

#include <algorithm>

namespace catena {

uint32_t DetectorParts::find_or_add(std::string_view key) {
  if (const auto found = places_.find(key); found != places_.end()) return found->second;
  uint32_t place;
  if (free_.empty()) {
    place = static_cast<uint32_t>(blocks_.size());
    blocks_.emplace_back();
    keys_.emplace_back();
  } else {
    place = free_.back();
    free_.pop_back();
  }
  blocks_[place] = std::make_unique<Word[]>(words_);
  std::fill_n(blocks_[place].get(), head_.words, Word{0});
  blocks_[place][BlockHead::kTime] = kNone;
  detector_->start(blocks_[place].get() + head_.words);
  keys_[place] = &places_.emplace(key, place).first->first;
  return place;
}

void DetectorParts::drop_past(Clock now) {
  for (auto it = places_.begin(); it != places_.end();) {
    const uint32_t place = it->second;
    if (!detector_->is_past(blocks_[place][BlockHead::kTime], now)) {
      ++it;
      continue;
    }
    blocks_[place] = nullptr;
    keys_[place] = nullptr;
    free_.push_back(place);
    it = places_.erase(it);
  }
  sweep_at_ = std::max(kSweepMin, 2 * places_.size());
}

}  // namespace catena
