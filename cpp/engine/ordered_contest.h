// NEXT and LAST over configurations: a total preorder of those alive, by the best D that leads
// there.
//
// NEXT and LAST order sets D of marked positions totally, and of two runs in one configuration with
// different D the better one stays better whatever follows. So each configuration has one *rank*,
// and only moves that bring the best D to their target are kept; those that tie are kept all, as
// they may show different marks. A row splits each rank in two: who marks it and who does not. NEXT
// looks at the earliest difference, so the halves of the first rank come before those of the
// second; LAST at the latest, so all who mark come before all who do not. What has not started has
// an empty D, which is the worst.
//
//   A ;[<= 5] B   the As of the last five units have one configuration each. On a B all get to the
//                 end; of NEXT the first is kept, of LAST the last. In a table over states, all but
//                 one A would be gone by then, and the one that is left might be too old.
//
// Windows. A better rival hides a run only as long as its own start is inside, so configurations
// tell starts apart. Of those that agree in all else, one that is worse and started no later can
// never be selected and is dropped.
//
// References are configurations. Cost per row: sorting the configurations alive. (Paper 003,
// Algorithms 5 and 6, over configurations in place of states.)
#pragma once

#include "engine/contest.h"

namespace catena {

class OrderedContest : public Contest {
 public:
  OrderedContest(Strategy strategy, const Cea& cea, const ClassTrie& classes,
                 RegisterMachine& machine, bool has_window, std::vector<ScopeContests*> scopes);

  Followed follow(Reference reference, uint32_t transition) override;
  void close(ContestState& state) override;

 protected:
  void select() override;
  void write_more(const ContestState& state, ByteWriter& out) const override;
  void read_more(ByteReader& in, ContestState& state) const override;

 private:
  static constexpr uint32_t kEmptyRank = 0xffffffffu;  // Of an empty D.
  using Key = uint64_t;                                // Ranks after the row, not yet dense.

  Key key_of(uint32_t rank, bool is_marked) const;
  template <typename Visit>
  void for_each_keyed_move(Visit visit);
  void drop_dominated();
  void number_kept();

  bool is_next_;
  std::vector<Key> best_;        // By configuration after the row.
  std::vector<uint32_t> place_;  // The same: its number if it is kept.
  std::vector<uint32_t> order_;
  std::vector<Key> keys_;
  std::vector<uint32_t> ranks_;  // Of those kept.
  Sequences<int64_t> kept_;
  SequenceTable<int64_t> bases_;
  std::vector<uint32_t> base_;
  std::vector<Key> best_of_base_;
};

}  // namespace catena
