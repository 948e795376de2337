#include "engine/ordered_contest.h"

#include <algorithm>
#include <limits>

#include "engine/snapshot.h"

namespace catena {
namespace {

constexpr uint64_t kWorst = std::numeric_limits<uint64_t>::max();

}  // namespace

OrderedContest::OrderedContest(Strategy strategy, const Cea& cea, const ClassTrie& classes,
                               RegisterMachine& machine, bool has_window,
                               std::vector<ScopeContests*> scopes)
    : Contest(cea, classes, machine, has_window, std::move(scopes)),
      is_next_(strategy == Strategy::kNext) {}

OrderedContest::Key OrderedContest::key_of(uint32_t rank, bool is_marked) const {
  const Key passes = is_marked ? 0 : 1;
  return is_next_ ? (Key{rank} << 1) + passes : (passes << 32) + rank;
}

template <typename Visit>
void OrderedContest::for_each_keyed_move(Visit visit) {
  for (Move& move : moves_of(kNotStarted)) visit(move, key_of(kEmptyRank, move.is_marked));
  for (ConfigurationId id = 0; id < state_->ranks.size(); ++id) {
    for (Move& move : moves_of(id)) visit(move, key_of(state_->ranks[id], move.is_marked));
  }
}

void OrderedContest::select() {
  best_.assign(next_.size(), kWorst);
  Key best_final = kWorst;
  for_each_keyed_move([&](const Move& move, Key key) {
    if (move.target != kNowhere) best_[move.target] = std::min(best_[move.target], key);
    if (move.is_final) best_final = std::min(best_final, key);
  });
  place_.assign(next_.size(), 0);
  if (has_window_) drop_dominated();
  number_kept();
  for_each_keyed_move([&](Move& move, Key key) {
    move.is_final = move.is_final && key == best_final;
    if (move.target == kNowhere) return;
    move.target = key == best_[move.target] ? place_[move.target] : kNowhere;
  });
}

// Drops what is worse than something that started no earlier and agrees in all but the start.
void OrderedContest::drop_dominated() {
  bases_.clear();
  base_.clear();
  order_.clear();
  for (ConfigurationId id = 0; id < next_.size(); ++id) {
    base_.push_back(bases_.find_or_add(base_of(next_[id])));
    order_.push_back(id);
  }
  best_of_base_.assign(bases_.size(), kWorst);
  std::ranges::sort(order_, std::ranges::greater{},
                    [&](uint32_t id) { return start_of(next_[id]); });
  for (uint32_t id : order_) {
    Key& best = best_of_base_[base_[id]];
    if (best_[id] > best) place_[id] = kNowhere;
    best = std::min(best, best_[id]);
  }
}

void OrderedContest::number_kept() {
  keys_.clear();
  kept_.clear();
  ranks_.clear();
  for (ConfigurationId id = 0; id < next_.size(); ++id) {
    if (place_[id] == kNowhere) continue;
    place_[id] = kept_.size();
    kept_.add(next_[id]);
    keys_.push_back(best_[id]);
  }
  std::ranges::sort(keys_);
  keys_.erase(std::ranges::unique(keys_).begin(), keys_.end());
  const Key empty = key_of(kEmptyRank, false);
  for (ConfigurationId id = 0; id < next_.size(); ++id) {
    if (place_[id] == kNowhere) continue;
    const auto rank = std::ranges::lower_bound(keys_, best_[id]) - keys_.begin();
    ranks_.push_back(best_[id] == empty ? kEmptyRank : static_cast<uint32_t>(rank));
  }
}

Followed OrderedContest::follow(Reference reference, uint32_t transition) {
  const Move* move = find_move(reference, transition);
  return move ? Followed{move->is_final, move->target} : Followed{};
}

void OrderedContest::close(ContestState& state) {
  close_configurations(state, kept_);
  state.ranks.assign(ranks_.begin(), ranks_.end());
}

void OrderedContest::write_more(const ContestState& state, ByteWriter& out) const {
  for (uint32_t rank : state.ranks) out.u32(rank);
}

void OrderedContest::read_more(ByteReader& in, ContestState& state) const {
  for (ConfigurationId id = 0; id < state.configurations.size(); ++id) {
    state.ranks.push_back(in.u32());
    const uint32_t rank = state.ranks.back();
    require_intact(rank == kEmptyRank || rank < state.configurations.size(),
                   "a rank is out of range");
  }
}

}  // namespace catena
