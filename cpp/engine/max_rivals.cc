#include "engine/max_rivals.h"

#include <algorithm>

namespace catena {
namespace {

// Finds the pairs backwards from those of final states, each pair and relation once.
class PairSearch {
 public:
  explicit PairSearch(const Cea& cea)
      : state_count_(cea.state_count()),
        pairs_(static_cast<size_t>(state_count_ + 1) * state_count_, 0),
        own_into_(state_count_ + 1),
        rival_into_(state_count_) {
    collect_steps(cea);
  }

  std::vector<uint8_t> run(const Cea& cea) {
    for (StateId own = 0; own < state_count_; ++own) {
      for (StateId rival = 0; rival < state_count_; ++rival) {
        if (cea.is_final(own) && cea.is_final(rival)) go_back({own, rival, Rivals::kBeat});
      }
    }
    while (!pending_.empty()) {
      const Pair pair = pending_.back();
      pending_.pop_back();
      go_back(pair);
    }
    return std::move(pairs_);
  }

 private:
  // A transition seen from its target.
  struct StepBack {
    StateId source;
    bool is_marked;
  };
  struct Pair {
    StateId own;
    StateId rival;
    uint8_t relation;
  };

  void collect_steps(const Cea& cea);
  void go_back(const Pair& pair);
  void add(StateId own, StateId rival, uint8_t relation);

  uint32_t state_count_;
  std::vector<uint8_t> pairs_;
  std::vector<std::vector<StepBack>> own_into_;  // By target.
  std::vector<std::vector<StepBack>> rival_into_;
  std::vector<Pair> pending_;
};

void PairSearch::collect_steps(const Cea& cea) {
  const StateId waiting = state_count_;
  own_into_[waiting].push_back({waiting, false});
  for (StateId source = 0; source < state_count_; ++source) {
    const bool starts = cea.is_observer(source) || std::ranges::count(cea.initial(), source) > 0;
    for (const Transition& t : cea.from(source)) {
      if (cea.is_observer(t.target)) continue;
      if (starts) own_into_[t.target].push_back({waiting, t.is_marked});
      if (cea.is_observer(source)) continue;
      own_into_[t.target].push_back({source, t.is_marked});
      rival_into_[t.target].push_back({source, t.is_marked});
    }
  }
}

// Adds the pairs from which one row leads to a pair that can end with the rival ahead.
void PairSearch::go_back(const Pair& pair) {
  for (const StepBack& own : own_into_[pair.own]) {
    for (const StepBack& rival : rival_into_[pair.rival]) {
      if (pair.relation == Rivals::kOvertake) {
        if (own.is_marked == rival.is_marked) add(own.source, rival.source, Rivals::kOvertake);
        continue;
      }
      if (own.is_marked && !rival.is_marked) continue;
      add(own.source, rival.source, Rivals::kBeat);
      if (own.is_marked != rival.is_marked) add(own.source, rival.source, Rivals::kOvertake);
    }
  }
}

void PairSearch::add(StateId own, StateId rival, uint8_t relation) {
  uint8_t& relations = pairs_[own * state_count_ + rival];
  if ((relations & relation) != 0) return;
  relations |= relation;
  pending_.push_back({own, rival, relation});
}

}  // namespace

Rivals::Rivals(const Cea& cea) : state_count_(cea.state_count()) {
  if (state_count_ <= kStateCountMax) pairs_ = PairSearch(cea).run(cea);
}

}  // namespace catena
