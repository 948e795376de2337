// MAX over configurations: every run outside is known with the rivals that mark as much as it, or
// more.
//
// Let D be the marked positions of a run. What matters to it are two sets of configurations (paper
// 003, Algorithm 7; max_standing.h has the same over states):
//
//   equals   those of runs that have marked D: other starts, other variables
//   betters  those of runs that have marked a strict superset of D
//
// On a row that the run marks both follow their marked moves; on one that it passes over, equals
// follow the unmarked ones, betters all, and the marked successors of equals become betters. A run
// that comes into the configuration of a better stops, and a better that ends hides those that end.
//
// A run that has marked nothing is a case of its own: all runs that have marked something are its
// betters, also those that start later, and the others its equals. So it knows no sets: they are
// the contest's. The state says of each configuration whether runs with marks, without, or both are
// in it (`rivals`).
//
//   A ;[<= 5] B+ ; C   on A B B: the run {A, second B} has the better {A, B, B} in the same
//                      configuration and stops; {A} goes on, and stops being of use with its clock
//
// What is left out, since it changes nothing: an equal where a better is; rivals that can get ahead
// no more (max_rivals.h). Windows: configurations tell starts apart. A rival counts until its start
// leaves the window, so of rivals that agree in all else only the one that started last is kept.
//
// A reference is a *standing*: a configuration and the two sets. Standings and sets exist only as
// far as runs outside have them. Cost per row: the standings and the members of their sets.
#pragma once

#include "engine/contest.h"
#include "engine/max_rivals.h"

namespace catena {

class MaximalContest : public Contest {
 public:
  MaximalContest(const Cea& cea, const ClassTrie& classes, RegisterMachine& machine,
                 bool has_window, std::vector<ScopeContests*> scopes);

  Followed follow(Reference reference, uint32_t transition) override;
  void close(ContestState& state) override;
  ConfigurationId configuration_of(const ContestState& state, Reference reference) const override {
    return state.standings[reference][0];
  }
  uint32_t reference_count(const ContestState& state) const override {
    return state.standings.size();
  }

 protected:
  void select() override;
  void write_more(const ContestState& state, ByteWriter& out) const override;
  void read_more(ByteReader& in, ContestState& state) const override;

 private:
  // In place of a set: those of a run without marks.
  static constexpr uint32_t kOfAll = 0xffffffffu;
  // What runs in a configuration have marked, as bits.
  static constexpr uint8_t kNothing = 1;
  static constexpr uint8_t kSomething = 2;
  using Set = std::vector<ConfigurationId>;

  void find_bases();
  Followed make_followed(std::span<const uint32_t> standing, const Move& move);
  uint32_t rivals_after(uint32_t equals, uint32_t betters, bool is_marked);
  void move_all(ConfigurationId from, bool is_equal, bool is_marked, bool& hides);
  void keep_latest(Set& set);
  bool is_beaten(ConfigurationId target, std::span<const ConfigurationId> betters) const;
  bool is_covered(ConfigurationId by, ConfigurationId target) const;
  uint32_t kept_set(std::span<const ConfigurationId> set, ConfigurationId own, bool is_better);

  Rivals pairs_;
  std::vector<uint8_t> rivals_;  // By configuration after the row.
  bool hides_unmarked_ = false;  // A run with marks ends.
  SequenceTable<int64_t> bases_;
  std::vector<uint32_t> base_;                  // By configuration after the row.
  std::vector<ConfigurationId> latest_;         // By base, for keep_latest.
  std::vector<ConfigurationId> latest_marked_;  // By base: of runs with marks.
  SequenceTable<uint32_t> asked_;               // Equals, betters, whether the row is marked:
  Sequences<uint32_t> equals_after_;            // what they become,
  Sequences<uint32_t> betters_after_;
  std::vector<uint8_t> hides_;         // and whether one of the betters ends.
  SequenceTable<uint32_t> questions_;  // Reference and transition:
  std::vector<Followed> answers_;      // what became of it.
  SequenceTable<uint32_t> sets_;       // After the row.
  SequenceTable<uint32_t> standings_;  // The same.
  Set equals_;
  Set betters_;
  Set kept_;
};

}  // namespace catena
