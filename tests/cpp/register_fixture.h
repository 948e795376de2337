// Automata with registers without the language: programs by nodes, one part, rows by value.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "engine/timed.h"
#include "machine_fixture.h"

namespace catena {

// Nodes of a program over one integer column, given by row.
class ProgramBuilder {
 public:
  uint32_t add(Op op, ValueType type, uint32_t left = 0, uint32_t right = 0, uint32_t column = 0) {
    Node node;
    node.op = op;
    node.type = type;
    node.left = left;
    node.right = right;
    node.column = column;
    program.nodes.push_back(node);
    return static_cast<uint32_t>(program.nodes.size() - 1);
  }
  uint32_t row() { return add(Op::kColumn, ValueType::kInt); }
  uint32_t reg(RegisterId id) { return add(Op::kRegister, ValueType::kInt, 0, 0, id); }
  void condition(Op op, uint32_t left, uint32_t right) {
    program.conditions.push_back(add(op, ValueType::kBool, left, right));
  }
  void update(uint32_t node) { program.updates.push_back(node); }

  Program program;
};

struct ValuedRow {
  uint8_t guards;
  Value value;
};

// A part of a query with registers.
class RegisterPart {
 public:
  RegisterPart(std::shared_ptr<const Cea> cea, const Program& program,
               uint32_t valuation_max = 1000, const std::vector<Interval>& intervals = {})
      : cea_(std::move(cea)),
        classes_(cea_->guard_count(), 1000),
        evaluator_(*cea_, classes_, 1000, valuation_max),
        program_(program) {
    evaluator_.bind(intervals);
    evaluator_.bind_program(program_);
    runs_ = evaluator_.make_runs();
    results_.segments.push_back({graph_, {}});
  }

  void read(const ValuedRow& given) {
    RowValues values;
    for (uint32_t i = 0; i < program_.nodes.size(); ++i) {
      if (program_.nodes[i].op != Op::kColumn) continue;
      values.nodes.push_back(i);
      values.of_row.push_back({given.value});
    }
    std::vector<bool> satisfied(cea_->guard_count(), false);
    for (size_t g = 0; g < satisfied.size(); ++g) satisfied[g] = ((given.guards >> g) & 1) != 0;
    const Row row{{position_, position_, threshold_}, position_, position_ + 1, {}, &values, 0};
    evaluator_.advance(*runs_, classes_.class_of(satisfied), row, *graph_,
                       results_.segments.back().roots);
    ++position_;
  }

  // The window from now on: matches that start before are outside.
  void set_threshold(Clock threshold) { threshold_ = threshold; }

  std::vector<std::byte> snapshot() const {
    ByteWriter out;
    evaluator_.write(*runs_, out);
    return out.take();
  }

  // Goes on from a snapshot.
  void restore() { restore(snapshot()); }
  void restore(const std::vector<std::byte>& bytes) {
    ByteReader in(bytes);
    runs_ = evaluator_.read(in, *graph_);
    in.expect_end();
  }

  void trim() {
    StrategyRuns* runs = runs_.get();
    evaluator_.trim({&runs, 1});
  }

  std::multiset<NaiveMatch> matches() const {
    std::multiset<NaiveMatch> found;
    Enumerator enumerator(results_, std::nullopt);
    while (enumerator.next()) {
      NaiveMatch match{enumerator.start(), enumerator.end(), {}};
      enumerator.for_each_mark([&](const MarkedPosition& mark) {
        match.marks.emplace_back(mark.position, cea_->variables_of(mark.marks));
      });
      found.insert(std::move(match));
    }
    return found;
  }

  size_t bytes() const { return evaluator_.bytes(*runs_) + evaluator_.shared_bytes(); }
  bool wants_trim() const { return evaluator_.wants_trim(); }
  size_t bundle_count() const { return static_cast<const TimedRuns&>(*runs_).bundles.size(); }
  uint64_t operations() const { return evaluator_.operations(); }

 private:
  std::shared_ptr<const Cea> cea_;
  ClassTrie classes_;
  TimedEvaluator evaluator_;
  Program program_;
  std::unique_ptr<StrategyRuns> runs_;
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  ResultSet results_;
  Position position_ = 0;
  Clock threshold_ = kClockMin;
};

}  // namespace catena
