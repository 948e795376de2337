// The parts of a stream and their blocks: what a detection knows of each key.
//
// A block has a head, which gathers the tick that is not complete yet, and then the detector's
// words. Its size is known at construction, and it is taken when the key first comes; a stream
// without keys is one part, taken at construction. Cost: one hash look-up a row.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "algebra/detector.h"

namespace catena {

// The head of a block: the time of the last tick, the last row of it, which primitives occur in the
// tick at hand (64 to a word), and with rows the row of each. It is open while some occur.
struct BlockHead {
  explicit BlockHead(const EventExpression& expression)
      : occurred_words((expression.primitive_count() + 63) / 64),
        words(2 + occurred_words + (expression.with_rows() ? expression.primitive_count() : 0)) {}

  static constexpr uint32_t kTime = 0;
  static constexpr uint32_t kRow = 1;
  static constexpr uint32_t kOccurred = 2;

  uint32_t occurred_words;
  uint32_t words;

  uint64_t* occurred(Word* block) const { return reinterpret_cast<uint64_t*>(block + kOccurred); }
  const uint64_t* occurred(const Word* block) const {
    return reinterpret_cast<const uint64_t*>(block + kOccurred);
  }
  bool is_open(const Word* block) const {
    const uint64_t* words = occurred(block);
    return std::any_of(words, words + occurred_words, [](uint64_t bits) { return bits != 0; });
  }
  Position* rows(Word* block) const { return block + kOccurred + occurred_words; }
  const Position* rows(const Word* block) const { return block + kOccurred + occurred_words; }
};

class DetectorParts {
 public:
  explicit DetectorParts(const Detector& detector)
      : head_(detector.expression()),
        words_(head_.words + detector.expression().state_words()),
        detector_(&detector) {}

  const BlockHead& head() const { return head_; }
  uint32_t block_words() const { return words_; }
  size_t size() const { return places_.size(); }

  // The place of the part of a key, made if need be.
  uint32_t find_or_add(std::string_view key);

  Word* block(uint32_t place) { return blocks_[place].get(); }
  const Word* block(uint32_t place) const { return blocks_[place].get(); }
  const std::string& key(uint32_t place) const { return *keys_[place]; }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [key, place] : places_) visit(place);
  }

  // True when enough parts have come since the last call of drop_past to make it pay.
  bool wants_sweep() const { return places_.size() >= sweep_at_; }

  // Drops the parts that can be forgotten at this time. None of them may have an open tick.
  void drop_past(Clock now);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const { return std::hash<std::string_view>{}(key); }
  };

  static constexpr size_t kSweepMin = 1024;

  BlockHead head_;
  uint32_t words_;
  const Detector* detector_;
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> places_;
  std::vector<std::unique_ptr<Word[]>> blocks_;  // By place; null where free.
  std::vector<const std::string*> keys_;         // By place.
  std::vector<uint32_t> free_;
  size_t sweep_at_ = kSweepMin;
};

}  // namespace catena
