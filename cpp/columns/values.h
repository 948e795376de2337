// What the engine reads of a row beside its class: clocks and keys.
//
// Invariant: equal keys have equal bytes and different keys different ones, whatever the types of
// the columns they came from: 1 = 1.0 as numbers of any width, 1 s = 1000 ms as times of any unit,
// strings are their text. Booleans, numbers, strings, times and durations differ from each other.
// Cost: linear in the values read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "columns/batch.h"

namespace catena {

// The values of an integer-like column. Throws Error kData with the row (of the batch) if one is
// null or does not fit 64 bits.
void read_clock_int(const Column& column, int64_t begin, int64_t count, int64_t* out);

// The values of a float column. Throws Error kData with the row if one is null or NaN.
void read_clock_float(const Column& column, int64_t begin, int64_t count, double* out);

class KeyEncoder {
 public:
  // The last `tie_count` columns stand for equalities, which a NaN never satisfies.
  explicit KeyEncoder(std::vector<uint32_t> columns, size_t tie_count = 0)
      : columns_(std::move(columns)), first_tie_(columns_.size() - tie_count) {}

  // Appends the key of a row; false if one of its values is null, or equals nothing.
  bool encode(const Batch& batch, int64_t row, std::string& key) const;

 private:
  std::vector<uint32_t> columns_;
  size_t first_tie_;
};

}  // namespace catena
