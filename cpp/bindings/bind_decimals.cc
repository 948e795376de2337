#include <pybind11/stl.h>

#include "bindings/import_batch.h"
#include "bindings/module.h"
#include "bindings/to_numpy.h"
#include "columns/decimals.h"

namespace py = pybind11;

namespace catena {

void bind_decimals(py::module_& module) {
  module.def(
      "floats_of_decimals",
      [](const py::tuple& capsules) {
        const Batch batch = import_batch(capsules);
        DecimalFloats floats = floats_of_decimals(batch.column(0));
        return py::make_tuple(to_numpy(std::move(floats.values)), floats.unfaithful_row);
      },
      py::arg("capsules"),
      "The nearest floats of a batch's first column, and the first row to fail.");
}

}  // namespace catena
