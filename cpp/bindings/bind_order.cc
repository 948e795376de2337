#include <pybind11/stl.h>

#include "bindings/import_batch.h"
#include "bindings/module.h"
#include "bindings/to_numpy.h"
#include "columns/part_numbers.h"
#include "columns/row_order.h"

namespace py = pybind11;

namespace catena {
namespace {

template <typename Compute>
py::array_t<int64_t> without_gil(const py::tuple& capsules, Compute compute) {
  const Batch batch = import_batch(capsules);
  std::vector<int64_t> values;
  {
    const py::gil_scoped_release release;
    values = compute(batch);
  }
  return to_numpy(std::move(values));
}

}  // namespace

void bind_order(py::module_& module) {
  module.def(
      "ordered_rows", [](const py::tuple& capsules) { return without_gil(capsules, ordered_rows); },
      py::arg("capsules"), "The rows in ascending order of all columns; empty if they are so.");
  py::classh<PartNumbers>(module, "PartNumbers")
      .def(py::init<std::vector<uint32_t>>(), py::arg("keys"))
      .def("number",
           [](PartNumbers& numbers, const py::tuple& capsules) {
             return without_gil(capsules,
                                [&](const Batch& batch) { return numbers.number(batch); });
           })
      .def_property_readonly("part_count", &PartNumbers::part_count);
}

}  // namespace catena
