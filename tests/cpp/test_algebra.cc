// The detector without the language: expressions by constructors, random ticks. What it holds stays
// within the static bounds, nothing is allocated while it detects, and only what a tick touches is
// visited. Detection against the oracle is in tests/python/test_algebra_oracle.py.
#include <atomic>
#include <cstdlib>
#include <new>
#include <random>

#include "algebra/detector.h"
#include "algebra/detector_parts.h"
#include "check.h"

namespace {
std::atomic<uint64_t> allocations{0};
}  // namespace

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new[](size_t size) { return operator new(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace catena {
namespace {

using Random = std::mt19937_64;
constexpr uint64_t kBytesMax = uint64_t{1} << 28;

uint32_t below(Random& random, uint32_t limit) { return static_cast<uint32_t>(random() % limit); }

// Operators as they are added; a side is a source, which an added operator is.
class Builder {
 public:
  explicit Builder(uint32_t primitive_count) : primitive_count_(primitive_count) {}

  uint32_t add(EventOp op, uint32_t left, uint32_t right = 0, IntervalId interval = 0) {
    nodes_.push_back({op, left, right, interval});
    return primitive_count_ + static_cast<uint32_t>(nodes_.size());
  }

  std::shared_ptr<EventExpression> build(uint32_t root, bool with_rows,
                                         uint32_t interval_count = 1) const {
    return std::make_shared<EventExpression>(primitive_count_, nodes_, root, interval_count,
                                             with_rows, kBytesMax);
  }

  // An expression of so many operators, all of them as likely.
  uint32_t add_random(Random& random, uint32_t operators) {
    if (operators == 0) return below(random, primitive_count_);
    const auto op = static_cast<EventOp>(below(random, 5));
    if (op == EventOp::kRestriction) {
      return add(op, add_random(random, operators - 1), 0, below(random, 3));
    }
    const uint32_t of_left = below(random, operators);
    const uint32_t left = add_random(random, of_left);
    const uint32_t right = add_random(random, operators - 1 - of_left);
    return add(op, left, right);
  }

 private:
  uint32_t primitive_count_;
  std::vector<EventNode> nodes_;
};

const std::vector<Interval> kLimits = {Interval(0, 3), Interval(0, 40), Interval(0, 1000)};

// A block with its detector.
struct Machine {
  explicit Machine(std::shared_ptr<EventExpression> expression)
      : detector(std::move(expression)),
        block(detector.expression().state_words() + 1),
        rows(detector.expression().primitive_count()) {
    const auto count = static_cast<ptrdiff_t>(detector.expression().interval_count());
    detector.bind({kLimits.begin(), kLimits.begin() + count});
    detector.start(block.data());
  }

  const Word* tick(Clock time, uint64_t occurred) {
    for (Position& row : rows) row = 2 * time;
    return detector.tick(block.data(), time, &occurred, rows.data());
  }

  Detector detector;
  std::vector<Word> block;
  std::vector<Position> rows;
};

uint32_t depth_first_count(const EventExpression& expression, uint32_t source) {
  if (!expression.is_operator(source)) return 1;
  const EventOperator& op = expression.operators()[expression.operator_of(source)];
  const uint32_t right = op.right == kNowhere ? 0 : depth_first_count(expression, op.right);
  return 1 + depth_first_count(expression, op.left) + right;
}

}  // namespace

TEST(nothing_is_allocated_while_detecting_and_the_bounds_hold) {
  Random random(1);
  for (int round = 0; round < 60; ++round) {
    Builder builder(4);
    const uint32_t root = builder.add_random(random, 1 + below(random, 50));
    Machine machine(builder.build(root, round % 2 == 0, 3));
    const EventExpression& expression = machine.detector.expression();
    const uint64_t before = allocations;
    uint64_t instances_most = 0;
    uint64_t times_most = 0;
    Clock time = 0;
    for (int tick = 0; tick < 4000; ++tick) {
      time += 1 + below(random, 5);
      machine.tick(time, 1 + below(random, 15));
      const Word* block = machine.block.data();
      instances_most = std::max(instances_most, machine.detector.stored_instances(block));
      times_most = std::max(times_most, machine.detector.stored_times(block));
    }
    CHECK_EQ(allocations, before);
    CHECK(instances_most <= expression.instance_count_max());
    CHECK(times_most <= expression.time_count_max());
    machine.detector.check(machine.block.data(), time, 2 * time + 1);
  }
}

TEST(the_counting_allocator_counts) {
  const uint64_t before = allocations;
  const std::vector<int> memory(1000);
  CHECK_EQ(allocations, before + 1);
}

TEST(sets_are_bounded_by_subexpressions) {
  Random random(2);
  for (int round = 0; round < 500; ++round) {
    Builder builder(3);
    const uint32_t root = builder.add_random(random, 1 + below(random, 60));
    const auto expression = builder.build(root, false, 3);
    for (uint32_t i = 0; i < expression->operator_count(); ++i) {
      const EventOperator& op = expression->operators()[i];
      CHECK(op.starts_max < depth_first_count(*expression, expression->source_of(i)));
      if (op.op != EventOp::kSequence) {
        CHECK_EQ(op.stored_max, 0u);
      } else if (expression->is_operator(op.right)) {
        const EventOperator& right = expression->operators()[expression->operator_of(op.right)];
        CHECK_EQ(op.stored_max, right.starts_max);
      }
    }
  }
}

// (A ; B) ; C keeps no starts, A ; (B ; C) those of its right side, and what is absent none.
TEST(starts_are_kept_only_below_the_right_side_of_a_sequence) {
  Builder left(3);
  const uint32_t first = left.add(EventOp::kSequence, 0, 1);
  CHECK_EQ(left.build(left.add(EventOp::kSequence, first, 2), false)->time_count_max(), 0u);
  Builder right(3);
  const uint32_t second = right.add(EventOp::kSequence, 1, 2);
  const auto expression = right.build(right.add(EventOp::kSequence, 0, second), false);
  CHECK_EQ(expression->operators()[0].starts_max, 1u);
  CHECK_EQ(expression->operators()[1].stored_max, 1u);
  CHECK_EQ(expression->operators()[1].starts, kNowhere);
  Builder absent(3);  // A ; (B - (B + C))
  const uint32_t both = absent.add(EventOp::kConjunction, 1, 2);
  const uint32_t without = absent.add(EventOp::kNegation, 1, both);
  const auto negation = absent.build(absent.add(EventOp::kSequence, 0, without), false);
  CHECK_EQ(negation->operators()[0].starts, kNowhere);
  CHECK_EQ(negation->operators()[2].stored_max, 0u);
}

// (B ; B)[3] - (P | T), primitives B, P and T.
TEST(only_operators_that_a_tick_touches_are_visited) {
  Builder builder(3);
  const uint32_t twice = builder.add(EventOp::kSequence, 0, 0);
  const uint32_t soon = builder.add(EventOp::kRestriction, twice, 0, 0);
  const uint32_t alarm = builder.add(EventOp::kDisjunction, 1, 2);
  Machine machine(builder.build(builder.add(EventOp::kNegation, soon, alarm), false));
  const auto visits_of = [&](Clock time, uint64_t occurred, bool detects) {
    const uint64_t before = machine.detector.visits();
    CHECK_EQ(machine.tick(time, occurred) != nullptr, detects);
    return machine.detector.visits() - before;
  };
  CHECK_EQ(visits_of(0, 0b001, false), 1u);   // The sequence has no first B yet.
  CHECK_EQ(visits_of(2, 0b001, true), 3u);    // Sequence, restriction, negation.
  CHECK_EQ(visits_of(9, 0b001, false), 2u);   // Too long for the restriction.
  CHECK_EQ(visits_of(10, 0b010, false), 2u);  // Disjunction and negation.
  CHECK_EQ(visits_of(11, 0b001, false), 3u);  // Negated.
  CHECK_EQ(visits_of(12, 0b111, false), 4u);  // All of them, once each.
}

TEST(a_subexpression_that_nothing_touches_costs_nothing) {
  Builder builder(3);
  uint32_t large = 1;
  for (int i = 0; i < 100; ++i) large = builder.add(EventOp::kConjunction, large, 2);
  const uint32_t small = builder.add(EventOp::kSequence, 0, 0);
  Machine machine(builder.build(builder.add(EventOp::kDisjunction, small, large), false));
  for (Clock time = 0; time < 10; ++time) machine.tick(time, 0b001);
  CHECK_EQ(machine.detector.visits(), 10u + 9u);  // The sequence, and from its first instance on |.
}

TEST(expressions_that_are_no_tree_are_refused) {
  const auto build = [](std::vector<EventNode> nodes, uint32_t root, uint32_t intervals = 1,
                        uint64_t bytes_max = kBytesMax) {
    return EventExpression(2, nodes, root, intervals, false, bytes_max);
  };
  const EventNode join{EventOp::kConjunction, 0, 1, 0};
  CHECK_THROWS(build({join}, 4), ErrorKind::kUser);
  CHECK_THROWS(build({{EventOp::kSequence, 3, 0, 0}}, 3), ErrorKind::kUser);
  CHECK_THROWS(build({join, {EventOp::kSequence, 3, 3, 0}}, 4), ErrorKind::kUser);
  CHECK_THROWS(build({join, join}, 4), ErrorKind::kUser);
  CHECK_THROWS(build({{EventOp::kRestriction, 0, 0, 1}}, 3), ErrorKind::kUser);
  CHECK_THROWS(build({join}, 3, 1, 8), ErrorKind::kLimit);
  CHECK_EQ(build({}, 2).operator_count(), 0u);
}

TEST(parts_are_forgotten_when_nothing_of_them_can_matter) {
  Builder builder(2);  // (A ; B)[3] - A
  const uint32_t soon = builder.add(EventOp::kRestriction, builder.add(EventOp::kSequence, 0, 1));
  Machine machine(builder.build(builder.add(EventOp::kNegation, soon, 0), false));
  CHECK(!machine.detector.is_past(10, 13));
  CHECK(machine.detector.is_past(10, 14));
  DetectorParts parts(machine.detector);
  for (int i = 0; i < 2000; ++i) {
    parts.block(parts.find_or_add(std::to_string(i)))[BlockHead::kTime] = i;
  }
  CHECK(parts.wants_sweep());
  parts.drop_past(1999);
  CHECK_EQ(parts.size(), 4u);
  CHECK_EQ(parts.key(parts.find_or_add("1996")), "1996");
  Builder open(2);
  Machine forever(open.build(open.add(EventOp::kSequence, 0, 1), false, 0));
  CHECK(!forever.detector.is_past(10, 1'000'000));
}

// Whatever stands in a block: the check refuses it, or detection goes on within its bounds.
TEST(damaged_blocks_are_refused_or_harmless) {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    Builder builder(3);
    const uint32_t root = builder.add_random(random, 3 + below(random, 12));
    Machine machine(builder.build(root, round % 2 == 0, 3));
    Clock time = 0;
    for (; time < 30; ++time) machine.tick(time, 1 + below(random, 7));
    for (int damage = 0; damage < 3; ++damage) {
      const uint32_t at = below(random, static_cast<uint32_t>(machine.block.size()));
      machine.block[at] = static_cast<Word>(below(random, 40)) - 2;
    }
    try {
      machine.detector.check(machine.block.data(), time, 2 * time);
    } catch (const Error& error) {
      CHECK(error.kind == ErrorKind::kSnapshot);
      continue;
    }
    for (; time < 60; ++time) machine.tick(time, 1 + below(random, 7));
  }
}

}  // namespace catena
