// Predicate programs come from Python as one call per node; types and operators go by name.
#include <pybind11/stl.h>

#include <map>
#include <string>

#include "base/error.h"
#include "bindings/module.h"
#include "columns/program.h"

namespace py = pybind11;

namespace catena {
namespace {

const std::map<std::string, Op>& ops() {
  static const std::map<std::string, Op> by_name = {
      {"column", Op::kColumn},
      {"literal", Op::kLiteral},
      {"+", Op::kAdd},
      {"-", Op::kSubtract},
      {"*", Op::kMultiply},
      {"/", Op::kDivide},
      {"%", Op::kModulo},
      {"negate", Op::kNegate},
      {"to_float", Op::kToFloat},
      {"to_wide", Op::kToWide},
      {"=", Op::kEq},
      {"!=", Op::kNe},
      {"<", Op::kLt},
      {"<=", Op::kLe},
      {">", Op::kGt},
      {">=", Op::kGe},
      {"and", Op::kAnd},
      {"or", Op::kOr},
      {"not", Op::kNot},
      {"is_null", Op::kIsNull},
      {"is_true", Op::kIsTrue},
      {"in", Op::kIn},
      {"like", Op::kLike},
      {"register", Op::kRegister},
      {"unbound", Op::kUnbound},
      {"is_bound", Op::kIsBound},
      {"if_bound", Op::kIfBound},
      {"sum", Op::kSum},
      {"min", Op::kLeast},
      {"max", Op::kGreatest},
      {"count", Op::kCount},
      {"narrow", Op::kNarrow},
  };
  return by_name;
}

const std::map<std::string, ValueType>& types() {
  static const std::map<std::string, ValueType> by_name = {
      {"bool", ValueType::kBool},   {"int", ValueType::kInt},       {"wide", ValueType::kWide},
      {"float", ValueType::kFloat}, {"string", ValueType::kString},
  };
  return by_name;
}

template <typename T>
T by_name(const std::map<std::string, T>& table, const std::string& name) {
  const auto found = table.find(name);
  if (found == table.end()) throw Error(ErrorKind::kUser, "unknown name in a program: " + name);
  return found->second;
}

// A Python integer that fits 128 bits, by its two halves.
Wide wide_of(const py::handle& value) {
  const py::int_ number = py::reinterpret_borrow<py::int_>(value);
  const py::object high = number >> py::int_(64);
  const py::object low = number & py::int_(~uint64_t{0});
  return (static_cast<Wide>(high.cast<int64_t>()) << 64) | static_cast<Wide>(low.cast<uint64_t>());
}

void set_literal(Node& node, const py::object& value) {
  node.is_null = value.is_none();
  if (node.is_null) return;
  switch (node.type) {
    case ValueType::kBool:
      node.bool_value = value.cast<bool>();
      break;
    case ValueType::kInt:
      node.int_value = value.cast<int64_t>();
      break;
    case ValueType::kWide:
      node.wide_value = wide_of(value);
      break;
    case ValueType::kFloat:
      node.float_value = value.cast<double>();
      break;
    case ValueType::kString:
      node.string_value = value.cast<std::string>();
      break;
  }
}

// The set of an `in` node, of the type of its operand.
void set_members(Node& node, ValueType type, const py::iterable& members) {
  for (const py::handle& member : members) {
    if (type == ValueType::kInt) node.int_set.push_back(member.cast<int64_t>());
    if (type == ValueType::kWide) node.wide_set.push_back(wide_of(member));
    if (type == ValueType::kFloat) node.float_set.push_back(member.cast<double>());
    if (type == ValueType::kString) node.string_set.push_back(member.cast<std::string>());
  }
}

uint32_t add_node(Program& program, const std::string& op, const std::string& type, uint32_t left,
                  uint32_t right, const py::object& value) {
  Node node;
  node.op = by_name(ops(), op);
  node.type = by_name(types(), type);
  node.left = left;
  node.right = right;
  if (node.op == Op::kColumn || node.op == Op::kRegister) {
    node.column = value.cast<uint32_t>();
  } else if (node.op == Op::kIn) {
    if (left >= program.nodes.size()) throw Error(ErrorKind::kUser, "an operand is missing");
    set_members(node, program.nodes[left].type, value.cast<py::iterable>());
  } else if (node.op == Op::kLike) {
    node.string_value = value.cast<std::string>();
  } else if (node.op == Op::kLiteral) {
    set_literal(node, value);
  }
  program.nodes.push_back(std::move(node));
  return static_cast<uint32_t>(program.nodes.size() - 1);
}

}  // namespace

void bind_program(py::module_& module) {
  py::classh<Program>(module, "Program")
      .def(py::init<>())
      .def("add", &add_node, py::arg("op"), py::arg("type"), py::arg("left") = 0,
           py::arg("right") = 0, py::arg("value") = py::none())
      .def("add_guard", [](Program& program, uint32_t node) { program.guards.push_back(node); })
      .def("add_condition",
           [](Program& program, uint32_t node) { program.conditions.push_back(node); })
      .def("add_update", [](Program& program, uint32_t node) { program.updates.push_back(node); })
      .def("validate", &Program::validate);
}

}  // namespace catena
