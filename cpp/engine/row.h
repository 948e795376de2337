// A row as an evaluator sees it: where it stands, and the window that ends there.
#pragma once

#include <cstddef>
#include <span>

#include "automaton/cea.h"
#include "base/types.h"
#include "columns/classifier.h"

namespace catena {

struct RowPlace {
  Position position;
  Clock clock;      // What the window measures this row by.
  Clock threshold;  // Starts whose clock is smaller are outside the window.
};

struct Row : RowPlace {
  Clock time = 0;                          // By the time column, if there is one.
  Clock number = 0;                        // Of the row in its part.
  std::span<const Clock> attributes = {};  // By the attributes that are clocks.
  const RowValues* values = nullptr;       // What conditions and registers read of rows, if any,
  size_t in_values = 0;                    // and which of those this one is.

  // What a clock shows that this row resets.
  Clock on(ClockKind kind) const {
    switch (kind) {
      case ClockKind::kTime:
        return time;
      case ClockKind::kRows:
        return number;
      default:
        return attributes[static_cast<size_t>(kind) - static_cast<size_t>(kFirstAttribute)];
    }
  }
};

// The clocks of all kinds on a row.
inline void read_clocks(const Row& row, std::span<Clock, kClockKindCount> now) {
  const size_t count = static_cast<size_t>(kFirstAttribute) + row.attributes.size();
  for (size_t kind = 0; kind < count; ++kind) now[kind] = row.on(static_cast<ClockKind>(kind));
}

}  // namespace catena
