#include <pybind11/stl.h>

#include <memory>

#include "bindings/module.h"
#include "bindings/shared_results.h"
#include "bindings/to_numpy.h"
#include "matches/counter.h"
#include "matches/match_columns.h"

namespace py = pybind11;

namespace catena {
namespace {

py::object to_python(const BigCount& count) {
  py::object result = py::int_(0);
  const auto& limbs = count.limbs();
  for (size_t i = limbs.size(); i-- > 0;) result = (result << py::int_(64)) | py::int_(limbs[i]);
  return result;
}

// A reader of matches; keeps what it reads from alive.
class MatchReader {
 public:
  MatchReader(SharedResults results, std::optional<uint64_t> limit)
      : results_(std::move(results)), enumerator_(*results_.results, limit) {}

  py::object read(uint64_t match_count_max) {
    MatchColumns columns;
    {
      const py::gil_scoped_release release;
      const std::scoped_lock lock(*results_.mutex);
      columns = read_matches(enumerator_, *results_.cea, match_count_max);
    }
    py::list variables;
    for (PositionLists& lists : columns.variables) {
      variables.append(
          py::make_tuple(to_numpy(std::move(lists.offsets)), to_numpy(std::move(lists.positions))));
    }
    return py::make_tuple(to_numpy(std::move(columns.starts)), to_numpy(std::move(columns.ends)),
                          variables);
  }

  uint64_t steps() const { return enumerator_.steps(); }

 private:
  SharedResults results_;
  Enumerator enumerator_;
};

py::object count(const SharedResults& shared, std::optional<uint64_t> limit) {
  BigCount total;
  {
    const py::gil_scoped_release release;
    const std::scoped_lock lock(*shared.mutex);
    total = count_matches(*shared.results, limit);
  }
  return to_python(total);
}

bool is_empty(const SharedResults& shared) { return RootCursor(*shared.results).at_end(); }

}  // namespace

void bind_matches(py::module_& module) {
  py::classh<MatchReader>(module, "MatchReader")
      .def("read", &MatchReader::read, py::arg("match_count_max"))
      .def_property_readonly("steps", &MatchReader::steps);
  py::classh<SharedResults>(module, "ResultSet")
      .def(
          "reader",
          [](const SharedResults& shared, std::optional<uint64_t> limit) {
            return std::make_unique<MatchReader>(shared, limit);
          },
          py::arg("limit"))
      .def("count", &count, py::arg("limit"))
      .def_property_readonly("is_empty", &is_empty);
}

}  // namespace catena
