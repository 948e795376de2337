// Which runs hold a key that compares with a row's value as a condition asks: by hash for =, in
// order for < <= > >=.
//
// An index is over the bundles of one kind (bundle_store.h) and one *key*, an expression over their
// registers (register_machine.h: Probe). A row that asks `key = value` or `key < value` visits the
// bundles for which that holds, and no others. Keys that are null, unbound or NaN compare with
// nothing and are left out.
//
// Bundles come and go far more often than an index is asked, so what has gone is not taken out: an
// entry says which generation of its place it is of, and is dropped when it is met and the place
// has another. When entries outnumber bundles by far, the index is made anew.
//
// Numbers are compared as 128-bit integers, floats by their order-preserving image (window.h);
// strings by their number in the pool for =, by text for an order.
//
// Cost: amortised constant time, or logarithmic, for adding; as many steps as entries met for
// asking.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/types.h"
#include "engine/register_machine.h"

namespace catena {

struct IndexEntry {
  uint32_t place;
  uint32_t generation;
};

class RegisterIndex {
 public:
  // The machine must outlive this object.
  RegisterIndex(const Probe& probe, const RegisterMachine& machine);

  // Whether this is the index to ask for a condition.
  bool answers(const Probe& probe) const {
    return probe.key == probe_.key && probe.is_ordered() == probe_.is_ordered() &&
           probe.type == probe_.type;
  }

  const Probe& key() const { return probe_; }
  void add(const Value& key, IndexEntry entry);

  // Calls visit(entry) for every entry whose key compares with the value; drops those of which it
  // returns false.
  template <typename Visit>
  void ask(Op op, const Value& value, Visit visit);

  size_t size() const { return size_; }
  size_t bytes() const { return size_ * (sizeof(Wide) + sizeof(IndexEntry) + 4 * sizeof(void*)); }

 private:
  struct Hash {
    size_t operator()(Wide key) const;
  };
  struct AskedText {
    std::string_view text;
  };
  // Also of a text that is asked about, which need not be in the pool.
  struct Less {
    using is_transparent = void;
    const StringPool* texts;  // Null: keys are numbers.

    bool operator()(Wide a, Wide b) const { return texts ? text(a) < text(b) : a < b; }
    bool operator()(Wide a, const AskedText& b) const { return text(a) < b.text; }
    bool operator()(const AskedText& a, Wide b) const { return a.text < text(b); }
    std::string_view text(Wide key) const { return texts->text(static_cast<uint32_t>(key)); }
  };
  using Ordered = std::multimap<Wide, IndexEntry, Less>;
  using Hashed = std::unordered_map<Wide, std::vector<IndexEntry>, Hash>;

  // What stands for a value; none if it compares with nothing that is in the index.
  std::optional<Wide> image(const Value& value) const;
  template <typename Key, typename Visit>
  void ask_in_order(Op op, const Key& key, Visit visit);
  template <typename Visit>
  void ask_by_hash(Wide key, Visit visit);

  Probe probe_;
  const RegisterMachine* machine_;
  Hashed hashed_;
  Ordered ordered_;
  size_t size_ = 0;
};

template <typename Visit>
void RegisterIndex::ask(Op op, const Value& value, Visit visit) {
  if (probe_.type == ValueType::kString) {
    if (value.tag != ValueTag::kString) return;
    const std::string_view text = machine_->text_of(value);
    if (probe_.is_ordered()) return ask_in_order(op, AskedText{text}, visit);
    if (const auto number = machine_->pool().find(text)) ask_by_hash(*number, visit);
    return;
  }
  const std::optional<Wide> key = image(value);
  if (!key) return;
  if (probe_.is_ordered()) return ask_in_order(op, *key, visit);
  ask_by_hash(*key, visit);
}

template <typename Visit>
void RegisterIndex::ask_by_hash(Wide key, Visit visit) {
  const auto found = hashed_.find(key);
  if (found == hashed_.end()) return;
  size_ -= std::erase_if(found->second, [&](const IndexEntry& entry) { return !visit(entry); });
  if (found->second.empty()) hashed_.erase(found);
}

template <typename Key, typename Visit>
void RegisterIndex::ask_in_order(Op op, const Key& key, Visit visit) {
  const bool is_below = op == Op::kLt || op == Op::kLe;
  const bool past_equals = op == Op::kGt || op == Op::kLe;
  const auto bound = past_equals ? ordered_.upper_bound(key) : ordered_.lower_bound(key);
  const auto end = is_below ? bound : ordered_.end();
  for (auto at = is_below ? ordered_.begin() : bound; at != end;) {
    if (visit(at->second)) {
      ++at;
    } else {
      at = ordered_.erase(at);
      --size_;
    }
  }
}

}  // namespace catena
