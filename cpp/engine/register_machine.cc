#include "engine/register_machine.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "engine/snapshot.h"

namespace catena {
namespace {

Value truth_value(uint8_t truth) {
  return truth == kUnknown ? Value::null() : Value::of_bool(truth == kTrue);
}

uint8_t truth_of(const Value& value) {
  if (!value.is_known()) return kUnknown;
  return value.low != 0 ? kTrue : kFalse;
}

bool fits_int(Wide value) {
  return value >= std::numeric_limits<int64_t>::min() &&
         value <= std::numeric_limits<int64_t>::max();
}

Value whole(Wide value, ValueType type) {
  if (type == ValueType::kWide) return Value::of_wide(value);
  return fits_int(value) ? Value::of_int(static_cast<int64_t>(value)) : Value::null();
}

Value float_arithmetic(Op op, double left, double right) {
  switch (op) {
    case Op::kAdd:
      return Value::of_float(left + right);
    case Op::kSubtract:
      return Value::of_float(left - right);
    case Op::kMultiply:
      return Value::of_float(left * right);
    case Op::kDivide:
      return right == 0 ? Value::null() : Value::of_float(left / right);
    default:
      return right == 0 ? Value::null() : Value::of_float(std::fmod(left, right));
  }
}

Value whole_arithmetic(Op op, Wide left, Wide right, ValueType type) {
  Wide result = 0;
  bool overflows = false;
  switch (op) {
    case Op::kAdd:
      overflows = __builtin_add_overflow(left, right, &result);
      break;
    case Op::kSubtract:
      overflows = __builtin_sub_overflow(left, right, &result);
      break;
    case Op::kMultiply:
      overflows = __builtin_mul_overflow(left, right, &result);
      break;
    default:
      if (right == 0) return Value::null();
      result = right == -1 ? 0 : left % right;
  }
  return overflows ? Value::null() : whole(result, type);
}

Value arithmetic(const Node& node, const Value& left, const Value& right) {
  if (!left.is_number() || !right.is_number()) return Value::null();
  const bool of_floats =
      node.op == Op::kDivide || left.tag == ValueTag::kFloat || right.tag == ValueTag::kFloat;
  if (of_floats) return float_arithmetic(node.op, left.as_float(), right.as_float());
  return whole_arithmetic(node.op, left.as_wide(), right.as_wide(), node.type);
}

bool is_nan(const Value& value) {
  return value.tag == ValueTag::kFloat && std::isnan(value.as_float());
}

Value literal(const Node& node) {
  if (node.is_null) return Value::null();
  switch (node.type) {
    case ValueType::kBool:
      return Value::of_bool(node.bool_value);
    case ValueType::kInt:
      return Value::of_int(node.int_value);
    case ValueType::kWide:
      return Value::of_wide(node.wide_value);
    case ValueType::kFloat:
      return Value::of_float(node.float_value);
    case ValueType::kString:
      return Value::of_text(node.string_value);
  }
  return Value::null();
}

template <typename T>
bool contains(const std::vector<T>& set, const T& value) {
  return std::ranges::find(set, value) != set.end();
}

}  // namespace

RegisterMachine::RegisterMachine(const Cea& cea, const ClassTrie& classes,
                                 uint32_t valuation_count_max)
    : cea_(cea), absences_(cea, classes, valuation_count_max) {}

// ---------------------------------------------------------------------------------------------
// The program

void RegisterMachine::bind(const Program& program) {
  program_ = program;
  ++version_;
  of_run_ = program_.depends_on_run();
  const size_t count = program_.nodes.size();
  reads_row_.assign(count, false);
  scratch_.assign(count, Value());
  for (size_t i = 0; i < count; ++i) {
    const Node& node = program_.nodes[i];
    if (node.op == Op::kLiteral) scratch_[i] = literal(node);
    reads_row_[i] = node.op == Op::kColumn;
    if (is_leaf(node.op)) continue;
    reads_row_[i] = reads_row_[node.left] || (!is_unary(node.op) && reads_row_[node.right]);
  }
  conditions_.clear();
  updates_.clear();
  probes_.clear();
  keys_.clear();
  for (uint32_t node : program_.conditions) {
    conditions_.push_back(order_of(node));
    probes_.push_back(find_probe(node));
    keys_.push_back(probes_.back() ? order_of(probes_.back()->key) : Order{});
  }
  for (uint32_t node : program_.updates) updates_.push_back(order_of(node));
}

// The last of the order is the node itself, also if it does not depend on the run.
RegisterMachine::Order RegisterMachine::order_of(uint32_t last) const {
  std::vector<bool> needed(last + 1, false);
  needed[last] = true;
  Order order;
  for (uint32_t i = last + 1; i-- > 0;) {
    if (!needed[i]) continue;
    const Node& node = program_.nodes[i];
    if (of_run_[i]) order.push_back(i);
    if (is_leaf(node.op) || !of_run_[i]) continue;
    needed[node.left] = true;
    if (!is_unary(node.op)) needed[node.right] = true;
  }
  std::ranges::reverse(order);
  if (order.empty() || order.back() != last) order.push_back(last);
  return order;
}

std::optional<Probe> RegisterMachine::find_probe(uint32_t index) const {
  const Node& node = program_.nodes[index];
  if (!is_comparison(node.op) || node.op == Op::kNe) return std::nullopt;
  const auto is_key = [&](uint32_t i) { return of_run_[i] && !reads_row_[i]; };
  const ValueType type = program_.nodes[node.left].type;
  if (is_key(node.left) && !of_run_[node.right]) {
    return Probe{node.left, node.right, node.op, type};
  }
  if (is_key(node.right) && !of_run_[node.left]) {
    return Probe{node.right, node.left, flip_comparison(node.op), type};
  }
  return std::nullopt;
}

void RegisterMachine::load(const Row& row, ClassId cls) {
  turn_to({row, cls, false, {}});
  if (!row.values) return;
  const RowValues& values = *row.values;
  for (size_t i = 0; i < values.nodes.size(); ++i) {
    scratch_[values.nodes[i]] = values.of_row[i][row.in_values];
  }
}

void RegisterMachine::turn_to(const AtHand& row) {
  at_hand_ = row;
  absences_.load(row.row, row.cls, row.is_again);
}

bool RegisterMachine::holds(ConditionId condition, const RegisterView& run) {
  if (const auto& follow = cea_.condition_follow(condition)) {
    return absences_.ends(*follow, run, *this);
  }
  const Order& order = conditions_[condition];
  evaluate(order, run);
  return truth_of(scratch_[order.back()]) == kTrue;
}

Value RegisterMachine::updated(UpdateId update, const RegisterView& run) {
  if (const auto& follow = cea_.update_follow(update)) return absences_.after(*follow, run, *this);
  const Order& order = updates_[update];
  evaluate(order, run);
  const Value& value = scratch_[order.back()];
  if (value.tag != ValueTag::kString || value.high == Value::kPooled) return value;
  return Value::of_pooled(pool_.intern(value.as_text()));
}

const Probe* RegisterMachine::probe_of(ConditionId condition) const {
  return probes_[condition] ? &*probes_[condition] : nullptr;
}

Value RegisterMachine::key(const Probe& probe, const RegisterView& run) {
  for (size_t i = 0; i < probes_.size(); ++i) {
    if (!probes_[i] || probes_[i]->key != probe.key) continue;
    evaluate(keys_[i], run);
    return scratch_[probe.key];
  }
  return Value::null();
}

// ---------------------------------------------------------------------------------------------
// Values

void RegisterMachine::evaluate(const Order& order, const RegisterView& run) {
  for (uint32_t node : order) {
    if (of_run_[node]) scratch_[node] = evaluate_node(program_.nodes[node], run);
  }
}

std::string_view RegisterMachine::text_of(const Value& value) const {
  return value.high == Value::kPooled ? pool_.text(static_cast<uint32_t>(value.low))
                                      : value.as_text();
}

int RegisterMachine::text_order(const Value& left, const Value& right) const {
  return text_of(left).compare(text_of(right));
}

Value RegisterMachine::compare(const Node& node, const Value& left, const Value& right) const {
  if (!left.is_known() || !right.is_known()) return Value::null();
  if (left.is_number() && right.is_number()) {
    if (left.tag == ValueTag::kFloat || right.tag == ValueTag::kFloat) {
      const double a = left.as_float();
      const double b = right.as_float();
      if (a != a || b != b) return Value::of_bool(node.op == Op::kNe);
      return Value::of_bool(catena::holds(node.op, a < b ? -1 : a > b ? 1 : 0));
    }
    const Wide a = left.as_wide();
    const Wide b = right.as_wide();
    return Value::of_bool(catena::holds(node.op, a < b ? -1 : a > b ? 1 : 0));
  }
  if (left.tag != right.tag) return Value::null();  // A column has changed what it holds.
  if (left.tag == ValueTag::kString) {
    return Value::of_bool(catena::holds(node.op, text_order(left, right)));
  }
  return Value::of_bool(catena::holds(node.op, static_cast<int>(left.low - right.low)));
}

Value RegisterMachine::member(const Node& node, const Value& value) const {
  if (!value.is_known()) return Value::null();
  bool found = false;
  if (value.tag == ValueTag::kString) {
    const std::string_view text = text_of(value);
    found = std::ranges::find(node.string_set, text) != node.string_set.end();
  } else if (!node.float_set.empty()) {
    found = contains(node.float_set, value.as_float());
  } else if (value.tag != ValueTag::kFloat) {
    found = std::ranges::find(node.int_set, value.as_wide()) != node.int_set.end() ||
            contains(node.wide_set, value.as_wide());
  } else {
    const auto is_equal = [&](auto one) { return static_cast<double>(one) == value.as_float(); };
    found =
        std::ranges::any_of(node.int_set, is_equal) || std::ranges::any_of(node.wide_set, is_equal);
  }
  if (!found && node.is_null) return Value::null();  // It may still equal the null.
  return Value::of_bool(found);
}

Value RegisterMachine::accumulate(const Node& node, const Value& before, const Value& value) const {
  if (node.op == Op::kCount) {
    const int64_t count = before.is_known() ? before.low : 0;
    return Value::of_int(count + (value.is_known() ? 1 : 0));
  }
  if (!value.is_known()) return before.is_known() ? before : Value::null();
  if (!before.is_known()) return value;
  if (node.op == Op::kSum) {
    Node adding;
    adding.op = Op::kAdd;
    adding.type = node.type == ValueType::kFloat ? node.type : ValueType::kWide;
    return arithmetic(adding, before, value);
  }
  if (is_nan(value)) return before;
  if (is_nan(before)) return value;
  Node comparing;
  comparing.op = node.op == Op::kLeast ? Op::kLt : Op::kGt;
  const Value is_better = compare(comparing, value, before);
  return is_better.is_known() && is_better.low != 0 ? value : before;
}

Value RegisterMachine::evaluate_node(const Node& node, const RegisterView& run) const {
  if (node.op == Op::kRegister) {
    if (node.column < first_of_history_) return read_register(run, node.column);
    return register_at(at_hand_.words, size_t{kRegisterWords} * (node.column - first_of_history_));
  }
  if (node.op == Op::kUnbound) return {};
  const Value& left = scratch_[node.left];
  const Value& right = scratch_[is_unary(node.op) ? node.left : node.right];
  switch (node.op) {
    case Op::kIsBound:
      return Value::of_bool(left.tag != ValueTag::kUnbound);
    case Op::kIfBound:
      return left.tag != ValueTag::kUnbound ? left : right;
    case Op::kSum:
    case Op::kLeast:
    case Op::kGreatest:
    case Op::kCount:
      return accumulate(node, left, right);
    case Op::kNarrow:
      if (!left.is_number() || left.tag == ValueTag::kFloat) return left;
      return whole(left.as_wide(), ValueType::kInt);
    case Op::kToWide:
      return left.is_number() && left.tag != ValueTag::kFloat ? Value::of_wide(left.as_wide())
                                                              : left;
    case Op::kToFloat:
      return left.is_number() ? Value::of_float(left.as_float()) : Value::null();
    case Op::kNegate: {
      if (left.tag == ValueTag::kFloat) return Value::of_float(-left.as_float());
      return left.is_number() ? whole_arithmetic(Op::kSubtract, 0, left.as_wide(), node.type)
                              : Value::null();
    }
    case Op::kAnd:
      return truth_value(std::min(truth_of(left), truth_of(right)));
    case Op::kOr:
      return truth_value(std::max(truth_of(left), truth_of(right)));
    case Op::kNot:
      return truth_value(static_cast<uint8_t>(kTrue - truth_of(left)));
    case Op::kIsNull:
      return Value::of_bool(!left.is_known());
    case Op::kIsTrue:
      return Value::of_bool(truth_of(left) == kTrue);
    case Op::kIn:
      return member(node, left);
    case Op::kLike:
      if (left.tag != ValueTag::kString) return Value::null();
      return Value::of_bool(like(text_of(left), node.string_value));
    default:
      return is_comparison(node.op) ? compare(node, left, right) : arithmetic(node, left, right);
  }
}

// ---------------------------------------------------------------------------------------------
// Snapshots

void RegisterMachine::write(RegisterId id, const Value& value, ByteWriter& out) const {
  if (absences_.is_held_by(id)) return absences_.write(value, out, *this);
  write_value(out, value, pool_);
}

Value RegisterMachine::read(RegisterId id, ByteReader& in) {
  if (absences_.is_held_by(id)) return absences_.read(id, in, *this);
  return read_value(in, pool_);
}

}  // namespace catena
