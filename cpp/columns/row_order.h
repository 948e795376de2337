// The order of rows by columns of numbers and times: a stable radix sort.
//
// Values become unsigned codes in the same order, taken from the column's smallest, so that a
// column costs one pass per 11 bits that its values really differ in: the times of a day in
// microseconds take four. The last column is sorted first; as every pass is stable, rows that are
// equal in all columns keep their order. Rows that are in order already cost one look.
//
// Cost: linear in rows, columns and passes; 32 bytes a row of scratch memory.
#pragma once

#include <cstdint>
#include <vector>

#include "columns/batch.h"

namespace catena {

// The rows of a batch in ascending order of its columns, the first of which counts most; empty if
// they are in order as they stand. Columns are integers, floats, times or booleans. Throws Error
// kData with the row for a null or NaN.
std::vector<int64_t> ordered_rows(const Batch& batch);

}  // namespace catena
