// Short sequences of numbers kept one after the other in one vector, and a table that numbers
// distinct ones in the order in which they come.
//
// The evaluators that tell runs apart by data of any size (contest.h) number that data anew on
// every row. So a table is cleared often and filled again: clearing it takes constant time, and
// nothing is allocated once warm. What is kept between rows is the sequences alone.
//
// Cost: finding or adding a sequence takes time linear in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace catena {

template <typename T>
class Sequences {
 public:
  uint32_t size() const { return static_cast<uint32_t>(ends_.size()); }
  std::span<const T> operator[](uint32_t place) const {
    const size_t begin = place == 0 ? 0 : ends_[place - 1];
    return std::span(values_).subspan(begin, ends_[place] - begin);
  }
  std::span<T> at(uint32_t place) {
    const size_t begin = place == 0 ? 0 : ends_[place - 1];
    return std::span(values_).subspan(begin, ends_[place] - begin);
  }
  void add(std::span<const T> sequence) {
    values_.insert(values_.end(), sequence.begin(), sequence.end());
    ends_.push_back(values_.size());
  }
  void pop() {
    ends_.pop_back();
    values_.resize(ends_.empty() ? 0 : ends_.back());
  }
  void clear() {
    values_.clear();
    ends_.clear();
  }
  // As an assignment, but without more room than is needed.
  void copy(const Sequences& other) {
    values_.assign(other.values_.begin(), other.values_.end());
    ends_.assign(other.ends_.begin(), other.ends_.end());
  }
  size_t value_count() const { return values_.size(); }
  size_t bytes() const {
    return values_.capacity() * sizeof(T) + ends_.capacity() * sizeof(size_t);
  }

 private:
  std::vector<T> values_;
  std::vector<size_t> ends_;
};

template <typename T>
class SequenceTable {
 public:
  // The sequence must not be one of the table's own.
  uint32_t find_or_add(std::span<const T> sequence) {
    const uint32_t added = all_.size();
    all_.add(sequence);
    const uint32_t found = find(added);
    if (found != added) {
      all_.pop();
    } else if (2 * all_.size() > buckets_.size()) {
      grow();
    }
    return found;
  }

  const Sequences<T>& all() const { return all_; }
  uint32_t size() const { return all_.size(); }
  std::span<const T> operator[](uint32_t place) const { return all_[place]; }

  void clear() {
    all_.clear();
    if (++round_ == 0) {  // The numbers of rounds have come round.
      std::ranges::fill(buckets_, Bucket{});
      round_ = 1;
    }
  }

 private:
  struct Bucket {
    uint32_t round = 0;  // It is empty if this is not the table's.
    uint32_t place = 0;
  };

  uint32_t hash_of(uint32_t place) const {
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15ull;
    uint64_t hash = kOdd;
    for (T value : all_[place]) {
      hash = (hash ^ (hash >> 29) ^ static_cast<uint64_t>(value)) * kOdd;
    }
    return static_cast<uint32_t>(hash >> 32);
  }

  // The sequence that is equal to this one; itself, entered, if there is none.
  uint32_t find(uint32_t place) {
    const auto mask = static_cast<uint32_t>(buckets_.size() - 1);
    for (uint32_t at = hash_of(place) & mask;; at = (at + 1) & mask) {
      Bucket& bucket = buckets_[at];
      if (bucket.round != round_) {
        bucket = {round_, place};
        return place;
      }
      if (std::ranges::equal(all_[bucket.place], all_[place])) return bucket.place;
    }
  }

  void grow() {
    buckets_.assign(2 * buckets_.size(), Bucket{});
    for (uint32_t place = 0; place < all_.size(); ++place) find(place);
  }

  Sequences<T> all_;
  std::vector<Bucket> buckets_ = std::vector<Bucket>(64);  // A power of two, at most half full.
  uint32_t round_ = 1;
};

}  // namespace catena
