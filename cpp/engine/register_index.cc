#include "engine/register_index.h"

#include <cmath>

#include "engine/window.h"

namespace catena {
RegisterIndex::RegisterIndex(const Probe& probe, const RegisterMachine& machine)
    : probe_(probe),
      machine_(&machine),
      ordered_(Less{probe.type == ValueType::kString ? &machine.pool() : nullptr}) {}

size_t RegisterIndex::Hash::operator()(Wide key) const {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15ull;
  uint64_t hash = (static_cast<uint64_t>(key) ^ static_cast<uint64_t>(key >> 64) * kOdd) * kOdd;
  return static_cast<size_t>(hash ^ (hash >> 32));
}

std::optional<Wide> RegisterIndex::image(const Value& value) const {
  if (!value.is_known()) return std::nullopt;
  if (probe_.type == ValueType::kString) {
    if (value.tag != ValueTag::kString) return std::nullopt;
    return value.low;
  }
  if (value.tag == ValueTag::kString) return std::nullopt;
  if (probe_.type != ValueType::kFloat && value.tag != ValueTag::kFloat) return value.as_wide();
  const double number = value.as_float();
  if (std::isnan(number)) return std::nullopt;
  return clock_of_float(number);
}

void RegisterIndex::add(const Value& key, IndexEntry entry) {
  const std::optional<Wide> stands = image(key);
  if (!stands) return;
  ++size_;
  if (probe_.is_ordered()) {
    ordered_.emplace(*stands, entry);
  } else {
    hashed_[*stands].push_back(entry);
  }
}

}  // namespace catena
