#include "engine/bundle_plan.h"

#include <algorithm>
#include <cassert>

namespace catena {

void carry_clocks(const BundleEdge& edge, std::span<const Clock> clocks, std::span<const Clock> now,
                  std::vector<Clock>& out) {
  for (uint32_t source : edge.clocks) {
    if (source == kThisRow) {
      out.push_back(now[0]);
    } else {
      out.push_back(source <= clocks.size() ? clocks[source - 1] : now[~source]);
    }
  }
}

void BundlePlan::clear() {
  moves_.clear();
  targets_.clear();
  clocks_.clear();
  into_nothing_ = {kNoKind, 0, kEnd, kEnd};
  if (++round_ == 0) {  // The numbers of rounds have come round.
    std::ranges::fill(buckets_, Bucket{});
    round_ = 1;
  }
}

void BundlePlan::add(uint32_t source, std::span<const BundleEdge> edges,
                     std::span<const Clock> clocks, std::span<const Clock> now) {
  for (const BundleEdge& edge : edges) {
    const auto move = static_cast<uint32_t>(moves_.size());
    moves_.push_back({source, edge.marks, edge.is_final, kEnd});
    if (edge.target == kNoKind) {
      append(into_nothing_, move);
    } else {
      append(targets_[find_or_add(edge, clocks, now)], move);
    }
  }
}

void BundlePlan::append(Target& target, uint32_t move) {
  if (target.first_move == kEnd) {
    target.first_move = move;
  } else {
    moves_[target.last_move].next = move;
  }
  target.last_move = move;
}

// The target is added first and taken back if it is there already.
uint32_t BundlePlan::find_or_add(const BundleEdge& edge, std::span<const Clock> clocks,
                                 std::span<const Clock> now) {
  const auto added = static_cast<uint32_t>(targets_.size());
  const auto clocks_begin = static_cast<uint32_t>(clocks_.size());
  targets_.push_back({edge.target, clocks_begin, kEnd, kEnd});
  carry_clocks(edge, clocks, now, clocks_);
  const uint32_t found = find(added);
  if (found != added) {
    targets_.pop_back();
    clocks_.resize(clocks_begin);
  } else if (2 * targets_.size() > buckets_.size()) {
    grow();
  }
  return found;
}

std::span<const Clock> BundlePlan::clocks_of(uint32_t target) const {
  const size_t begin = targets_[target].clocks_begin;
  const size_t end =
      target + 1 < targets_.size() ? targets_[target + 1].clocks_begin : clocks_.size();
  return std::span(clocks_).subspan(begin, end - begin);
}

uint32_t BundlePlan::hash_of(uint32_t target) const {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15ull;
  uint64_t hash = targets_[target].kind * kOdd;
  for (Clock clock : clocks_of(target)) {
    hash = (hash ^ (hash >> 29) ^ static_cast<uint64_t>(clock)) * kOdd;
  }
  return static_cast<uint32_t>(hash >> 32);
}

bool BundlePlan::are_alike(uint32_t a, uint32_t b) const {
  return targets_[a].kind == targets_[b].kind && std::ranges::equal(clocks_of(a), clocks_of(b));
}

// The target that is like this one; itself, entered, if there is none.
uint32_t BundlePlan::find(uint32_t target) {
  const auto mask = static_cast<uint32_t>(buckets_.size() - 1);
  for (uint32_t place = hash_of(target) & mask;; place = (place + 1) & mask) {
    Bucket& bucket = buckets_[place];
    if (bucket.round != round_) {
      bucket = {round_, target};
      return target;
    }
    if (are_alike(bucket.target, target)) return bucket.target;
  }
}

void BundlePlan::grow() {
  buckets_.assign(2 * buckets_.size(), Bucket{});
  for (uint32_t target = 0; target < targets_.size(); ++target) {
    [[maybe_unused]] const uint32_t found = find(target);
    assert(found == target);
  }
}

}  // namespace catena
