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

inline Value register_at(std::span<const Clock> words, size_t at) {
  return {static_cast<ValueTag>(words[at]), words[at + 1], words[at + 2]};
}

inline Value read_register(const RegisterView& view, RegisterId id) {
  const uint32_t at = view.layout.offsets[id];
  if (at == RegisterLayout::kAbsent) return {};
  return register_at(view.words, at);
}

inline void write_register(const Value& value, std::span<Clock> words) {
  words[0] = static_cast<Clock>(value.tag);
  words[1] = value.low;
  words[2] = value.high;
}

inline void append_register(const Value& value, std::vector<Clock>& words) {
  words.resize(words.size() + kRegisterWords);
  write_register(value, std::span(words).last(kRegisterWords));
}

// Calls visit(tag, low) for every register among words that are those of registers.
template <typename Visit>
void visit_registers(std::span<Clock> registers, Visit visit) {
  for (size_t at = 0; at < registers.size(); at += kRegisterWords) {
    visit(registers[at], registers[at + 1]);
  }
}

}  // namespace catena
