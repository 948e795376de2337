#include "columns/classifier.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "base/error.h"

namespace catena {
namespace {

// Literal operands may be null; then nothing compared with them is known.
bool is_null_literal(const Node& node) { return node.op == Op::kLiteral && node.is_null; }

template <typename From>
void widen(const Column& column, int64_t begin, int64_t count, int64_t* out) {
  const From* values = column.values<From>() + begin;
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<int64_t>(values[i]);
}

void load_ints(const Column& column, int64_t begin, int64_t count, int64_t* out) {
  switch (column.type()) {
    case PhysicalType::kInt8:
      return widen<int8_t>(column, begin, count, out);
    case PhysicalType::kInt16:
      return widen<int16_t>(column, begin, count, out);
    case PhysicalType::kInt32:
      return widen<int32_t>(column, begin, count, out);
    case PhysicalType::kInt64:
      return widen<int64_t>(column, begin, count, out);
    case PhysicalType::kUInt8:
      return widen<uint8_t>(column, begin, count, out);
    case PhysicalType::kUInt16:
      return widen<uint16_t>(column, begin, count, out);
    case PhysicalType::kUInt32:
      return widen<uint32_t>(column, begin, count, out);
    default:
      assert(false && "checked by check_columns");
  }
}

void load_floats(const Column& column, int64_t begin, int64_t count, double* out) {
  if (column.type() == PhysicalType::kFloat64) {
    std::copy_n(column.values<double>() + begin, count, out);
    return;
  }
  const float* values = column.values<float>() + begin;
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<double>(values[i]);
}

void load_wides(const Column& column, int64_t begin, int64_t count, Wide* out) {
  const uint64_t* values = column.values<uint64_t>() + begin;
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<Wide>(values[i]);
}

// Whether a column can be loaded as a value of this type.
bool fits(ValueType type, PhysicalType column) {
  switch (type) {
    case ValueType::kBool:
      return column == PhysicalType::kBool;
    case ValueType::kInt:
      return is_integer(column) && column != PhysicalType::kUInt64;
    case ValueType::kWide:
      return column == PhysicalType::kUInt64;
    case ValueType::kFloat:
      return is_float(column);
    case ValueType::kString:
      return is_string(column);
  }
  return false;
}

uint8_t compare_texts(Op op, const Column& left, const Column& right, int64_t row) {
  if (!left.is_valid(row) || !right.is_valid(row)) return kUnknown;
  return holds(op, left.string_at(row).compare(right.string_at(row))) ? kTrue : kFalse;
}

}  // namespace

template <>
std::vector<int64_t>& Classifier::values_of(Buffer& buffer) {
  return buffer.ints;
}
template <>
std::vector<Wide>& Classifier::values_of(Buffer& buffer) {
  return buffer.wides;
}
template <>
std::vector<double>& Classifier::values_of(Buffer& buffer) {
  return buffer.floats;
}
template <>
std::vector<uint8_t>& Classifier::values_of(Buffer& buffer) {
  return buffer.truth;
}

Classifier::Classifier(Program program, ClassTrie& classes)
    : program_(std::move(program)), classes_(classes) {
  program_.validate();
  for (Node& node : program_.nodes) {
    std::ranges::sort(node.int_set);
    std::ranges::sort(node.wide_set);
    std::erase_if(node.float_set, [](double value) { return value != value; });
    std::ranges::sort(node.float_set);
  }
  buffers_.resize(program_.nodes.size());
  truths_.resize(program_.nodes.size());
  of_run_ = program_.depends_on_run();
  find_row_values();
  for (size_t i = 0; i < program_.nodes.size(); ++i) {
    if (of_run_[i]) continue;
    allocate(i);
    if (program_.nodes[i].op == Op::kLiteral) fill_literal(i);
  }
  packed_.resize(static_cast<size_t>(kChunkRows) * classes_.byte_count());
  find_code_column();
}

void Classifier::allocate(size_t index) {
  const Node& node = program_.nodes[index];
  Buffer& buffer = buffers_[index];
  const auto rows = static_cast<size_t>(kChunkRows);
  if (node.type == ValueType::kBool) buffer.truth.resize(rows);
  if (node.type == ValueType::kInt) buffer.ints.resize(rows);
  if (node.type == ValueType::kWide) buffer.wides.resize(rows);
  if (node.type == ValueType::kFloat) buffer.floats.resize(rows);
  buffer.valid.resize(rows, 1);
  if (!is_code_test(node)) return;
  const bool flips = is_comparison(node.op) && is_literal(node.left);
  const Node& tested = program_.nodes[flips ? node.right : node.left];
  const Node& with = is_comparison(node.op) ? program_.nodes[flips ? node.left : node.right] : node;
  truths_[index] =
      std::make_unique<StringTruth>(StringTest(flips ? flip_comparison(node.op) : node.op, with));
  if (columns_.size() <= tested.column) columns_.resize(tested.column + 1);
  if (!columns_[tested.column]) {
    columns_[tested.column] = std::make_unique<ColumnCodes>();
    columns_[tested.column]->of_row.resize(rows);
  }
}

// A condition on one string column and literals only.
bool Classifier::is_code_test(const Node& node) const {
  if (node.type != ValueType::kBool) return false;
  const auto is_column = [&](uint32_t i) { return program_.nodes[i].op == Op::kColumn; };
  const auto is_text = [&](uint32_t i) { return program_.nodes[i].type == ValueType::kString; };
  if (node.op == Op::kIn || node.op == Op::kLike) return is_text(node.left) && is_column(node.left);
  if (!is_comparison(node.op) || !is_text(node.left)) return false;
  return is_column(node.left) != is_column(node.right);
}

void Classifier::fill_literal(size_t index) {
  const Node& node = program_.nodes[index];
  Buffer& buffer = buffers_[index];
  const uint8_t truth = node.is_null ? kUnknown : node.bool_value ? kTrue : kFalse;
  std::ranges::fill(buffer.truth, truth);
  std::ranges::fill(buffer.ints, node.int_value);
  std::ranges::fill(buffer.wides, node.wide_value);
  std::ranges::fill(buffer.floats, node.float_value);
  std::ranges::fill(buffer.valid, static_cast<uint8_t>(node.is_null ? 0 : 1));
  buffer.may_be_null = node.is_null;
}

void Classifier::classify(const Batch& batch, int64_t begin, int64_t count, ClassId* classes) {
  check_columns(batch);
  if (code_column_) return classify_by_code(batch, begin, count, classes);
  for (int64_t done = 0; done < count; done += kChunkRows) {
    const int64_t rows = std::min(kChunkRows, count - done);
    evaluate(batch, begin + done, rows);
    look_up_classes(rows, classes + done);
    if (!row_values_.nodes.empty()) give_out(batch, begin + done, rows, done);
  }
}

// Throws Error kUser unless the batch has the columns that the program was made for.
void Classifier::check_columns(const Batch& batch) {
  if (checked_batch_id_ == batch.id()) return;
  for (const Node& node : program_.nodes) {
    if (node.op != Op::kColumn) continue;
    if (node.column >= batch.num_columns()) {
      throw Error(ErrorKind::kUser, "the batch has " + std::to_string(batch.num_columns()) +
                                        " columns, and the program reads column " +
                                        std::to_string(node.column));
    }
    const Column& column = batch.column(node.column);
    if (!fits(node.type, column.type())) {
      throw Error(ErrorKind::kUser, "column '" + std::string(column.name()) +
                                        "' has another type than the program was made for");
    }
  }
  checked_batch_id_ = batch.id();
}

// Finds out whether all guards are tests of the codes of one column, or put together of such.
void Classifier::find_code_column() {
  const std::vector<Node>& nodes = program_.nodes;
  if (!row_values_.nodes.empty()) return;
  std::optional<uint32_t> found;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (node.op == Op::kColumn) {
      if (node.type != ValueType::kString || node.column != found.value_or(node.column)) return;
      found = node.column;
    } else if (!is_leaf(node.op) && !truths_[i]) {
      const bool reads_text = nodes[node.left].type == ValueType::kString;
      if (node.type != ValueType::kBool || reads_text) return;
    }
  }
  if (found && *found < columns_.size() && columns_[*found]) code_column_ = found;
}

void Classifier::start_batch(const Batch& batch, size_t column) {
  ColumnCodes& codes = *columns_[column];
  if (codes.batch_id == batch.id()) return;
  codes.codes.start_batch(batch.column(column));
  codes.batch_id = batch.id();
  if (code_column_ != column) return;
  cover_codes(batch);
  class_of_index_.clear();
  for (uint32_t code : codes.codes.by_index()) class_of_index_.push_back(class_of_code_[code]);
}

// Works out the classes of the codes that are new.
void Classifier::cover_codes(const Batch& batch) {
  ColumnCodes& column = *columns_[*code_column_];
  const StringInterner& interner = column.codes.interner();
  if (generation_ != interner.generation()) class_of_code_.clear();
  generation_ = interner.generation();
  while (class_of_code_.size() < interner.size()) {
    const auto known = static_cast<uint32_t>(class_of_code_.size());
    const int64_t count = std::min<int64_t>(kChunkRows, interner.size() - known);
    std::iota(column.of_row.begin(), column.of_row.begin() + count, known);
    evaluate_nodes(batch, 0, count);
    class_of_code_.resize(known + static_cast<size_t>(count));
    look_up_classes(count, class_of_code_.data() + known);
  }
}

void Classifier::classify_by_code(const Batch& batch, int64_t begin, int64_t count,
                                  ClassId* classes) {
  const Column& column = batch.column(*code_column_);
  start_batch(batch, *code_column_);
  if (!class_of_index_.empty()) {
    return StringCodes::look_up(column, begin, count, class_of_index_, classes);
  }
  columns_[*code_column_]->codes.encode(column, begin, count, classes);
  cover_codes(batch);
  for (int64_t i = 0; i < count; ++i) classes[i] = class_of_code_[classes[i]];
}

void Classifier::evaluate(const Batch& batch, int64_t begin, int64_t count) {
  for (size_t column = 0; column < columns_.size(); ++column) {
    if (!columns_[column]) continue;
    start_batch(batch, column);
    ColumnCodes& codes = *columns_[column];
    codes.codes.encode(batch.column(column), begin, count, codes.of_row.data());
  }
  evaluate_nodes(batch, begin, count);
}

void Classifier::evaluate_nodes(const Batch& batch, int64_t begin, int64_t count) {
  for (size_t i = 0; i < program_.nodes.size(); ++i) {
    if (!of_run_[i]) evaluate_node(i, batch, begin, count);
  }
}

void Classifier::evaluate_node(size_t index, const Batch& batch, int64_t begin, int64_t count) {
  const Node& node = program_.nodes[index];
  Buffer& out = buffers_[index];
  if (truths_[index]) return test_codes(index, batch, begin, count);
  switch (node.op) {
    case Op::kLiteral:
      return;
    case Op::kColumn:
      return load_column(node, out, batch, begin, count);
    case Op::kToFloat:
    case Op::kToWide:
      return convert(node, out, count);
    case Op::kIsNull:
      return find_nulls(node, out, batch, begin, count);
    case Op::kAnd:
    case Op::kOr:
    case Op::kNot:
    case Op::kIsTrue:
      return combine(node, out, count);
    default:
      break;
  }
  const bool of_strings = program_.nodes[node.left].type == ValueType::kString;
  if (of_strings) return compare_strings(node, out, batch, begin, count);
  if (is_comparison(node.op) || node.op == Op::kIn) return compare(node, out, count);
  compute(node, out, count);
}

void Classifier::load_column(const Node& node, Buffer& out, const Batch& batch, int64_t begin,
                             int64_t count) {
  if (node.type == ValueType::kString) return;  // Read where it is tested.
  const Column& column = batch.column(node.column);
  out.may_be_null = column.has_nulls();
  if (out.may_be_null) column.read_validity(begin, count, out.valid.data());
  if (node.type == ValueType::kInt) load_ints(column, begin, count, out.ints.data());
  if (node.type == ValueType::kWide) load_wides(column, begin, count, out.wides.data());
  if (node.type == ValueType::kFloat) load_floats(column, begin, count, out.floats.data());
  if (node.type != ValueType::kBool) return;
  column.read_bools(begin, count, out.truth.data());
  for (int64_t i = 0; i < count; ++i) out.truth[static_cast<size_t>(i)] *= kTrue;
  if (out.may_be_null) mask_invalid_blocks(out.valid.data(), count, out.truth.data());
}

void Classifier::test_codes(size_t index, const Batch&, int64_t, int64_t count) {
  const Node& node = program_.nodes[index];
  const uint32_t text = is_literal(node.left) ? node.right : node.left;
  const ColumnCodes& codes = *columns_[program_.nodes[text].column];
  const uint8_t* table = truths_[index]->table(codes.codes.interner()).data();
  uint8_t* truth = buffers_[index].truth.data();
  for (int64_t i = 0; i < count; ++i) truth[i] = table[codes.of_row[static_cast<size_t>(i)]];
}

// Two columns, or two literals.
void Classifier::compare_strings(const Node& node, Buffer& out, const Batch& batch, int64_t begin,
                                 int64_t count) {
  const Node& left = program_.nodes[node.left];
  const Node& with = is_comparison(node.op) ? program_.nodes[node.right] : node;
  if (left.op == Op::kLiteral) {
    const uint8_t truth = left.is_null ? kUnknown : StringTest(node.op, with)(left.string_value);
    std::fill_n(out.truth.begin(), count, truth);
    return;
  }
  const Column& column = batch.column(left.column);
  const Column& other = batch.column(with.column);
  for (int64_t i = 0; i < count; ++i) {
    out.truth[static_cast<size_t>(i)] = compare_texts(node.op, column, other, begin + i);
  }
}

template <typename T>
Operand<T> Classifier::operand(uint32_t index) {
  const Node& node = program_.nodes[index];
  std::vector<T>& values = values_of<T>(buffers_[index]);
  if (node.op == Op::kLiteral && !node.is_null) return {nullptr, values[0]};
  return {values.data(), T()};
}

template <typename T>
void Classifier::compare_as(const Node& node, Buffer& out, int64_t count) {
  const std::vector<T>& left = values_of<T>(buffers_[node.left]);
  if constexpr (!std::is_same_v<T, uint8_t>) {
    if (node.op == Op::kIn) {
      const std::vector<T>* set = nullptr;
      if constexpr (std::is_same_v<T, int64_t>) set = &node.int_set;
      if constexpr (std::is_same_v<T, Wide>) set = &node.wide_set;
      if constexpr (std::is_same_v<T, double>) set = &node.float_set;
      contains_blocks(left.data(), *set, count, out.truth.data());
      return;
    }
  }
  compare_blocks(node.op, left.data(), operand<T>(node.right), count, out.truth.data());
}

void Classifier::compare(const Node& node, Buffer& out, int64_t count) {
  const ValueType type = program_.nodes[node.left].type;
  if (type == ValueType::kInt) compare_as<int64_t>(node, out, count);
  if (type == ValueType::kWide) compare_as<Wide>(node, out, count);
  if (type == ValueType::kFloat) compare_as<double>(node, out, count);
  if (type == ValueType::kBool) compare_as<uint8_t>(node, out, count);
  if (node.op == Op::kIn && node.is_null) {  // What is not found may still equal the null.
    for (uint8_t& truth : out.truth) truth = std::max(truth, kUnknown);
  }
  const uint32_t operands[] = {node.left, node.op == Op::kIn ? node.left : node.right};
  for (uint32_t i : operands) {
    if (type == ValueType::kBool) {
      mask_unknown_blocks(buffers_[i].truth.data(), count, out.truth.data());
    } else if (buffers_[i].may_be_null) {
      mask_invalid_blocks(buffers_[i].valid.data(), count, out.truth.data());
    }
  }
}

template <typename T>
void Classifier::compute_as(const Node& node, Buffer& out, int64_t count) {
  const T* left = values_of<T>(buffers_[node.left]).data();
  T* values = values_of<T>(out).data();
  std::ranges::fill(out.valid, static_cast<uint8_t>(1));
  out.may_be_null = node.op == Op::kNegate
                        ? negate_blocks(left, count, values, out.valid.data())
                        : arithmetic_blocks(node.op, left, operand<T>(node.right), count, values,
                                            out.valid.data());
}

void Classifier::compute(const Node& node, Buffer& out, int64_t count) {
  if (node.type == ValueType::kInt) compute_as<int64_t>(node, out, count);
  if (node.type == ValueType::kWide) compute_as<Wide>(node, out, count);
  if (node.type == ValueType::kFloat) compute_as<double>(node, out, count);
  const uint32_t operands[] = {node.left, node.op == Op::kNegate ? node.left : node.right};
  for (uint32_t i : operands) {
    if (!buffers_[i].may_be_null) continue;
    out.may_be_null = true;
    for (size_t row = 0; row < static_cast<size_t>(count); ++row) {
      out.valid[row] &= buffers_[i].valid[row];
    }
  }
}

void Classifier::convert(const Node& node, Buffer& out, int64_t count) {
  Buffer& from = buffers_[node.left];
  const bool from_wide = program_.nodes[node.left].type == ValueType::kWide;
  if (node.op == Op::kToWide) convert_blocks(from.ints.data(), count, out.wides.data());
  if (node.op == Op::kToFloat && from_wide) {
    convert_blocks(from.wides.data(), count, out.floats.data());
  }
  if (node.op == Op::kToFloat && !from_wide) {
    convert_blocks(from.ints.data(), count, out.floats.data());
  }
  out.may_be_null = from.may_be_null;
  if (out.may_be_null) std::copy_n(from.valid.begin(), count, out.valid.begin());
}

void Classifier::find_nulls(const Node& node, Buffer& out, const Batch& batch, int64_t begin,
                            int64_t count) {
  const Node& of = program_.nodes[node.left];
  if (of.type == ValueType::kBool) {
    is_unknown_blocks(buffers_[node.left].truth.data(), count, out.truth.data());
  } else if (of.type == ValueType::kString && of.op == Op::kColumn) {
    batch.column(of.column).read_validity(begin, count, out.valid.data());
    is_invalid_blocks(out.valid.data(), count, out.truth.data());
  } else if (buffers_[node.left].may_be_null) {
    is_invalid_blocks(buffers_[node.left].valid.data(), count, out.truth.data());
  } else {
    std::fill_n(out.truth.begin(), count, is_null_literal(of) ? kTrue : kFalse);
  }
}

void Classifier::combine(const Node& node, Buffer& out, int64_t count) {
  const uint8_t* left = buffers_[node.left].truth.data();
  const uint8_t* right = buffers_[node.right].truth.data();
  if (node.op == Op::kAnd) and_blocks(left, right, count, out.truth.data());
  if (node.op == Op::kOr) or_blocks(left, right, count, out.truth.data());
  if (node.op == Op::kNot) not_blocks(left, count, out.truth.data());
  if (node.op == Op::kIsTrue) is_true_blocks(left, count, out.truth.data());
}

// The nodes of the row that nodes of the run, conditions and updates read. Literals are known.
void Classifier::find_row_values() {
  std::vector<uint32_t>& nodes = row_values_.nodes;
  const auto add = [&](uint32_t node) {
    if (!of_run_[node] && !is_literal(node)) nodes.push_back(node);
  };
  for (size_t i = 0; i < program_.nodes.size(); ++i) {
    const Node& node = program_.nodes[i];
    if (!of_run_[i] || is_leaf(node.op)) continue;
    add(node.left);
    if (!is_unary(node.op)) add(node.right);
  }
  for (uint32_t node : program_.conditions) add(node);
  for (uint32_t node : program_.updates) add(node);
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  row_values_.of_row.resize(nodes.size());
}

void Classifier::give_out(const Batch& batch, int64_t begin, int64_t count, int64_t first) {
  for (size_t i = 0; i < row_values_.nodes.size(); ++i) {
    std::vector<Value>& values = row_values_.of_row[i];
    const auto end = static_cast<size_t>(first + count);
    if (values.size() < end) values.resize(end);
    give_out_node(row_values_.nodes[i], batch, begin, count, values.data() + first);
  }
}

void Classifier::give_out_node(uint32_t index, const Batch& batch, int64_t begin, int64_t count,
                               Value* out) {
  const Node& node = program_.nodes[index];
  const Buffer& from = buffers_[index];
  for (int64_t i = 0; i < count; ++i) {
    const auto row = static_cast<size_t>(i);
    if (node.type == ValueType::kBool) {
      const uint8_t truth = from.truth[row];
      out[i] = truth == kUnknown ? Value::null() : Value::of_bool(truth == kTrue);
    } else if (node.type == ValueType::kString) {
      const Column& column = batch.column(node.column);
      out[i] =
          column.is_valid(begin + i) ? Value::of_text(column.string_at(begin + i)) : Value::null();
    } else if (from.may_be_null && from.valid[row] == 0) {
      out[i] = Value::null();
    } else if (node.type == ValueType::kInt) {
      out[i] = Value::of_int(from.ints[row]);
    } else if (node.type == ValueType::kWide) {
      out[i] = Value::of_wide(from.wides[row]);
    } else {
      out[i] = Value::of_float(from.floats[row]);
    }
  }
}

void Classifier::look_up_classes(int64_t count, ClassId* classes) {
  const uint32_t width = classes_.byte_count();
  std::fill_n(packed_.begin(), static_cast<size_t>(count) * width, uint8_t{0});
  for (size_t guard = 0; guard < program_.guards.size(); ++guard) {
    const uint8_t* truth = buffers_[program_.guards[guard]].truth.data();
    uint8_t* packed = packed_.data() + guard / 8;
    const auto shift = static_cast<int>(guard % 8);
    for (int64_t i = 0; i < count; ++i) {
      packed[static_cast<size_t>(i) * width] |= static_cast<uint8_t>((truth[i] >> 1) << shift);
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    classes[i] = classes_.class_of(packed_.data() + static_cast<size_t>(i) * width);
  }
}

}  // namespace catena
