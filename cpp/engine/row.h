// A row as an evaluator sees it: where it stands, and the window that ends there.
#pragma once

#include "base/types.h"

namespace catena {

struct Row {
  Position position;
  Clock clock;       // What the window measures this row by.
  Clock threshold;   // Starts whose clock is smaller are outside the window.
  Clock time = 0;    // By the time column, if there is one.
  Clock number = 0;  // Of the row in its part.
};

}  // namespace catena
