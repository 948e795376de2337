// What a run holds in its registers, as words in a row of numbers: a tag, and two for the value.
//
// Which registers a run has, and where, is its layout: those that are not live are left out, and
// count as unbound.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "columns/value.h"

namespace catena {

inline constexpr uint32_t kRegisterWords = 3;

// Where the registers of a run lie among its words.
struct RegisterLayout {
  static constexpr uint32_t kAbsent = 0xffffffffu;

  std::vector<uint32_t> offsets;  // By register; kAbsent if it is not kept.
};

struct RegisterView {
  std::span<const Clock> words;
  const RegisterLayout& layout;
};

inline Value read_register(const RegisterView& view, RegisterId id) {
  const uint32_t at = view.layout.offsets[id];
  if (at == RegisterLayout::kAbsent) return {};
  return {static_cast<ValueTag>(view.words[at]), view.words[at + 1], view.words[at + 2]};
}

inline void append_register(const Value& value, std::vector<Clock>& words) {
  words.push_back(static_cast<Clock>(value.tag));
  words.push_back(value.low);
  words.push_back(value.high);
}

}  // namespace catena
