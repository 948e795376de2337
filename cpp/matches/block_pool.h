// Blocks of graph nodes that are not in use, kept for the graphs to come.
//
// A stream's graph is copied into a new one again and again, and old ones go when their results do.
// Given back to the allocator, their memory would often go back to the system, and every page of
// the next graph would cost a fault. So the graphs of one stream share a pool.
//
// Invariant: blocks hold nothing. Safe to use from several threads, since results may be dropped in
// any. Cost: constant; at most kKeptMax blocks are kept.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace catena {

template <typename T>
class BlockPool {
 public:
  using Block = std::unique_ptr<T[]>;

  static constexpr size_t kKeptMax = 16;

  explicit BlockPool(size_t block_size) : block_size_(block_size) {}

  Block take() {
    const std::scoped_lock lock(mutex_);
    if (blocks_.empty()) return std::make_unique_for_overwrite<T[]>(block_size_);
    Block block = std::move(blocks_.back());
    blocks_.pop_back();
    return block;
  }

  // Empties the list of blocks.
  void give_back(std::vector<Block>& blocks) {
    const std::scoped_lock lock(mutex_);
    for (Block& block : blocks) {
      if (blocks_.size() < kKeptMax) blocks_.push_back(std::move(block));
    }
    blocks.clear();
  }

 private:
  std::mutex mutex_;
  size_t block_size_;
  std::vector<Block> blocks_;
};

}  // namespace catena
