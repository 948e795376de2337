// Validation of predicate programs, and their operators as loops over blocks: see program.h.
#include "columns/program.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>

#include "base/error.h"

namespace catena {

namespace {

// Above this a set is searched by bisection instead of being compared with member by member.
constexpr size_t kLinearSetSize = 8;

bool is_number(ValueType type) {
  return type == ValueType::kInt || type == ValueType::kWide || type == ValueType::kFloat;
}

// What a node with operands of these types must be; `right` equals `left` for unary ones.
bool types_agree(const Node& node, ValueType left, ValueType right) {
  const bool gives_bool = node.type == ValueType::kBool;
  const bool of_bools = left == ValueType::kBool && right == ValueType::kBool && gives_bool;
  switch (node.op) {
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kModulo:
    case Op::kNegate:
      return is_number(node.type) && left == node.type && right == node.type;
    case Op::kDivide:
      return node.type == ValueType::kFloat && left == node.type && right == node.type;
    case Op::kToFloat:
      return node.type == ValueType::kFloat && is_number(left) && left != node.type;
    case Op::kToWide:
      return node.type == ValueType::kWide && left == ValueType::kInt;
    case Op::kAnd:
    case Op::kOr:
    case Op::kNot:
    case Op::kIsTrue:
      return of_bools;
    case Op::kIsNull:
      return gives_bool;
    case Op::kIn:
      return gives_bool && left != ValueType::kBool;
    case Op::kLike:
      return gives_bool && left == ValueType::kString;
    case Op::kIsBound:
      return gives_bool;
    case Op::kIfBound:
    case Op::kSum:
    case Op::kLeast:
    case Op::kGreatest:
      return left == node.type;
    case Op::kCount:
      return node.type == ValueType::kInt && left == ValueType::kInt;
    case Op::kNarrow:
      return node.type == ValueType::kInt && left == ValueType::kWide;
    default:
      return is_comparison(node.op) && gives_bool && left == right;
  }
}

[[noreturn]] void refuse(const char* what, size_t position, const char* why) {
  throw Error(ErrorKind::kUser, std::string("the predicate program is wrong: ") + what + " " +
                                    std::to_string(position) + " " + why);
}

template <typename T>
struct Each {
  const T* values;
  T operator[](int64_t row) const { return values[row]; }
};

template <typename T>
struct Same {
  T value;
  T operator[](int64_t) const { return value; }
};

// out[row] = apply(row), block by block.
template <typename Out, typename Apply>
inline void fill_blocks(int64_t rows, Out* __restrict out, Apply apply) {
  for (int64_t block = 0; block < rows; block += kBlockRows) {
    for (int64_t i = 0; i < kBlockRows; ++i) out[block + i] = apply(block + i);
  }
}

// values[row] = apply(row, values[row]), block by block.
template <typename Apply>
inline void update_blocks(int64_t rows, uint8_t* __restrict values, Apply apply) {
  for (int64_t block = 0; block < rows; block += kBlockRows) {
    for (int64_t i = 0; i < kBlockRows; ++i) {
      values[block + i] = apply(block + i, values[block + i]);
    }
  }
}

// Runs `loop` with the right operand as an array or as a constant.
template <typename T, typename Loop>
inline void with_operand(const Operand<T>& right, Loop loop) {
  if (right.values != nullptr) {
    loop(Each<T>{right.values});
  } else {
    loop(Same<T>{right.constant});
  }
}

template <typename Loop>
inline void with_comparison(Op op, Loop loop) {
  switch (op) {
    case Op::kEq:
      return loop(std::equal_to<>());
    case Op::kNe:
      return loop(std::not_equal_to<>());
    case Op::kLt:
      return loop(std::less<>());
    case Op::kLe:
      return loop(std::less_equal<>());
    case Op::kGt:
      return loop(std::greater<>());
    default:
      assert(op == Op::kGe);
      return loop(std::greater_equal<>());
  }
}

// Integers: each gives the result and returns whether there is one.
template <typename T>
struct Checked {
  static bool add(T a, T b, T* out) { return !__builtin_add_overflow(a, b, out); }
  static bool subtract(T a, T b, T* out) { return !__builtin_sub_overflow(a, b, out); }
  static bool multiply(T a, T b, T* out) { return !__builtin_mul_overflow(a, b, out); }
  static bool modulo(T a, T b, T* out) {
    // The least integer % -1 traps on some machines, though the remainder is 0.
    *out = b == 0 || b == -1 ? 0 : a % b;
    return b != 0;
  }
};

template <>
struct Checked<double> {
  static bool divide(double a, double b, double* out) {
    *out = b == 0 ? 0 : a / b;
    return b != 0;
  }
  static bool modulo(double a, double b, double* out) {
    *out = b == 0 ? 0 : std::fmod(a, b);
    return b != 0;
  }
};

template <typename T, typename Apply>
bool checked_loop(const T* left, const Operand<T>& right, int64_t rows, T* out, uint8_t* valid,
                  Apply apply) {
  with_operand(right, [&](auto operand) {
    fill_blocks(rows, valid, [&](int64_t row) {
      return static_cast<uint8_t>(apply(left[row], operand[row], out + row));
    });
  });
  return true;
}

template <typename Apply>
bool float_loop(const double* left, const Operand<double>& right, int64_t rows, double* out,
                Apply apply) {
  with_operand(right, [&](auto operand) {
    fill_blocks(rows, out, [=](int64_t row) { return apply(left[row], operand[row]); });
  });
  return false;
}

bool float_arithmetic(Op op, const double* left, const Operand<double>& right, int64_t rows,
                      double* out, uint8_t* valid) {
  switch (op) {
    case Op::kAdd:
      return float_loop(left, right, rows, out, std::plus<>());
    case Op::kSubtract:
      return float_loop(left, right, rows, out, std::minus<>());
    case Op::kMultiply:
      return float_loop(left, right, rows, out, std::multiplies<>());
    case Op::kDivide:
      return checked_loop(left, right, rows, out, valid, Checked<double>::divide);
    default:
      assert(op == Op::kModulo);
      return checked_loop(left, right, rows, out, valid, Checked<double>::modulo);
  }
}

template <typename T>
bool integer_arithmetic(Op op, const T* left, const Operand<T>& right, int64_t rows, T* out,
                        uint8_t* valid) {
  switch (op) {
    case Op::kAdd:
      return checked_loop(left, right, rows, out, valid, Checked<T>::add);
    case Op::kSubtract:
      return checked_loop(left, right, rows, out, valid, Checked<T>::subtract);
    case Op::kMultiply:
      return checked_loop(left, right, rows, out, valid, Checked<T>::multiply);
    default:
      assert(op == Op::kModulo);
      return checked_loop(left, right, rows, out, valid, Checked<T>::modulo);
  }
}

}  // namespace

void Program::validate() const {
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (node.op > Op::kNarrow || node.type > ValueType::kString) refuse("node", i, "is unknown");
    if (node.op == Op::kColumn && node.column >= column_count) {
      refuse("node", i, "reads a column that is not there");
    }
    if (is_leaf(node.op)) continue;
    const uint32_t right = is_unary(node.op) ? node.left : node.right;
    if (node.left >= i || right >= i) refuse("node", i, "uses a node that does not precede it");
    if (!types_agree(node, nodes[node.left].type, nodes[right].type)) {
      refuse("node", i, "has operands of types that it does not take");
    }
  }
  for (size_t i = 0; i < guards.size(); ++i) {
    if (guards[i] >= nodes.size()) refuse("guard", i, "is a node that is not there");
    if (nodes[guards[i]].type != ValueType::kBool) refuse("guard", i, "is not a truth value");
  }
  for (size_t i = 0; i < conditions.size(); ++i) {
    if (conditions[i] >= nodes.size()) refuse("condition", i, "is a node that is not there");
    if (nodes[conditions[i]].type != ValueType::kBool) {
      refuse("condition", i, "is not a truth value");
    }
  }
  for (size_t i = 0; i < updates.size(); ++i) {
    if (updates[i] >= nodes.size()) refuse("update", i, "is a node that is not there");
  }
  const std::vector<bool> of_run = depends_on_run();
  for (size_t i = 0; i < guards.size(); ++i) {
    if (of_run[guards[i]]) refuse("guard", i, "depends on more than the row");
  }
}

std::vector<bool> Program::depends_on_run() const {
  std::vector<bool> found(nodes.size(), false);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    found[i] =
        node.op >= Op::kRegister ||
        (!is_leaf(node.op) && (found[node.left] || (!is_unary(node.op) && found[node.right])));
  }
  return found;
}

Op flip_comparison(Op op) {
  switch (op) {
    case Op::kLt:
      return Op::kGt;
    case Op::kLe:
      return Op::kGe;
    case Op::kGt:
      return Op::kLt;
    case Op::kGe:
      return Op::kLe;
    default:
      return op;
  }
}

bool holds(Op comparison, int order) {
  bool result = false;
  with_comparison(comparison, [&](auto compare) { result = compare(order, 0); });
  return result;
}

template <typename T>
void compare_blocks(Op op, const T* left, const Operand<T>& right, int64_t rows, uint8_t* truth) {
  with_comparison(op, [&](auto compare) {
    with_operand(right, [&](auto operand) {
      fill_blocks(rows, truth,
                  [=](int64_t row) { return compare(left[row], operand[row]) ? kTrue : kFalse; });
    });
  });
}

template <typename T>
bool arithmetic_blocks(Op op, const T* left, const Operand<T>& right, int64_t rows, T* out,
                       uint8_t* valid) {
  if constexpr (std::is_same_v<T, double>) {
    return float_arithmetic(op, left, right, rows, out, valid);
  } else {
    return integer_arithmetic(op, left, right, rows, out, valid);
  }
}

template <typename T>
bool negate_blocks(const T* values, int64_t rows, T* out, uint8_t* valid) {
  if constexpr (std::is_same_v<T, double>) {
    fill_blocks(rows, out, [=](int64_t row) { return -values[row]; });
    return false;
  } else {
    fill_blocks(rows, valid, [=](int64_t row) {
      return static_cast<uint8_t>(Checked<T>::subtract(0, values[row], out + row));
    });
    return true;
  }
}

template <typename T>
void contains_blocks(const T* values, const std::vector<T>& set, int64_t rows, uint8_t* truth) {
  if (set.size() > kLinearSetSize) {
    fill_blocks(rows, truth, [&](int64_t row) {
      // Compared once more at the end, since a NaN is neither below nor above any member.
      const auto found = std::lower_bound(set.begin(), set.end(), values[row]);
      return found != set.end() && *found == values[row] ? kTrue : kFalse;
    });
    return;
  }
  fill_blocks(rows, truth, [](int64_t) { return kFalse; });
  for (const T member : set) {
    update_blocks(rows, truth, [=](int64_t row, uint8_t found) {
      return static_cast<uint8_t>(found | (values[row] == member ? kTrue : kFalse));
    });
  }
}

template <typename From, typename To>
void convert_blocks(const From* values, int64_t rows, To* out) {
  fill_blocks(rows, out, [=](int64_t row) { return static_cast<To>(values[row]); });
}

void and_blocks(const uint8_t* left, const uint8_t* right, int64_t rows, uint8_t* out) {
  fill_blocks(rows, out, [=](int64_t row) { return std::min(left[row], right[row]); });
}

void or_blocks(const uint8_t* left, const uint8_t* right, int64_t rows, uint8_t* out) {
  fill_blocks(rows, out, [=](int64_t row) { return std::max(left[row], right[row]); });
}

void not_blocks(const uint8_t* values, int64_t rows, uint8_t* out) {
  fill_blocks(rows, out, [=](int64_t row) { return static_cast<uint8_t>(kTrue - values[row]); });
}

void is_true_blocks(const uint8_t* values, int64_t rows, uint8_t* out) {
  fill_blocks(rows, out, [=](int64_t row) { return static_cast<uint8_t>(values[row] & kTrue); });
}

void is_unknown_blocks(const uint8_t* values, int64_t rows, uint8_t* out) {
  fill_blocks(rows, out, [=](int64_t row) { return values[row] == kUnknown ? kTrue : kFalse; });
}

void is_invalid_blocks(const uint8_t* valid, int64_t rows, uint8_t* out) {
  fill_blocks(rows, out, [=](int64_t row) { return valid[row] == 0 ? kTrue : kFalse; });
}

void mask_invalid_blocks(const uint8_t* valid, int64_t rows, uint8_t* truth) {
  update_blocks(rows, truth,
                [=](int64_t row, uint8_t value) { return valid[row] == 0 ? kUnknown : value; });
}

void merge_valid_blocks(const uint8_t* valid, int64_t rows, uint8_t* into) {
  update_blocks(rows, into, [=](int64_t row, uint8_t value) {
    return static_cast<uint8_t>(value & valid[row]);
  });
}

void mask_unknown_blocks(const uint8_t* values, int64_t rows, uint8_t* truth) {
  update_blocks(rows, truth, [=](int64_t row, uint8_t value) {
    return values[row] == kUnknown ? kUnknown : value;
  });
}

template void compare_blocks(Op, const int64_t*, const Operand<int64_t>&, int64_t, uint8_t*);
template void compare_blocks(Op, const Wide*, const Operand<Wide>&, int64_t, uint8_t*);
template void compare_blocks(Op, const double*, const Operand<double>&, int64_t, uint8_t*);
template void compare_blocks(Op, const uint8_t*, const Operand<uint8_t>&, int64_t, uint8_t*);
template bool arithmetic_blocks(Op, const int64_t*, const Operand<int64_t>&, int64_t, int64_t*,
                                uint8_t*);
template bool arithmetic_blocks(Op, const Wide*, const Operand<Wide>&, int64_t, Wide*, uint8_t*);
template bool arithmetic_blocks(Op, const double*, const Operand<double>&, int64_t, double*,
                                uint8_t*);
template bool negate_blocks(const int64_t*, int64_t, int64_t*, uint8_t*);
template bool negate_blocks(const Wide*, int64_t, Wide*, uint8_t*);
template bool negate_blocks(const double*, int64_t, double*, uint8_t*);
template void contains_blocks(const int64_t*, const std::vector<int64_t>&, int64_t, uint8_t*);
template void contains_blocks(const Wide*, const std::vector<Wide>&, int64_t, uint8_t*);
template void contains_blocks(const double*, const std::vector<double>&, int64_t, uint8_t*);
template void convert_blocks(const int64_t*, int64_t, double*);
template void convert_blocks(const Wide*, int64_t, double*);
template void convert_blocks(const int64_t*, int64_t, Wide*);

}  // namespace catena
