#include <pybind11/stl.h>

#include <memory>

#include "automaton/cea.h"
#include "bindings/module.h"

namespace py = pybind11;

namespace catena {

void bind_automaton(py::module_& module) {
  using PyTransition = std::tuple<StateId, std::optional<GuardId>, MarksId, StateId, bool>;
  py::classh<Cea>(module, "Cea")
      .def(py::init([](uint32_t state_count, std::vector<StateId> initial,
                       std::vector<StateId> final, const std::vector<PyTransition>& transitions,
                       std::vector<std::vector<VariableId>> marks, uint32_t variable_count,
                       uint32_t guard_count, const std::vector<StateId>& observers) {
             std::vector<Transition> made;
             for (const auto& [source, guard, mark_set, target, is_marked] : transitions) {
               made.push_back({source, guard.value_or(kTrueGuard), mark_set, target, is_marked});
             }
             return std::make_shared<Cea>(state_count, std::move(initial), std::move(final),
                                          std::move(made), std::move(marks), variable_count,
                                          guard_count, observers);
           }),
           py::kw_only(), py::arg("state_count"), py::arg("initial"), py::arg("final"),
           py::arg("transitions"), py::arg("marks"), py::arg("variable_count"),
           py::arg("guard_count"), py::arg("observers"));
}

}  // namespace catena
