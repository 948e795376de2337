// A predicate program: all conditions of a query as one graph of typed nodes, and what its
// operators mean.
//
// Most nodes depend on the row alone and are computed column by column. Those that read registers
// depend on the run as well: conditions over several events, and what registers are set to
// (`depends_on_run`); they are computed value by value (engine/register_machine.h), from what the
// row gave.
//
// Invariant (checked by validate): a node's operands come before it, so one pass in order
// evaluates everything; types agree exactly, conversions are nodes. Equal subexpressions are one
// node (the compiler shares them), so nothing is computed twice for a row.
//
// Null and truth: a kBool value is one byte, false = 0, unknown = 1, true = 2, so AND is min, OR
// is max and NOT is 2 - x (Kleene's logic). Any other value that is null makes what is computed
// from it null, and a comparison with it unknown. Division and modulo by zero and integer overflow
// give null. Floats compare as in IEEE 754; strings compare by bytes.
//
// Cost: the *_blocks functions are one pass over `rows` values, rounded up to whole blocks of
// kBlockRows: a constant trip count lets the compiler vectorise without an epilogue, and a batch
// of one row costs one block. The buffers given to them must hold whole blocks and not overlap.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace catena {

enum class ValueType : uint8_t { kBool, kInt, kWide, kFloat, kString };

enum class Op : uint8_t {
  kColumn,   // Column `column`: bool; integers but uint64, and temporal as kInt; uint64 as kWide.
  kLiteral,  // The field of its type, or null.
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,  // Only kFloat.
  kModulo,  // Has the sign of the dividend.
  kNegate,
  kToFloat,  // From kInt or kWide.
  kToWide,   // From kInt.
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAnd,
  kOr,
  kNot,
  kIsNull,    // True or false, of any type.
  kIsTrue,    // True or false: unknown becomes false.
  kIn,        // `left` in the set of its type; `is_null` says that null is in the set as well.
  kLike,      // `left` like the pattern `string_value`; see like() in string_codes.h.
  kRegister,  // What the run holds in register `column`. This and all that follow depend on the
              // run.
  kUnbound,   // What a register holds that was never set.
  kIsBound,   // True or false: whether the register `left` was set.
  kIfBound,   // The register `left` if it was set, else `right`.
  kSum,    // The sum of `left` and `right`; exact if whole. In this and the next three `left` was
  kLeast,  // accumulated so far and may be unbound, and a null on the right changes nothing.
  kGreatest,  // NaN counts only where there is nothing else.
  kCount,     // `left` and one more if `right` is not null.
  kNarrow,    // From kWide to kInt; null if it does not fit.
};

struct Node {
  Op op = Op::kLiteral;
  ValueType type = ValueType::kBool;
  uint32_t left = 0;  // Operands by position in Program::nodes.
  uint32_t right = 0;
  uint32_t column = 0;
  bool is_null = false;  // A literal, a set with a null in it, or a null pattern.
  bool bool_value = false;
  int64_t int_value = 0;
  Wide wide_value = 0;
  double float_value = 0;
  std::string string_value;
  // The set of kIn: the one for the type of `left` is used.
  std::vector<int64_t> int_set;
  std::vector<Wide> wide_set;
  std::vector<double> float_set;
  std::vector<std::string> string_set;
};

struct Program {
  static constexpr uint32_t kColumnCountUnknown = UINT32_MAX;

  std::vector<Node> nodes;
  std::vector<uint32_t> guards;      // The nodes whose truth is wanted, by guard id; all kBool.
  std::vector<uint32_t> conditions;  // The same that depend on the run, by condition id.
  std::vector<uint32_t> updates;     // What registers are set to, by update id.
  // How many columns the batches have; checked here when known, and against every batch anyway.
  uint32_t column_count = kColumnCountUnknown;

  // Throws Error kUser that names the first node which breaks the invariant.
  void validate() const;

  // By node, whether it reads a register, itself or by way of its operands.
  std::vector<bool> depends_on_run() const;
};

constexpr uint8_t kFalse = 0;
constexpr uint8_t kUnknown = 1;
constexpr uint8_t kTrue = 2;

constexpr int64_t kChunkRows = 1024;  // Rows evaluated at a time, so that buffers stay in cache.
constexpr int64_t kBlockRows = 64;
static_assert(kChunkRows % kBlockRows == 0);

constexpr bool is_comparison(Op op) { return op >= Op::kEq && op <= Op::kGe; }
constexpr bool is_unary(Op op) {
  return op == Op::kNegate || op == Op::kToFloat || op == Op::kToWide || op == Op::kNot ||
         op == Op::kIsNull || op == Op::kIsTrue || op == Op::kIn || op == Op::kLike ||
         op == Op::kIsBound || op == Op::kNarrow;
}
// A literal, a column, a register: has no operands.
constexpr bool is_leaf(Op op) {
  return op == Op::kColumn || op == Op::kLiteral || op == Op::kRegister || op == Op::kUnbound;
}
constexpr bool is_arithmetic(Op op) { return op >= Op::kAdd && op <= Op::kModulo; }
// The comparison that says the same with its operands exchanged.
Op flip_comparison(Op op);
// How two values compare that have already been ordered: `order` is negative, zero or positive.
bool holds(Op comparison, int order);

// The right operand of a loop: an array, or one value for all rows.
template <typename T>
struct Operand {
  const T* values = nullptr;  // Null: `constant` for every row.
  T constant = T();
};

// T is int64_t, Wide, double or uint8_t. Writes kTrue or kFalse as if nothing were null.
template <typename T>
void compare_blocks(Op op, const T* left, const Operand<T>& right, int64_t rows, uint8_t* truth);

// T is int64_t, Wide or double. Returns whether a result can be null of itself, and then has
// written 1 (fine) or 0 (null) to `valid` for every row; otherwise leaves `valid` alone.
template <typename T>
bool arithmetic_blocks(Op op, const T* left, const Operand<T>& right, int64_t rows, T* out,
                       uint8_t* valid);

// Same for the sign change.
template <typename T>
bool negate_blocks(const T* values, int64_t rows, T* out, uint8_t* valid);

// Whether each value is in `set`, which is sorted and free of NaN. Nulls are disregarded.
template <typename T>
void contains_blocks(const T* values, const std::vector<T>& set, int64_t rows, uint8_t* truth);

// From is int64_t or Wide.
template <typename From, typename To>
void convert_blocks(const From* values, int64_t rows, To* out);

void and_blocks(const uint8_t* left, const uint8_t* right, int64_t rows, uint8_t* out);
void or_blocks(const uint8_t* left, const uint8_t* right, int64_t rows, uint8_t* out);
void not_blocks(const uint8_t* values, int64_t rows, uint8_t* out);
void is_true_blocks(const uint8_t* values, int64_t rows, uint8_t* out);
// kTrue where the truth value is unknown.
void is_unknown_blocks(const uint8_t* values, int64_t rows, uint8_t* out);
// kTrue where the validity byte is 0.
void is_invalid_blocks(const uint8_t* valid, int64_t rows, uint8_t* out);
// Makes truth unknown where the validity byte is 0.
void mask_invalid_blocks(const uint8_t* valid, int64_t rows, uint8_t* truth);
// Makes `into` 0 where `valid` is.
void merge_valid_blocks(const uint8_t* valid, int64_t rows, uint8_t* into);
// Makes truth unknown where `values` is.
void mask_unknown_blocks(const uint8_t* values, int64_t rows, uint8_t* truth);

}  // namespace catena
