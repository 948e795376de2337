// Decimals by value: without trailing zeros, and as the nearest float64.
//
// Predicates and clocks read a decimal as a float64. That is faithful when the float64, written
// with as many digits after the point as the decimal needs, reads as the same decimal again: 1.10
// is, though no float64 equals it, and so is every decimal of at most kFloatDigits digits. A
// decimal of more digits may not be; `is_faithful` tells. Cost: a division for decimals of up to 15
// digits, else one conversion to text and back.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/types.h"
#include "columns/batch.h"

namespace catena {

// digits / 10^scale, where digits has no trailing zero; zero has scale 0.
struct Decimal {
  Wide digits = 0;
  int32_t scale = 0;
};

Decimal normalized(Wide digits, int32_t scale);

// True for decimals that different float64 stand for whenever they differ.
bool is_short(const Decimal& decimal);

double nearest_float(const Decimal& decimal);
bool is_faithful(double value, const Decimal& decimal);

struct DecimalFloats {
  std::vector<double> values;             // By row; 0 where the decimal is null.
  std::optional<int64_t> unfaithful_row;  // The first row whose decimal a float64 cannot stand for.
};

DecimalFloats floats_of_decimals(const Column& column);

}  // namespace catena
