// The machine without the language: automata by constructors, events by letters.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "automaton/cea.h"
#include "automaton/determinizer.h"
#include "columns/classifier.h"
#include "engine/evaluator.h"
#include "engine/frontier.h"
#include "engine/window.h"
#include "matches/enumerator.h"
#include "matches/result_set.h"
#include "naive_runner.h"

namespace catena {

// Guard g of a letter machine is satisfied by the letter 'A' + g.
inline GuardId letter(char c) { return static_cast<GuardId>(c - 'A'); }

// An evaluator over a string of letters.
class LetterMachine {
 public:
  explicit LetterMachine(std::shared_ptr<const Cea> cea, Window window = {})
      : cea_(std::move(cea)),
        classes_(cea_->guard_count(), 1000),
        determinizer_(*cea_, classes_, 1000),
        frontiers_(determinizer_),
        evaluator_(frontiers_),
        window_(window) {
    results_.segments.push_back({graph_, {}});
  }

  void read(std::string_view letters) {
    for (char c : letters) read_one(c);
  }

  // Copies what is in use into a new graph, as the engine does now and then.
  void compact() {
    const Clock threshold = window_.threshold(part_.row_count);
    Compaction compaction(*graph_);
    evaluator_.expire(part_, threshold);
    Evaluator::mark_nodes(part_, threshold, compaction);
    graph_ = compaction.copy();
    Evaluator::move_nodes(part_, compaction);
    results_.segments.push_back({graph_, {}});
  }

  std::vector<NaiveMatch> matches() const {
    std::vector<NaiveMatch> found;
    Enumerator enumerator(results_, std::nullopt);
    while (enumerator.next()) found.push_back(current(enumerator));
    return found;
  }

  NaiveMatch current(const Enumerator& enumerator) const {
    NaiveMatch match{enumerator.start(), enumerator.end(), {}};
    enumerator.for_each_mark([&](const MarkedPosition& mark) {
      match.marks.emplace_back(mark.position, cea_->variables_of(mark.marks));
    });
    return match;
  }

  const ResultSet& results() const { return results_; }
  const Graph& graph() const { return *graph_; }
  const PartState& part() const { return part_; }
  FrontierTable& frontiers() { return frontiers_; }
  uint64_t operations() const { return evaluator_.operations(); }

 private:
  void read_one(char c) {
    std::vector<bool> bits(cea_->guard_count(), false);
    if (letter(c) < bits.size()) bits[letter(c)] = true;
    const ClassId cls = classes_.class_of(bits);
    const Position position = part_.row_count++;
    if (frontiers_.step(part_.frontier, cls).is_identity) return;
    const Clock clock = part_.row_count;
    evaluator_.advance(part_, cls, {position, clock, window_.threshold(clock)}, *graph_,
                       results_.segments.back().roots);
  }

  std::shared_ptr<const Cea> cea_;
  ClassTrie classes_;
  Determinizer determinizer_;
  FrontierTable frontiers_;
  Evaluator evaluator_;
  Window window_;
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  ResultSet results_;
  PartState part_;
};

inline Window events_window(uint64_t rows) { return {WindowKind::kEvents, rows, 0.0}; }

// Marks: one id per single variable, after the empty set.
inline std::vector<std::vector<VariableId>> single_marks(uint32_t variable_count) {
  std::vector<std::vector<VariableId>> marks{{}};
  for (VariableId v = 0; v < variable_count; ++v) marks.push_back({v});
  return marks;
}

// first ; second ; ... with one letter and one variable each.
inline std::shared_ptr<const Cea> sequence_of(std::string_view letters) {
  std::vector<Transition> transitions;
  const auto count = static_cast<uint32_t>(letters.size());
  for (uint32_t i = 0; i < count; ++i) {
    transitions.push_back({i, letter(letters[i]), i + 1, i + 1});
    if (i > 0) transitions.push_back({i, kTrueGuard, kNoMarks, i});
  }
  return std::make_shared<Cea>(count + 1, std::vector<StateId>{0}, std::vector<StateId>{count},
                               std::move(transitions), single_marks(count), count, 26u);
}

// A ; B+ ; C
inline std::shared_ptr<const Cea> iteration_between() {
  std::vector<Transition> transitions{{0, letter('A'), 1, 1}, {1, kTrueGuard, kNoMarks, 1},
                                      {1, letter('B'), 2, 2}, {2, kTrueGuard, kNoMarks, 2},
                                      {2, letter('B'), 2, 2}, {2, letter('C'), 3, 3}};
  return std::make_shared<Cea>(4u, std::vector<StateId>{0}, std::vector<StateId>{3},
                               std::move(transitions), single_marks(3), 3u, 26u);
}

// Anything at all: states, loops, several initial and final states, ambiguous transitions.
inline std::shared_ptr<const Cea> random_cea(std::mt19937& random) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  const uint32_t states = 2 + below(4);
  const std::vector<std::vector<VariableId>> marks{{}, {0}, {1}, {0, 1}};
  std::vector<Transition> transitions;
  const uint32_t count = 2 + below(9);
  for (uint32_t i = 0; i < count; ++i) {
    const GuardId guard = below(4) == 0 ? kTrueGuard : below(3);
    transitions.push_back({below(states), guard, below(4), below(states)});
  }
  std::vector<StateId> initial{0};
  if (below(4) == 0) initial.push_back(below(states));
  std::vector<StateId> final{below(states)};
  if (below(3) == 0) final.push_back(below(states));
  return std::make_shared<Cea>(states, initial, final, transitions, marks, 2u, 3u);
}

inline std::string random_letters(std::mt19937& random, size_t count, std::string_view alphabet) {
  std::string letters;
  for (size_t i = 0; i < count; ++i) letters += alphabet[random() % alphabet.size()];
  return letters;
}

}  // namespace catena
