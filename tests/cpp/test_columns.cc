// Tests of base/ and columns/: bytes, Arrow batches, string codes, predicate programs, classes,
// clocks and keys. Random programs are compared with an evaluator that takes one row and one node
// at a time and shares nothing with the engine but the definition of a program.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <variant>

#include "arrow_builder.h"
#include "base/bytes.h"
#include "check.h"
#include "columns/class_trie.h"
#include "columns/classifier.h"
#include "columns/values.h"

using namespace catena;
using namespace catena::testing;

namespace {

constexpr int64_t kIntMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kIntMin = std::numeric_limits<int64_t>::min();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Random = std::mt19937_64;
using Strings = std::vector<std::optional<std::string>>;
using Cell = std::variant<std::monostate, bool, int64_t, Wide, double, std::string>;

int64_t below(Random& random, int64_t limit) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
}

bool is_null(const Cell& cell) { return std::holds_alternative<std::monostate>(cell); }

// --- Programs by hand -----------------------------------------------------------------------

Node column_node(ValueType type, uint32_t column) {
  Node node;
  node.op = Op::kColumn;
  node.type = type;
  node.column = column;
  return node;
}

Node literal_node(const Cell& cell, ValueType type) {
  Node node;
  node.type = type;
  node.is_null = is_null(cell);
  if (const auto* truth = std::get_if<bool>(&cell)) node.bool_value = *truth;
  if (const auto* value = std::get_if<int64_t>(&cell)) node.int_value = *value;
  if (const auto* value = std::get_if<Wide>(&cell)) node.wide_value = *value;
  if (const auto* value = std::get_if<double>(&cell)) node.float_value = *value;
  if (const auto* value = std::get_if<std::string>(&cell)) node.string_value = *value;
  return node;
}

Node operator_node(Op op, ValueType type, uint32_t left, uint32_t right = 0) {
  Node node;
  node.op = op;
  node.type = type;
  node.left = left;
  node.right = right;
  return node;
}

struct ProgramBuilder {
  Program program;

  uint32_t add(Node node) {
    program.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(program.nodes.size() - 1);
  }
  uint32_t column(ValueType type, uint32_t index) { return add(column_node(type, index)); }
  uint32_t literal(const Cell& cell, ValueType type) { return add(literal_node(cell, type)); }
  uint32_t op(Op op, ValueType type, uint32_t left, uint32_t right = 0) {
    return add(operator_node(op, type, left, right));
  }
  void guard(uint32_t node) { program.guards.push_back(node); }
};

// The bits of every row, guard by guard, as '0' and '1'.
std::vector<std::string> guard_bits(const Program& program, const Batch& batch) {
  const auto guards = static_cast<uint32_t>(program.guards.size());
  ClassTrie trie(guards, 1 << 20);
  Classifier classifier(program, trie);
  std::vector<ClassId> classes(static_cast<size_t>(batch.num_rows()));
  classifier.classify(batch, 0, batch.num_rows(), classes.data());
  std::vector<std::string> rows;
  for (const ClassId cls : classes) {
    std::string bits;
    for (uint32_t guard = 0; guard < guards; ++guard) {
      bits.push_back(trie.satisfies(cls, guard) ? '1' : '0');
    }
    rows.push_back(bits);
  }
  return rows;
}

// The truth of one node at every row as letters: T, F, or ? for unknown.
std::string truth_letters(Program program, uint32_t node, const Batch& batch) {
  program.nodes.push_back(operator_node(Op::kIsNull, ValueType::kBool, node));
  program.guards = {node, static_cast<uint32_t>(program.nodes.size() - 1)};
  std::string letters;
  for (const std::string& bits : guard_bits(program, batch)) {
    CHECK(bits != "11");
    letters.push_back(bits == "10" ? 'T' : bits == "01" ? '?' : 'F');
  }
  return letters;
}

// `column 0` op literal, for every row.
std::string compare_with(Op op, const Cell& literal, ValueType type, const Batch& batch) {
  ProgramBuilder builder;
  const uint32_t left = builder.column(type, 0);
  const uint32_t right = builder.literal(literal, type);
  const uint32_t node = builder.op(op, ValueType::kBool, left, right);
  return truth_letters(builder.program, node, batch);
}

// --- The naive evaluator ----------------------------------------------------------------------

// By code points, by the definition: `%` tries every length.
std::vector<std::string> code_points(const std::string& text) {
  std::vector<std::string> points;
  for (const char byte : text) {
    const bool continues = (static_cast<uint8_t>(byte) & 0xc0) == 0x80;
    if (!continues || points.empty()) points.emplace_back();
    points.back().push_back(byte);
  }
  return points;
}

bool naive_like(const std::vector<std::string>& text, size_t at,
                const std::vector<std::string>& pattern, size_t p) {
  if (p == pattern.size()) return at == text.size();
  if (pattern[p] == "%") {
    for (size_t end = at; end <= text.size(); ++end) {
      if (naive_like(text, end, pattern, p + 1)) return true;
    }
    return false;
  }
  if (at == text.size()) return false;
  if (pattern[p] == "_") return naive_like(text, at + 1, pattern, p + 1);
  if (pattern[p] == "\\" && p + 1 < pattern.size()) ++p;
  return text[at] == pattern[p] && naive_like(text, at + 1, pattern, p + 1);
}

bool naive_like(const std::string& text, const std::string& pattern) {
  return naive_like(code_points(text), 0, code_points(pattern), 0);
}

template <typename T>
bool naive_compare(Op op, const T& a, const T& b) {
  switch (op) {
    case Op::kEq:
      return a == b;
    case Op::kNe:
      return !(a == b);
    case Op::kLt:
      return a < b;
    case Op::kLe:
      return a < b || a == b;
    case Op::kGt:
      return b < a;
    default:
      return b < a || a == b;
  }
}

Cell naive_arithmetic(Op op, double a, double b) {
  if ((op == Op::kDivide || op == Op::kModulo) && b == 0) return {};
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSubtract:
      return a - b;
    case Op::kMultiply:
      return a * b;
    case Op::kDivide:
      return a / b;
    default:
      return std::fmod(a, b);
  }
}

Cell naive_arithmetic(Op op, Wide a, Wide b) {
  Wide result = 0;
  bool overflow = false;
  if (op == Op::kAdd) overflow = __builtin_add_overflow(a, b, &result);
  if (op == Op::kSubtract) overflow = __builtin_sub_overflow(a, b, &result);
  if (op == Op::kMultiply) overflow = __builtin_mul_overflow(a, b, &result);
  if (op == Op::kModulo) {
    if (b == 0) return {};
    result = b == -1 ? 0 : a - (a / b) * b;
  }
  if (overflow) return {};
  return result;
}

Cell naive_arithmetic(Op op, int64_t a, int64_t b) {
  const Cell wide = naive_arithmetic(op, static_cast<Wide>(a), static_cast<Wide>(b));
  if (is_null(wide)) return {};
  const Wide value = std::get<Wide>(wide);
  if (value > kIntMax || value < kIntMin) return {};
  return static_cast<int64_t>(value);
}

Cell naive_in(const Node& node, const Cell& cell) {
  bool found = false;
  if (const auto* v = std::get_if<int64_t>(&cell)) {
    for (const int64_t member : node.int_set) found = found || member == *v;
  }
  if (const auto* v = std::get_if<Wide>(&cell)) {
    for (const Wide member : node.wide_set) found = found || member == *v;
  }
  if (const auto* v = std::get_if<double>(&cell)) {
    for (const double member : node.float_set) found = found || member == *v;
  }
  if (const auto* v = std::get_if<std::string>(&cell)) {
    for (const std::string& member : node.string_set) found = found || member == *v;
  }
  if (found) return true;
  return node.is_null ? Cell() : Cell(false);
}

Cell naive_logic(Op op, const Cell& left, const Cell& right) {
  const bool dominant = op == Op::kOr;
  if (!is_null(left) && std::get<bool>(left) == dominant) return dominant;
  if (!is_null(right) && std::get<bool>(right) == dominant) return dominant;
  if (is_null(left) || is_null(right)) return {};
  return !dominant;
}

Cell naive_binary(Op op, const Cell& left, const Cell& right) {
  if (op == Op::kAnd || op == Op::kOr) return naive_logic(op, left, right);
  if (is_null(left) || is_null(right)) return {};
  return std::visit(
      [&]<typename T>(const T& a) -> Cell {
        const T& b = std::get<T>(right);
        if constexpr (!std::is_same_v<T, std::monostate>) {
          if (is_comparison(op)) return naive_compare(op, a, b);
        }
        if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, Wide> ||
                      std::is_same_v<T, double>) {
          return naive_arithmetic(op, a, b);
        }
        return {};
      },
      left);
}

Cell naive_negate(const Cell& cell) {
  if (const auto* v = std::get_if<int64_t>(&cell)) {
    return naive_arithmetic(Op::kSubtract, int64_t{0}, *v);
  }
  if (const auto* v = std::get_if<Wide>(&cell)) return naive_arithmetic(Op::kSubtract, Wide{0}, *v);
  return -std::get<double>(cell);
}

Cell naive_to_float(const Cell& cell) {
  if (const auto* v = std::get_if<int64_t>(&cell)) return static_cast<double>(*v);
  return static_cast<double>(std::get<Wide>(cell));
}

Cell naive_unary(const Node& node, const Cell& left) {
  if (node.op == Op::kIsNull) return is_null(left);
  if (node.op == Op::kIsTrue) return !is_null(left) && std::get<bool>(left);
  if (is_null(left)) return {};
  switch (node.op) {
    case Op::kNot:
      return !std::get<bool>(left);
    case Op::kNegate:
      return naive_negate(left);
    case Op::kToFloat:
      return naive_to_float(left);
    case Op::kToWide:
      return static_cast<Wide>(std::get<int64_t>(left));
    case Op::kIn:
      return naive_in(node, left);
    default:
      break;
  }
  if (node.is_null) return {};
  return naive_like(std::get<std::string>(left), node.string_value);
}

Cell naive_literal(const Node& node) {
  if (node.is_null) return {};
  switch (node.type) {
    case ValueType::kBool:
      return node.bool_value;
    case ValueType::kInt:
      return node.int_value;
    case ValueType::kWide:
      return node.wide_value;
    case ValueType::kFloat:
      return node.float_value;
    default:
      return node.string_value;
  }
}

using Table = std::vector<std::vector<Cell>>;  // By column and row.

std::string naive_guards(const Program& program, const Table& table, size_t row) {
  std::vector<Cell> values;
  for (const Node& node : program.nodes) {
    if (node.op == Op::kLiteral) {
      values.push_back(naive_literal(node));
    } else if (node.op == Op::kColumn) {
      values.push_back(table[node.column][row]);
    } else if (is_arithmetic(node.op) || is_comparison(node.op) || node.op == Op::kAnd ||
               node.op == Op::kOr) {
      values.push_back(naive_binary(node.op, values[node.left], values[node.right]));
    } else {
      values.push_back(naive_unary(node, values[node.left]));
    }
  }
  std::string bits;
  for (const uint32_t guard : program.guards) {
    bits.push_back(!is_null(values[guard]) && std::get<bool>(values[guard]) ? '1' : '0');
  }
  return bits;
}

// --- Random tables and programs -----------------------------------------------------------------

const std::vector<std::string> kTexts = {"",
                                         "a",
                                         "b",
                                         "ab",
                                         "abc",
                                         "é",
                                         "aéb",
                                         "exactly12byt",
                                         "13 bytes long",
                                         "sixteen bytes ok",
                                         "seventeen bytes o",
                                         "a rather long string of more than thirty bytes",
                                         "a rather long string of more than thirty bytez"};

std::string random_text(Random& random) {
  return kTexts[static_cast<size_t>(below(random, static_cast<int64_t>(kTexts.size())))];
}

// Small values collide, extreme ones overflow.
int64_t random_int(Random& random) {
  switch (below(random, 8)) {
    case 0:
      return kIntMax - below(random, 2);
    case 1:
      return kIntMin + below(random, 2);
    default:
      return below(random, 7) - 3;
  }
}

Wide random_wide(Random& random) {
  switch (below(random, 6)) {
    case 0:
      return static_cast<Wide>(std::numeric_limits<uint64_t>::max());
    case 1:
      return static_cast<Wide>(uint64_t{1} << 63);
    default:
      return below(random, 5);
  }
}

double random_float(Random& random) {
  const double values[] = {0.0, -0.0, 1.5, -1.5, 2, 3, kNaN, kInfinity, -kInfinity, 1e300};
  return values[below(random, 10)];
}

template <typename T>
std::vector<std::optional<T>> narrow(const std::vector<Cell>& cells) {
  std::vector<std::optional<T>> values;
  for (const Cell& cell : cells) {
    values.emplace_back();
    if (const auto* v = std::get_if<int64_t>(&cell)) values.back() = static_cast<T>(*v);
    if (const auto* v = std::get_if<Wide>(&cell)) values.back() = static_cast<T>(*v);
    if (const auto* v = std::get_if<double>(&cell)) values.back() = static_cast<T>(*v);
  }
  return values;
}

std::vector<Cell> random_cells(Random& random, size_t rows, int64_t null_every,
                               const std::function<Cell()>& make) {
  std::vector<Cell> cells;
  for (size_t i = 0; i < rows; ++i) {
    const bool null = null_every > 0 && below(random, null_every) == 0;
    cells.push_back(null ? Cell() : make());
  }
  return cells;
}

Strings as_strings(const std::vector<Cell>& cells) {
  Strings strings;
  for (const Cell& cell : cells) {
    strings.emplace_back();
    if (const auto* text = std::get_if<std::string>(&cell)) strings.back() = *text;
  }
  return strings;
}

template <typename Index>
ArrayData random_dictionary(Random& random, const std::string& name,
                            const std::vector<Cell>& cells) {
  // Two entries skipped by an offset, every text, then a null value.
  Strings entries = {"skipped", std::nullopt};
  for (const std::string& text : kTexts) entries.emplace_back(text);
  entries.emplace_back();
  std::vector<std::optional<Index>> indices;
  for (const Cell& cell : cells) {
    indices.emplace_back();
    if (is_null(cell)) {
      if (below(random, 2) == 0) indices.back() = static_cast<Index>(kTexts.size());
      continue;
    }
    const auto found = std::find(kTexts.begin(), kTexts.end(), std::get<std::string>(cell));
    indices.back() = static_cast<Index>(found - kTexts.begin());
  }
  return dictionary_array<Index>(name, indices, sliced(string_array("", entries), 2));
}

struct RandomTable {
  BatchBuilder builder;
  Table table;
  std::vector<ValueType> types;
  int64_t null_every = 0;

  void add(ValueType type, ArrayData array, std::vector<Cell> cells, int64_t skip) {
    // Drop the first rows by the column's own offset.
    cells.erase(cells.begin(), cells.begin() + skip);
    types.push_back(type);
    builder.add(sliced(std::move(array), skip));
    table.push_back(std::move(cells));
  }
};

void add_number_columns(Random& random, size_t rows, int64_t skip, RandomTable& out) {
  const int64_t nulls = out.null_every;
  const auto small = [&]() -> Cell { return below(random, 7) - 3; };
  const auto natural = [&]() -> Cell { return below(random, 250); };
  auto cells = random_cells(random, rows, nulls, small);
  out.add(ValueType::kInt, number_array("i8", narrow<int8_t>(cells)), cells, skip);
  cells = random_cells(random, rows, nulls, small);
  out.add(ValueType::kInt, number_array("i16", narrow<int16_t>(cells)), cells, skip);
  cells = random_cells(random, rows, nulls, small);
  out.add(ValueType::kInt, number_array("i32", narrow<int32_t>(cells), "tdD"), cells, skip);
  cells = random_cells(random, rows, 0, [&]() -> Cell { return random_int(random); });
  out.add(ValueType::kInt, number_array("i64", narrow<int64_t>(cells)), cells, skip);
  cells = random_cells(random, rows, nulls, [&]() -> Cell { return random_int(random); });
  out.add(ValueType::kInt, number_array("ts", narrow<int64_t>(cells), "tsu:UTC"), cells, skip);
  cells = random_cells(random, rows, nulls, natural);
  out.add(ValueType::kInt, number_array("u8", narrow<uint8_t>(cells)), cells, skip);
  cells = random_cells(random, rows, nulls, natural);
  out.add(ValueType::kInt, number_array("u16", narrow<uint16_t>(cells)), cells, skip);
  cells = random_cells(random, rows, nulls, natural);
  out.add(ValueType::kInt, number_array("u32", narrow<uint32_t>(cells)), cells, skip);
  cells = random_cells(random, rows, nulls, [&]() -> Cell { return random_wide(random); });
  out.add(ValueType::kWide, number_array("u64", narrow<uint64_t>(cells)), cells, skip);
  cells = random_cells(random, rows, nulls, [&]() -> Cell { return random_float(random); });
  out.add(ValueType::kFloat, number_array("f64", narrow<double>(cells)), cells, skip);
  cells = random_cells(random, rows, nulls,
                       [&]() -> Cell { return static_cast<double>(below(random, 9)) / 4; });
  out.add(ValueType::kFloat, number_array("f32", narrow<float>(cells)), cells, skip);
}

void add_other_columns(Random& random, size_t rows, int64_t skip, RandomTable& out) {
  const int64_t nulls = out.null_every;
  const auto text = [&]() -> Cell { return random_text(random); };
  for (int i = 0; i < 2; ++i) {
    const auto cells =
        random_cells(random, rows, nulls, [&]() -> Cell { return below(random, 2) == 0; });
    std::vector<std::optional<bool>> bools;
    for (const Cell& cell : cells) {
      bools.push_back(is_null(cell) ? std::nullopt : std::optional(std::get<bool>(cell)));
    }
    out.add(ValueType::kBool, bool_array("b", bools), cells, skip);
  }
  for (const auto layout : {StringLayout::kPlain, StringLayout::kLarge, StringLayout::kView}) {
    const auto cells = random_cells(random, rows, nulls, text);
    out.add(ValueType::kString, string_array("s", as_strings(cells), layout), cells, skip);
  }
  auto cells = random_cells(random, rows, nulls, text);
  out.add(ValueType::kString, random_dictionary<int8_t>(random, "d8", cells), cells, skip);
  cells = random_cells(random, rows, nulls, text);
  out.add(ValueType::kString, random_dictionary<uint32_t>(random, "d32", cells), cells, skip);
}

// Every kind of column, each sliced on its own, and the struct sliced on top.
RandomTable random_table(Random& random, size_t rows) {
  RandomTable result;
  const int64_t skip = below(random, 12);
  const int64_t struct_skip = below(random, 12);
  result.null_every = below(random, 2) * 5;
  const size_t total = rows + static_cast<size_t>(skip + struct_skip);
  add_number_columns(random, total, skip, result);
  add_other_columns(random, total, skip, result);
  result.builder.slice(struct_skip, static_cast<int64_t>(rows));
  for (auto& cells : result.table) cells.erase(cells.begin(), cells.begin() + struct_skip);
  return result;
}

Cell random_cell(Random& random, ValueType type) {
  if (below(random, 8) == 0) return {};
  switch (type) {
    case ValueType::kBool:
      return below(random, 2) == 0;
    case ValueType::kInt:
      return random_int(random);
    case ValueType::kWide:
      return random_wide(random);
    case ValueType::kFloat:
      return random_float(random);
    default:
      return random_text(random);
  }
}

class RandomProgram {
 public:
  RandomProgram(Random& random, const std::vector<ValueType>& columns) : random_(random) {
    for (uint32_t i = 0; i < columns.size(); ++i) add(column_node(columns[i], i));
    for (int i = 0; i < 10; ++i) {
      const auto type = static_cast<ValueType>(below(random, 5));
      add(literal_node(random_cell(random, type), type));
    }
    for (int i = 0; i < 60; ++i) add_operator();
    const int64_t guards = below(random, 20);
    for (int64_t i = 0; i < guards; ++i) program_.guards.push_back(pick(ValueType::kBool));
  }
  const Program& program() const { return program_; }

 private:
  void add(Node node) {
    by_type_[node.type].push_back(static_cast<uint32_t>(program_.nodes.size()));
    program_.nodes.push_back(std::move(node));
  }
  // Literals are few per type, so one of them is made now and then.
  uint32_t pick(ValueType type) {
    if (below(random_, 4) == 0) add(literal_node(random_cell(random_, type), type));
    const auto& nodes = by_type_[type];
    return nodes[static_cast<size_t>(below(random_, static_cast<int64_t>(nodes.size())))];
  }
  void add_operator() {
    switch (below(random_, 6)) {
      case 0:
        return add_arithmetic();
      case 1:
        return add_in();
      case 2:
        return add_logic();
      case 3:
        return add_like();
      default:
        return add_comparison();
    }
  }
  ValueType number() { return static_cast<ValueType>(1 + below(random_, 3)); }
  void add_arithmetic() {
    const int64_t choice = below(random_, 8);
    if (choice == 0) {
      return add(operator_node(Op::kToWide, ValueType::kWide, pick(ValueType::kInt)));
    }
    if (choice == 1) {
      const auto from = below(random_, 2) == 0 ? ValueType::kInt : ValueType::kWide;
      return add(operator_node(Op::kToFloat, ValueType::kFloat, pick(from)));
    }
    const ValueType type = number();
    const Op ops[] = {Op::kAdd,    Op::kSubtract, Op::kMultiply,
                      Op::kModulo, Op::kNegate,   Op::kDivide};
    const Op op = ops[below(random_, type == ValueType::kFloat ? 6 : 5)];
    const uint32_t left = pick(type);
    add(operator_node(op, type, left, pick(type)));
  }
  void add_in() {
    const auto type = static_cast<ValueType>(1 + below(random_, 4));
    Node node = operator_node(Op::kIn, ValueType::kBool, pick(type));
    node.is_null = below(random_, 3) == 0;
    const int64_t members = below(random_, 14);
    for (int64_t i = 0; i < members; ++i) {
      node.int_set.push_back(random_int(random_));
      node.wide_set.push_back(random_wide(random_));
      node.float_set.push_back(random_float(random_));
      if (i < 4) node.string_set.push_back(random_text(random_));
    }
    add(node);
  }
  void add_logic() {
    const Op ops[] = {Op::kAnd, Op::kOr, Op::kNot, Op::kIsTrue, Op::kIsNull};
    const Op op = ops[below(random_, 5)];
    const auto type =
        op == Op::kIsNull ? static_cast<ValueType>(below(random_, 5)) : ValueType::kBool;
    const uint32_t left = pick(type);
    add(operator_node(op, ValueType::kBool, left, pick(type)));
  }
  void add_like() {
    const char* patterns[] = {"%", "a%", "_", "%b", "a_b", "%é%", "", "\\%", "a%bytes"};
    Node node = operator_node(Op::kLike, ValueType::kBool, pick(ValueType::kString));
    node.string_value = patterns[below(random_, 9)];
    node.is_null = below(random_, 10) == 0;
    add(node);
  }
  void add_comparison() {
    const auto type = static_cast<ValueType>(below(random_, 5));
    const auto op = static_cast<Op>(static_cast<int64_t>(Op::kEq) + below(random_, 6));
    const uint32_t left = pick(type);
    add(operator_node(op, ValueType::kBool, left, pick(type)));
  }

  Random& random_;
  Program program_;
  std::map<ValueType, std::vector<uint32_t>> by_type_;
};

// Classifies a batch in random pieces, as an engine may.
std::vector<ClassId> classify_in_pieces(Random& random, Classifier& classifier,
                                        const Batch& batch) {
  std::vector<ClassId> classes(static_cast<size_t>(batch.num_rows()));
  for (int64_t begin = 0; begin < batch.num_rows();) {
    const int64_t left = batch.num_rows() - begin;
    const int64_t count = below(random, 3) == 0 ? left : 1 + below(random, left);
    classifier.classify(batch, begin, count, classes.data() + begin);
    begin += count;
  }
  return classes;
}

void check_program(Random& random, const Program& program, Classifier& classifier,
                   const ClassTrie& trie, const RandomTable& input) {
  const Batch batch = input.builder.build();
  const std::vector<ClassId> classes = classify_in_pieces(random, classifier, batch);
  int64_t wrong = 0;
  for (size_t row = 0; row < classes.size(); ++row) {
    const std::string expected = naive_guards(program, input.table, row);
    for (uint32_t guard = 0; guard < expected.size(); ++guard) {
      if (trie.satisfies(classes[row], guard) == (expected[guard] == '1')) continue;
      ++wrong;
      const Node& node = program.nodes[program.guards[guard]];
      if (wrong == 1)
        std::cout << "guard op " << static_cast<int>(node.op) << " at row " << row << " of "
                  << classes.size() << "\n";
    }
  }
  CHECK_EQ(wrong, 0);
}

// A short key as text.
std::string key_of(const Batch& batch, int64_t row, std::vector<uint32_t> columns = {0}) {
  std::string key;
  CHECK(KeyEncoder(std::move(columns)).encode(batch, row, key));
  return key;
}

}  // namespace

// --- bytes
// ----------------------------------------------------------------------------------------

TEST(bytes_read_back_what_was_written) {
  ByteWriter writer;
  writer.u8(255);
  writer.u32(0x01020304);
  writer.u64(~uint64_t{0});
  writer.i64(kIntMin);
  writer.f64(-0.0);
  writer.text("héllo");
  writer.text("");
  CHECK_EQ(static_cast<int>(writer.view()[1]), 4);  // Little-endian.
  ByteReader reader(writer.view());
  CHECK_EQ(reader.u8(), 255);
  CHECK_EQ(reader.u32(), 0x01020304u);
  CHECK_EQ(reader.u64(), ~uint64_t{0});
  CHECK_EQ(reader.i64(), kIntMin);
  CHECK(std::signbit(reader.f64()));
  CHECK(reader.text() == "héllo");
  CHECK(reader.text().empty());
  reader.expect_end();
}

TEST(bytes_that_are_cut_short_are_refused_everywhere) {
  ByteWriter writer;
  writer.u32(7);
  writer.text("abc");
  writer.i64(1);
  const std::vector<std::byte> all = writer.take();
  for (size_t length = 0; length < all.size(); ++length) {
    ByteReader reader(std::span<const std::byte>(all.data(), length));
    CHECK_THROWS((reader.u32(), reader.text(), reader.i64()), ErrorKind::kSnapshot);
  }
}

TEST(bytes_with_wild_lengths_are_refused) {
  ByteWriter writer;
  writer.u64(~uint64_t{0});
  writer.u8(0);
  ByteReader as_text(writer.view());
  CHECK_THROWS(as_text.text(), ErrorKind::kSnapshot);
  ByteReader as_count(writer.view());
  CHECK_THROWS(as_count.count(8), ErrorKind::kSnapshot);
  ByteReader too_long(writer.view());
  too_long.u64();
  CHECK_THROWS(too_long.expect_end(), ErrorKind::kSnapshot);
}

TEST(checksum_is_fnv_1a) {
  const std::byte a[] = {std::byte{'a'}};
  CHECK_EQ(checksum({}), 0xcbf29ce484222325u);
  CHECK_EQ(checksum(a), 0xaf63dc4c8601ec8cu);
}

// --- batches
// --------------------------------------------------------------------------------------

TEST(a_batch_releases_what_it_took_once) {
  const int before = live_exports();
  {
    Batch first = BatchBuilder().ints<int32_t>("x", {1, 2}).build();
    CHECK(live_exports() > before);
    Batch second = std::move(first);
    CHECK_EQ(second.column(0).values<int32_t>()[1], 2);
    second = BatchBuilder().ints<int32_t>("x", {3}).build();
    CHECK_EQ(second.column(0).values<int32_t>()[0], 3);
  }
  CHECK_EQ(live_exports(), before);
  ArrayData not_a_struct = number_array<int32_t>("x", {1});
  CHECK_THROWS(make_batch(not_a_struct), ErrorKind::kUser);
  CHECK_EQ(live_exports(), before);
}

TEST(a_batch_may_have_no_rows_or_no_columns) {
  const Batch no_columns = BatchBuilder().slice(0, 5).build();
  CHECK_EQ(no_columns.num_rows(), 5);
  CHECK_EQ(no_columns.num_columns(), 0u);
  const Batch no_rows = BatchBuilder()
                            .ints<int64_t>("i", {})
                            .bools("b", {})
                            .strings("s", {})
                            .strings("v", {}, StringLayout::kView)
                            .add(dictionary_array<int8_t>("d", {}, string_array("", {})))
                            .build();
  CHECK_EQ(no_rows.num_rows(), 0);
  CHECK(no_rows.column(0).values<int64_t>() == nullptr);
  ProgramBuilder builder;
  const uint32_t left = builder.column(ValueType::kString, 4);
  const uint32_t right = builder.literal("x", ValueType::kString);
  builder.guard(builder.op(Op::kEq, ValueType::kBool, left, right));
  CHECK(guard_bits(builder.program, no_rows).empty());
  CHECK_EQ(guard_bits(Program(), no_columns).size(), 5u);
}

TEST(offsets_of_struct_and_column_add_up) {
  const std::vector<std::optional<int16_t>> values = {0, 1, 2, std::nullopt, 4, 5, 6, 7, 8, 9};
  const Batch batch =
      BatchBuilder().add(sliced(number_array<int16_t>("x", values), 1)).slice(1, 5).build();
  CHECK_EQ(batch.num_rows(), 5);
  CHECK_EQ(batch.column(0).values<int16_t>()[0], 2);
  CHECK(batch.column(0).is_valid(0));
  CHECK(!batch.column(0).is_valid(1));
  CHECK_EQ(batch.column(0).values<int16_t>()[2], 4);
}

TEST(validity_is_read_from_any_bit_on) {
  Random random(1);
  std::vector<std::optional<bool>> values;
  for (int i = 0; i < 200; ++i) {
    values.push_back(below(random, 3) == 0 ? std::nullopt : std::optional(below(random, 2) == 0));
  }
  const Batch batch = BatchBuilder().bools("b", values).build();
  const Column& column = batch.column(0);
  for (int64_t begin = 0; begin < 20; ++begin) {
    for (int64_t count = 0; begin + count <= 200; count += 7) {
      std::vector<uint8_t> valid(static_cast<size_t>(count));
      std::vector<uint8_t> bits(static_cast<size_t>(count));
      column.read_validity(begin, count, valid.data());
      column.read_bools(begin, count, bits.data());
      for (size_t i = 0; i < valid.size(); ++i) {
        const auto& value = values[static_cast<size_t>(begin) + i];
        CHECK_EQ(valid[i] == 1, value.has_value());
        if (value) CHECK_EQ(bits[i] == 1, *value);
      }
    }
  }
}

TEST(a_null_count_of_zero_hides_the_bitmap) {
  ArrayData data = number_array<int32_t>("x", {1, std::nullopt, 3});
  data.null_count = 0;
  CHECK(!BatchBuilder().add(data).build().column(0).has_nulls());
  data.null_count = -1;
  CHECK(BatchBuilder().add(data).build().column(0).has_nulls());
  data.null_count = 1;
  data.buffers[0].reset();
  CHECK(!BatchBuilder().add(data).build().column(0).has_nulls());
}

TEST(null_rows_of_the_struct_are_refused) {
  BatchBuilder builder;
  builder.ints<int32_t>("x", {1, 2, 3});
  builder.root().buffers[0] = pack_bits({true, false, true});
  builder.root().null_count = -1;
  CHECK_THROWS(builder.build(), ErrorKind::kUser);
  builder.slice(2, 1);  // The null row is outside.
  CHECK_EQ(builder.build().num_rows(), 1);
}

TEST(types_that_are_not_supported_are_refused_when_asked_for) {
  for (const char* format : {"d:40,2,256", "n", "e", "z", "+l", "tiM", "w:4"}) {
    ArrayData odd = number_array<int64_t>("odd", {1});
    odd.format = format;
    const Batch batch = BatchBuilder().add(odd).ints<int8_t>("x", {7}).build();
    CHECK_EQ(batch.column(1).values<int8_t>()[0], 7);
    CHECK_THROWS(batch.column(0), ErrorKind::kUser);
    try {
      batch.column(0);
    } catch (const Error& error) {
      CHECK(std::string_view(error.what()).find("odd") != std::string_view::npos);
      CHECK(std::string_view(error.what()).find(format) != std::string_view::npos);
    }
  }
  const ArrayData of_ints = dictionary_array<int8_t>("d", {0}, number_array<int64_t>("", {5}));
  CHECK_THROWS(BatchBuilder().add(of_ints).build().column(0), ErrorKind::kUser);
}

TEST(a_batch_that_contradicts_itself_is_refused) {
  CHECK_THROWS(BatchBuilder().ints<int8_t>("x", {1, 2}).slice(1, 2).build(), ErrorKind::kData);
  ArrayData lacking = number_array<int8_t>("x", {1, 2});
  lacking.buffers[1].reset();
  CHECK_THROWS(BatchBuilder().add(lacking).build(), ErrorKind::kData);
  lacking.buffers.pop_back();
  CHECK_THROWS(BatchBuilder().add(lacking).build(), ErrorKind::kData);
}

TEST(strings_of_every_layout_read_the_same) {
  Strings strings(kTexts.begin(), kTexts.end());
  strings.insert(strings.begin() + 3, std::nullopt);
  for (const auto layout : {StringLayout::kPlain, StringLayout::kLarge, StringLayout::kView}) {
    const Batch batch = BatchBuilder().add(sliced(string_array("s", strings, layout), 1)).build();
    for (size_t i = 1; i < strings.size(); ++i) {
      const auto row = static_cast<int64_t>(i) - 1;
      CHECK_EQ(batch.column(0).is_valid(row), strings[i].has_value());
      if (strings[i]) CHECK(batch.column(0).string_at(row) == *strings[i]);
    }
  }
}

TEST(a_dictionary_row_is_null_by_index_or_by_value) {
  const ArrayData values = string_array("", {"skipped", "a", std::nullopt, "b"});
  const Batch batch =
      BatchBuilder()
          .add(dictionary_array<uint16_t>("d", {0, 1, std::nullopt, 2}, sliced(values, 1)))
          .build();
  const Column& column = batch.column(0);
  CHECK(column.string_at(0) == "a");
  CHECK(!column.is_valid(1));
  CHECK(!column.is_valid(2));
  CHECK(column.string_at(3) == "b");
  CHECK_EQ(compare_with(Op::kEq, "b", ValueType::kString, batch), std::string("F??T"));
}

TEST(an_index_outside_its_dictionary_is_refused_with_its_row) {
  for (const int32_t bad : {-1, 2, 1 << 30}) {
    const Batch batch =
        BatchBuilder()
            .add(dictionary_array<int32_t>("d", {0, 1, bad, 0}, string_array("", {"a", "b"})))
            .build();
    CHECK_THROWS(compare_with(Op::kEq, "b", ValueType::kString, batch), ErrorKind::kData);
    try {
      compare_with(Op::kEq, "b", ValueType::kString, batch);
    } catch (const Error& error) {
      CHECK(error.row == 2);
    }
  }
}

TEST(a_large_dictionary_with_few_rows_is_not_coded_as_a_whole) {
  Strings entries;
  for (int i = 0; i < 5000; ++i) entries.push_back("entry " + std::to_string(i));
  const Batch batch =
      BatchBuilder()
          .add(dictionary_array<int32_t>("d", {4999, std::nullopt, 17}, string_array("", entries)))
          .build();
  StringCodes codes;
  codes.start_batch(batch.column(0));
  uint32_t out[3];
  codes.encode(batch.column(0), 0, 3, out);
  CHECK_EQ(codes.interner().size(), 3u);
  CHECK_EQ(out[1], StringInterner::kNullCode);
  CHECK(codes.interner().text(out[0]) == "entry 4999");
}

// --- strings
// --------------------------------------------------------------------------------------

TEST(like_matches_as_sql_says) {
  CHECK(like("", ""));
  CHECK(like("", "%"));
  CHECK(!like("", "_"));
  CHECK(like("abc", "abc"));
  CHECK(!like("abc", "ab"));
  CHECK(!like("ab", "abc"));
  CHECK(like("abc", "a%"));
  CHECK(like("abc", "%%c"));
  CHECK(like("abc", "_b_"));
  CHECK(!like("abc", "__"));
  CHECK(like("mississippi", "%iss%ip%"));
  CHECK(!like("mississippi", "%iss%ipx%"));
  CHECK(like("é", "_"));
  CHECK(!like("é", "__"));
  CHECK(like("日本語", "_本%"));
  CHECK(like("🙂", "_"));
  CHECK(!like("aé", "%___"));
}

TEST(like_takes_what_follows_a_backslash_as_it_is) {
  CHECK(like("100%", "100\\%"));
  CHECK(!like("1000", "100\\%"));
  CHECK(like("a_b", "a\\_b"));
  CHECK(!like("axb", "a\\_b"));
  CHECK(like("a\\b", "a\\\\b"));
  CHECK(like("ab", "\\a\\b"));
  CHECK(like("a\\", "a\\"));
  CHECK(like("\\%x", "\\\\\\%_"));
}

TEST(like_has_no_exponential_time) {
  const std::string text(5000, 'a');
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "%a_";
  CHECK(!like(text, pattern + "%b"));
  CHECK(like(text, pattern + "%"));
}

TEST(like_agrees_with_its_definition) {
  Random random(2);
  const char* letters[] = {"a", "b", "é", "%", "_", "\\"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    std::string pattern;
    for (int64_t n = below(random, 8); n > 0; --n) text += letters[below(random, 6)];
    for (int64_t n = below(random, 7); n > 0; --n) pattern += letters[below(random, 6)];
    if (like(text, pattern) != naive_like(text, pattern)) {
      std::cout << "like('" << text << "', '" << pattern << "')\n";
      CHECK(false);
    }
  }
}

TEST(the_interner_tells_strings_of_all_lengths_apart) {
  StringInterner interner;
  std::map<std::string, uint32_t> codes;
  for (int round = 0; round < 2; ++round) {
    for (size_t length = 0; length < 70; ++length) {
      for (size_t changed = 0; changed <= length; ++changed) {
        std::string text(length, '\0');
        if (changed < length) text[changed] = 'x';
        const auto exact = std::make_unique<char[]>(length);  // Reads beyond it are seen.
        std::copy(text.begin(), text.end(), exact.get());
        const uint32_t code = interner.code({exact.get(), length});
        CHECK_EQ(code, codes.try_emplace(text, code).first->second);
        const std::string padded = text + "0123456789abcdef";
        CHECK_EQ(code, interner.code({padded.data(), length}, padded.data() + padded.size()));
        CHECK(interner.text(code) == text);
      }
    }
  }
  CHECK_EQ(interner.size(), codes.size() + 1);
}

TEST(the_interner_starts_over_between_batches_only) {
  StringInterner interner(10);
  for (int i = 0; i < 1000; ++i) {
    CHECK_EQ(interner.code(std::to_string(i)), static_cast<uint32_t>(i + 1));
  }
  CHECK_EQ(interner.generation(), 0u);
  interner.start_batch();
  CHECK_EQ(interner.generation(), 1u);
  CHECK_EQ(interner.size(), 1u);
  CHECK_EQ(interner.code("7"), 1u);
  interner.start_batch();
  CHECK_EQ(interner.generation(), 1u);
  CHECK_EQ(interner.code("7"), 1u);
}

TEST(conditions_hold_after_the_interner_started_over) {
  ProgramBuilder builder;
  const uint32_t left = builder.column(ValueType::kString, 0);
  const uint32_t right = builder.literal("77", ValueType::kString);
  builder.guard(builder.op(Op::kEq, ValueType::kBool, left, right));
  ClassTrie trie(1, 4);
  Classifier classifier(builder.program, trie);
  for (int round = 0; round < 4; ++round) {
    Strings strings;
    for (int i = 0; i < 70000; ++i) strings.push_back(std::to_string(i ^ (round * 3)));
    const Batch batch = BatchBuilder().strings("s", strings).build();
    std::vector<ClassId> classes(strings.size());
    classifier.classify(batch, 0, batch.num_rows(), classes.data());
    for (size_t i = 0; i < classes.size(); ++i) {
      CHECK_EQ(trie.satisfies(classes[i], 0), strings[i] == "77");
    }
  }
}

// --- programs
// -------------------------------------------------------------------------------------

TEST(programs_that_are_wrong_are_refused) {
  const Node number = literal_node(int64_t{1}, ValueType::kInt);
  const Node text = literal_node("a", ValueType::kString);
  const auto refused = [&](std::vector<Node> nodes, std::vector<uint32_t> guards = {}) {
    CHECK_THROWS((Program{nodes, guards, {}, {}, 2}.validate()), ErrorKind::kUser);
  };
  refused({operator_node(Op::kEq, ValueType::kBool, 0, 0)});
  refused({number, operator_node(Op::kEq, ValueType::kBool, 0, 1)});
  refused({number, text, operator_node(Op::kEq, ValueType::kBool, 0, 1)});
  refused({number, operator_node(Op::kEq, ValueType::kInt, 0, 0)});
  refused({number, operator_node(Op::kDivide, ValueType::kInt, 0, 0)});
  refused({number, operator_node(Op::kAdd, ValueType::kWide, 0, 0)});
  refused({text, operator_node(Op::kAdd, ValueType::kString, 0, 0)});
  refused({number, operator_node(Op::kNot, ValueType::kBool, 0)});
  refused({number, operator_node(Op::kLike, ValueType::kBool, 0)});
  refused({text, operator_node(Op::kToFloat, ValueType::kFloat, 0)});
  refused({column_node(ValueType::kInt, 2)});
  refused({number}, {0});
  refused({number}, {1});
  Program fine{{number, operator_node(Op::kEq, ValueType::kBool, 0, 0)}, {1}, {}, {}, 0};
  fine.validate();
}

TEST(comparisons_with_nulls_and_nan) {
  const Batch ints = BatchBuilder().ints<int64_t>("x", {1, 2, std::nullopt, 3}).build();
  CHECK_EQ(compare_with(Op::kLt, int64_t{2}, ValueType::kInt, ints), std::string("TF?F"));
  CHECK_EQ(compare_with(Op::kNe, int64_t{2}, ValueType::kInt, ints), std::string("TF?T"));
  CHECK_EQ(compare_with(Op::kEq, Cell(), ValueType::kInt, ints), std::string("????"));
  const Batch floats = BatchBuilder().doubles("x", {kNaN, -0.0, std::nullopt, kInfinity}).build();
  CHECK_EQ(compare_with(Op::kEq, 0.0, ValueType::kFloat, floats), std::string("FT?F"));
  CHECK_EQ(compare_with(Op::kNe, 0.0, ValueType::kFloat, floats), std::string("TF?T"));
  CHECK_EQ(compare_with(Op::kGe, 0.0, ValueType::kFloat, floats), std::string("FT?T"));
  CHECK_EQ(compare_with(Op::kNe, kNaN, ValueType::kFloat, floats), std::string("TT?T"));
}

TEST(uint64_beyond_int64_compares_by_value) {
  const Batch batch =
      BatchBuilder().ints<uint64_t>("x", {1, uint64_t{1} << 63, ~uint64_t{0}}).build();
  const Wide half = static_cast<Wide>(uint64_t{1} << 63);
  CHECK_EQ(compare_with(Op::kGe, half, ValueType::kWide, batch), std::string("FTT"));
  CHECK_EQ(compare_with(Op::kGt, Wide{-1}, ValueType::kWide, batch), std::string("TTT"));
  CHECK_EQ(compare_with(Op::kEq, half * 2 - 1, ValueType::kWide, batch), std::string("FFT"));
}

TEST(integer_overflow_and_division_by_zero_give_null) {
  const Batch batch = BatchBuilder()
                          .ints<int64_t>("x", {kIntMax, kIntMin, -7, 7})
                          .ints<int64_t>("y", {1, -1, 0, -2})
                          .build();
  // Which results are null, for each operator; and the sign of the remainder.
  const auto nulls = [&](Op op) {
    ProgramBuilder builder;
    const uint32_t x = builder.column(ValueType::kInt, 0);
    const uint32_t y = builder.column(ValueType::kInt, 1);
    const uint32_t result = builder.op(op, ValueType::kInt, x, y);
    const uint32_t null = builder.op(Op::kIsNull, ValueType::kBool, result);
    return truth_letters(builder.program, null, batch);
  };
  CHECK_EQ(nulls(Op::kAdd), std::string("TTFF"));
  CHECK_EQ(nulls(Op::kSubtract), std::string("FFFF"));
  CHECK_EQ(nulls(Op::kMultiply), std::string("FTFF"));
  CHECK_EQ(nulls(Op::kModulo), std::string("FFTF"));
  CHECK_EQ(nulls(Op::kNegate), std::string("FTFF"));
  ProgramBuilder builder;
  const uint32_t x = builder.column(ValueType::kInt, 0);
  const uint32_t four = builder.literal(int64_t{4}, ValueType::kInt);
  const uint32_t rest = builder.op(Op::kModulo, ValueType::kInt, x, four);
  const uint32_t expected = builder.literal(int64_t{-3}, ValueType::kInt);
  const uint32_t equal = builder.op(Op::kEq, ValueType::kBool, rest, expected);
  CHECK_EQ(truth_letters(builder.program, equal, batch), std::string("FFTF"));
}

TEST(a_null_in_a_set_makes_what_is_not_found_unknown) {
  const Batch batch = BatchBuilder()
                          .ints<int32_t>("x", {1, 5, std::nullopt})
                          .strings("s", {"a", "z", std::nullopt})
                          .build();
  ProgramBuilder builder;
  Node in_ints = operator_node(Op::kIn, ValueType::kBool, builder.column(ValueType::kInt, 0));
  in_ints.int_set = {3, 1};
  in_ints.is_null = true;
  const uint32_t ints = builder.add(in_ints);
  Node in_texts = operator_node(Op::kIn, ValueType::kBool, builder.column(ValueType::kString, 1));
  in_texts.string_set = {"b", "a"};
  in_texts.is_null = true;
  const uint32_t texts = builder.add(in_texts);
  CHECK_EQ(truth_letters(builder.program, ints, batch), std::string("T??"));
  CHECK_EQ(truth_letters(builder.program, texts, batch), std::string("T??"));
}

TEST(strings_compare_by_bytes_with_literals_on_either_side) {
  const Batch batch = BatchBuilder().strings("s", {"a", "b", "é", "", std::nullopt}).build();
  CHECK_EQ(compare_with(Op::kGt, "a", ValueType::kString, batch), std::string("FTTF?"));
  CHECK_EQ(compare_with(Op::kLe, "z", ValueType::kString, batch), std::string("TTFT?"));
  CHECK_EQ(compare_with(Op::kEq, Cell(), ValueType::kString, batch), std::string("?????"));
  ProgramBuilder builder;
  const uint32_t literal = builder.literal("a", ValueType::kString);
  const uint32_t column = builder.column(ValueType::kString, 0);
  const uint32_t less = builder.op(Op::kLt, ValueType::kBool, literal, column);
  CHECK_EQ(truth_letters(builder.program, less, batch), std::string("FTTF?"));
}

TEST(columns_that_do_not_fit_the_program_are_refused) {
  const Batch batch =
      BatchBuilder().ints<int32_t>("i", {1}).strings("s", {"a"}).ints<uint64_t>("u", {1}).build();
  const auto use = [&](ValueType type, uint32_t column, const Cell& literal) {
    ProgramBuilder builder;
    const uint32_t left = builder.column(type, column);
    const uint32_t right = builder.literal(literal, type);
    builder.guard(builder.op(Op::kEq, ValueType::kBool, left, right));
    return guard_bits(builder.program, batch);
  };
  CHECK_EQ(use(ValueType::kInt, 0, int64_t{1})[0], std::string("1"));
  CHECK_THROWS(use(ValueType::kString, 0, "a"), ErrorKind::kUser);
  CHECK_THROWS(use(ValueType::kBool, 0, true), ErrorKind::kUser);
  CHECK_THROWS(use(ValueType::kInt, 1, int64_t{1}), ErrorKind::kUser);
  CHECK_THROWS(use(ValueType::kInt, 2, int64_t{1}), ErrorKind::kUser);
  CHECK_THROWS(use(ValueType::kFloat, 2, 1.0), ErrorKind::kUser);
  CHECK_THROWS(use(ValueType::kInt, 3, int64_t{1}), ErrorKind::kUser);
  CHECK_THROWS(use(ValueType::kString, 3, "a"), ErrorKind::kUser);
}

TEST(random_programs_agree_with_the_naive_evaluator) {
  Random random(3);
  const size_t sizes[] = {0, 1, 7, 63, 64, 65, 300, 1023, 1024, 1025, 2100};
  for (int round = 0; round < 60; ++round) {
    // Two batches of one classifier: what is kept between batches must not show.
    const RandomTable first = random_table(random, sizes[below(random, 11)]);
    const RandomTable second = random_table(random, sizes[below(random, 11)]);
    const Program program = RandomProgram(random, first.types).program();
    ClassTrie trie(static_cast<uint32_t>(program.guards.size()), 1 << 20);
    Classifier classifier(program, trie);
    check_program(random, program, classifier, trie, first);
    check_program(random, program, classifier, trie, second);
  }
}

// --- classes
// --------------------------------------------------------------------------------------

TEST(classes_are_numbered_as_they_appear) {
  for (const uint32_t guards : {1u, 8u, 9u, 70u}) {
    Random random(guards);
    ClassTrie trie(guards, 5000);
    std::map<std::vector<bool>, ClassId> expected;
    for (int i = 0; i < 4000; ++i) {
      std::vector<bool> bits(guards);
      for (uint32_t guard = 0; guard < guards; ++guard) bits[guard] = below(random, 4) == 0;
      const auto next = static_cast<ClassId>(expected.size());
      const ClassId cls = expected.try_emplace(bits, next).first->second;
      CHECK_EQ(trie.class_of(bits), cls);
      for (uint32_t guard = 0; guard < guards; ++guard) {
        CHECK_EQ(trie.satisfies(cls, guard), bits[guard]);
      }
    }
    CHECK_EQ(trie.num_classes(), expected.size());
  }
}

TEST(without_guards_there_is_one_class) {
  ClassTrie trie(0, 1);
  CHECK_EQ(trie.num_classes(), 1u);
  Classifier classifier(Program(), trie);
  const Batch batch = BatchBuilder().slice(0, 1500).build();
  std::vector<ClassId> classes(1500, 9);
  classifier.classify(batch, 0, 1500, classes.data());
  CHECK(classes == std::vector<ClassId>(1500, 0));
}

TEST(too_many_classes_are_refused_and_the_known_ones_stay) {
  ClassTrie trie(9, 3);
  const auto bits = [](int i) {
    std::vector<bool> all(9, false);
    all[static_cast<size_t>(i)] = true;
    return all;
  };
  for (int i = 0; i < 3; ++i) CHECK_EQ(trie.class_of(bits(i)), static_cast<ClassId>(i));
  for (int again = 0; again < 2; ++again) {
    CHECK_THROWS(trie.class_of(bits(8)), ErrorKind::kLimit);
    CHECK_THROWS(trie.class_of(bits(3)), ErrorKind::kLimit);
  }
  CHECK_EQ(trie.class_of(bits(2)), 2u);
  CHECK_EQ(trie.num_classes(), 3u);
}

TEST(classes_keep_their_numbers_when_types_change) {
  ClassTrie trie(1, 10);
  const auto classify = [&](ValueType type, const Cell& limit, const Batch& batch) {
    ProgramBuilder builder;
    const uint32_t left = builder.column(type, 0);
    const uint32_t right = builder.literal(limit, type);
    builder.guard(builder.op(Op::kLt, ValueType::kBool, left, right));
    std::vector<ClassId> classes(static_cast<size_t>(batch.num_rows()));
    Classifier(builder.program, trie).classify(batch, 0, batch.num_rows(), classes.data());
    return classes;
  };
  const Batch ints = BatchBuilder().ints<int32_t>("x", {9, 1}).build();
  const Batch floats = BatchBuilder().doubles("x", {1.0, 9.0}).build();
  CHECK(classify(ValueType::kInt, int64_t{5}, ints) == (std::vector<ClassId>{0, 1}));
  CHECK(classify(ValueType::kFloat, 5.0, floats) == (std::vector<ClassId>{1, 0}));
}

// --- clocks and keys
// ------------------------------------------------------------------------------

TEST(clocks_are_read_from_any_integer_type) {
  const Batch batch = BatchBuilder()
                          .ints<int8_t>("a", {-1, 2, 3})
                          .ints<uint32_t>("b", {1, 2, ~uint32_t{0}})
                          .add(number_array<int64_t>("c", {5, 6, 7}, "tsn:"))
                          .ints<uint64_t>("d", {1, 2, 3})
                          .build();
  const int64_t last[] = {3, 0xffffffff, 7, 3};
  for (size_t column = 0; column < 4; ++column) {
    int64_t out[2] = {};
    read_clock_int(batch.column(column), 1, 2, out);
    CHECK_EQ(out[1], last[column]);
  }
}

TEST(clocks_that_are_no_times_are_refused_with_their_row) {
  const Batch batch = BatchBuilder()
                          .ints<int64_t>("null", {1, 2, 3, std::nullopt})
                          .ints<uint64_t>("large", {1, 2, 3, ~uint64_t{0}})
                          .doubles("nan", {1, 2, 3, kNaN})
                          .doubles("null float", {1, 2, 3, std::nullopt})
                          .strings("text", {"a", "b", "c", "d"})
                          .build();
  int64_t ints[4];
  double floats[4];
  for (const size_t column : {0u, 1u, 2u, 3u}) {
    const bool is_int = column < 2;
    const auto read = [&](int64_t begin, int64_t count) {
      is_int ? read_clock_int(batch.column(column), begin, count, ints)
             : read_clock_float(batch.column(column), begin, count, floats);
    };
    read(0, 3);
    try {
      read(1, 3);
      CHECK(false);
    } catch (const Error& error) {
      CHECK(error.kind == ErrorKind::kData);
      CHECK(error.row == 3);
    }
  }
  CHECK_THROWS(read_clock_int(batch.column(4), 0, 1, ints), ErrorKind::kUser);
  CHECK_THROWS(read_clock_float(batch.column(4), 0, 1, floats), ErrorKind::kUser);
}

TEST(keys_are_equal_when_values_are) {
  const Batch batch = BatchBuilder()
                          .ints<int8_t>("i8", {-1, 1})
                          .ints<int64_t>("i64", {-1, 1})
                          .ints<uint64_t>("u64", {~uint64_t{0}, 1})
                          .doubles("f64", {-0.0, kNaN})
                          .add(number_array<float>("f32", {0.0f, -std::nanf("1")}))
                          .bools("b", {true, false})
                          .strings("s", {"a", "bb"})
                          .add(dictionary_array<int8_t>("d", {1, 0}, string_array("", {"bb", "a"})))
                          .build();
  for (const int64_t row : {0, 1}) {
    CHECK(key_of(batch, row, {0}) == key_of(batch, row, {1}));
    CHECK(key_of(batch, row, {3}) == key_of(batch, row, {4}));
    CHECK(key_of(batch, row, {6}) == key_of(batch, row, {7}));
  }
  CHECK(key_of(batch, 1, {1}) == key_of(batch, 1, {2}));
  CHECK(key_of(batch, 0, {1}) != key_of(batch, 0, {2}));
  CHECK(key_of(batch, 0, {5}) != key_of(batch, 1, {5}));
  CHECK(key_of(batch, 1, {5}) != key_of(batch, 1, {1}));
}

TEST(keys_are_numbers_by_value_whatever_their_type) {
  const Batch batch = BatchBuilder()
                          .ints<int16_t>("i16", {3, -4})
                          .add(number_array<float>("f32", {3.0f, -4.0f}))
                          .add(number_array<Wide>("decimal", {300, -400}, "d:10,2"))
                          .doubles("f64", {0x1p63, -0x1p63})
                          .ints<uint64_t>("u64", {uint64_t{1} << 63, 0})
                          .ints<int64_t>("i64", {0, std::numeric_limits<int64_t>::min()})
                          .doubles("past 64 bits", {0x1p64, 1e300})
                          .bools("b", {true, false})
                          .build();
  for (const int64_t row : {0, 1}) {
    CHECK(key_of(batch, row, {0}) == key_of(batch, row, {1}));
    CHECK(key_of(batch, row, {0}) == key_of(batch, row, {2}));
    CHECK(key_of(batch, row, {6}) != key_of(batch, row, {4}));
    CHECK(key_of(batch, row, {7}) != key_of(batch, row, {0}));
  }
  CHECK(key_of(batch, 0, {3}) == key_of(batch, 0, {4}));
  CHECK(key_of(batch, 1, {3}) == key_of(batch, 1, {5}));
}

TEST(keys_are_times_by_instant_whatever_their_unit) {
  const int64_t min = std::numeric_limits<int64_t>::min();
  const Batch batch =
      BatchBuilder()
          .add(number_array<int64_t>("s", {86'400, -1, 1}, "tss:"))
          .add(number_array<int64_t>("ms", {86'400'000, -1'000, min}, "tsm:"))
          .add(number_array<int64_t>("ns", {86'400'000'000'000, -1'000'000'000, 1}, "tsn:"))
          .add(number_array<int32_t>("days", {1, 0, 0}, "tdD"))
          .add(number_array<int64_t>("ms of days", {86'400'000, 0, 0}, "tdm"))
          .add(number_array<int64_t>("zoned", {86'400, -1, 1}, "tss:UTC"))
          .add(number_array<int64_t>("length", {86'400, -1, 1}, "tDs"))
          .ints<int64_t>("number", {86'400, -1, 1})
          .build();
  for (const uint32_t column : {1, 2, 3, 4}) {
    CHECK(key_of(batch, 0, {column}) == key_of(batch, 0, {0}));
  }
  for (const uint32_t column : {1, 2}) {
    CHECK(key_of(batch, 1, {column}) == key_of(batch, 1, {0}));
    CHECK(key_of(batch, 2, {column}) != key_of(batch, 2, {0}));
  }
  for (const uint32_t column : {5, 6, 7}) {
    CHECK(key_of(batch, 0, {column}) != key_of(batch, 0, {0}));
  }
}

TEST(keys_are_strings_by_their_text_whatever_their_layout) {
  const Batch batch =
      BatchBuilder()
          .strings("plain", {"a", "a text of more than 12 bytes"})
          .add(string_array("large", {"a", "a text of more than 12 bytes"}, StringLayout::kLarge))
          .add(string_array("view", {"a", "a text of more than 12 bytes"}, StringLayout::kView))
          .build();
  for (const int64_t row : {0, 1}) {
    CHECK(key_of(batch, row, {0}) == key_of(batch, row, {1}));
    CHECK(key_of(batch, row, {0}) == key_of(batch, row, {2}));
  }
}

TEST(keys_of_several_columns_do_not_run_into_each_other) {
  const Batch batch = BatchBuilder()
                          .strings("s", {"a", "ab", "", "x"})
                          .strings("t", {"bc", "c", "abc", std::nullopt})
                          .build();
  CHECK(key_of(batch, 0, {0, 1}) != key_of(batch, 1, {0, 1}));
  CHECK(key_of(batch, 1, {0, 1}) != key_of(batch, 2, {0, 1}));
  std::string key;
  CHECK(!KeyEncoder({0, 1}).encode(batch, 3, key));
  CHECK(KeyEncoder({}).encode(batch, 3, key = ""));
  CHECK(key.empty());
}
