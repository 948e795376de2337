#include <pybind11/stl.h>

#include <memory>

#include "automaton/cea.h"
#include "base/error.h"
#include "bindings/module.h"

namespace py = pybind11;

namespace catena {
namespace {

using PyTransition = std::tuple<StateId, std::optional<GuardId>, MarksId, StateId, bool, ActionsId>;
using PyActions = std::pair<std::vector<std::pair<ClockId, IntervalId>>, std::vector<ClockId>>;

Clocks make_clocks(const std::vector<uint32_t>& kinds, uint32_t interval_count,
                   const std::vector<PyActions>& actions) {
  Clocks clocks{{}, interval_count, {}};
  for (uint32_t kind : kinds) {
    if (kind >= kClockKindCount) throw Error(ErrorKind::kUser, "there is no such kind of clock");
    clocks.kinds.push_back(static_cast<ClockKind>(kind));
  }
  for (const auto& [checks, resets] : actions) {
    ClockActions& made = clocks.actions.emplace_back();
    for (const auto& [clock, interval] : checks) made.checks.push_back({clock, interval});
    made.resets = resets;
  }
  return clocks;
}

}  // namespace

void bind_automaton(py::module_& module) {
  py::classh<Cea>(module, "Cea")
      .def(py::init([](uint32_t state_count, std::vector<StateId> initial,
                       std::vector<StateId> final, const std::vector<PyTransition>& transitions,
                       std::vector<std::vector<VariableId>> marks, uint32_t variable_count,
                       uint32_t guard_count, const std::vector<StateId>& observers,
                       const std::vector<uint32_t>& clock_kinds, uint32_t interval_count,
                       const std::vector<PyActions>& actions) {
             std::vector<Transition> made;
             for (const auto& [source, guard, mark_set, target, is_marked, action] : transitions) {
               made.push_back(
                   {source, guard.value_or(kTrueGuard), mark_set, target, is_marked, action});
             }
             return std::make_shared<Cea>(state_count, std::move(initial), std::move(final),
                                          std::move(made), std::move(marks), variable_count,
                                          guard_count, observers,
                                          make_clocks(clock_kinds, interval_count, actions));
           }),
           py::kw_only(), py::arg("state_count"), py::arg("initial"), py::arg("final"),
           py::arg("transitions"), py::arg("marks"), py::arg("variable_count"),
           py::arg("guard_count"), py::arg("observers"), py::arg("clock_kinds"),
           py::arg("interval_count"), py::arg("actions"));
}

}  // namespace catena
