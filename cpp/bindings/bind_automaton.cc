#include <pybind11/stl.h>

#include <memory>

#include "automaton/cea.h"
#include "base/error.h"
#include "bindings/module.h"

namespace py = pybind11;

namespace catena {
namespace {

using PyTransition =
    std::tuple<StateId, std::optional<GuardId>, MarksId, StateId, bool, ActionsId, AsksId>;
using PyActions = std::pair<std::vector<std::pair<ClockId, IntervalId>>, std::vector<ClockId>>;
using PyRegisterActions =
    std::tuple<std::vector<ConditionId>, std::vector<std::pair<RegisterId, UpdateId>>,
               std::vector<std::vector<ConditionId>>>;
using PyScope = std::tuple<Strategy, std::shared_ptr<const Cea>, std::vector<RegisterId>,
                           std::shared_ptr<const Cea>>;
using PyAsks = std::vector<std::tuple<ScopeId, uint32_t, std::vector<RegisterId>>>;

Clocks make_clocks(const std::vector<uint32_t>& kinds, uint32_t interval_count,
                   const std::vector<PyActions>& actions, bool is_monotonic) {
  Clocks clocks{{}, interval_count, {}, is_monotonic};
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

using PyAbsences = std::vector<std::pair<std::shared_ptr<const Cea>, std::shared_ptr<const Cea>>>;
using PyFollows = std::vector<
    std::optional<std::tuple<AbsenceId, std::optional<StateId>, std::optional<RegisterId>>>>;

std::vector<std::optional<Follow>> make_follows(const PyFollows& follows) {
  std::vector<std::optional<Follow>> made;
  for (const auto& follow : follows) {
    made.emplace_back();
    if (!follow) continue;
    const auto& [absence, entry, before] = *follow;
    made.back() = Follow{absence, entry.value_or(kNoState), before.value_or(kNoRegister)};
  }
  return made;
}

std::vector<Absence> make_absences(const PyAbsences& absences) {
  std::vector<Absence> made;
  for (const auto& [operand, replayed] : absences) {
    if (!operand) throw Error(ErrorKind::kUser, "an absence has no automaton");
    made.push_back({operand, replayed});
  }
  return made;
}

using PyReads = std::vector<std::vector<RegisterId>>;

Registers make_registers(uint32_t count, PyReads condition_reads, PyReads update_reads,
                         const std::vector<PyRegisterActions>& actions, const PyAbsences& absences,
                         const PyFollows& condition_follows, const PyFollows& update_follows,
                         std::vector<UpdateId> history) {
  Registers registers{count,
                      std::move(condition_reads),
                      std::move(update_reads),
                      {},
                      make_absences(absences),
                      make_follows(condition_follows),
                      make_follows(update_follows),
                      std::move(history)};
  for (const auto& [conditions, updates, forbids] : actions) {
    RegisterActions& made = registers.actions.emplace_back();
    made.conditions = conditions;
    made.forbids = forbids;
    for (const auto& [target, update] : updates) made.updates.push_back({target, update});
  }
  return registers;
}

Scopes make_scopes(const std::vector<PyScope>& scopes, const std::vector<PyAsks>& asks) {
  Scopes made{{}, {}};
  for (const auto& [strategy, operand, lent, replayed] : scopes) {
    if (!operand) throw Error(ErrorKind::kUser, "a scope has no operand");
    made.all.push_back({strategy, operand, lent, replayed});
  }
  for (const PyAsks& several : asks) {
    auto& together = made.asks.emplace_back();
    for (const auto& [scope, transition, lends] : several) {
      together.push_back({scope, transition, lends});
    }
  }
  return made;
}

}  // namespace

void bind_automaton(py::module_& module) {
  py::classh<Cea>(module, "Cea")
      .def(py::init([](uint32_t state_count, std::vector<StateId> initial,
                       std::vector<StateId> final, const std::vector<PyTransition>& transitions,
                       std::vector<std::vector<VariableId>> marks, uint32_t variable_count,
                       uint32_t guard_count, const std::vector<StateId>& observers,
                       const std::vector<uint32_t>& clock_kinds, uint32_t interval_count,
                       const std::vector<PyActions>& actions, bool is_monotonic,
                       uint32_t register_count, PyReads condition_reads, PyReads update_reads,
                       const std::vector<PyRegisterActions>& register_actions,
                       std::vector<UpdateId> history, const std::vector<PyScope>& scopes,
                       const std::vector<PyAsks>& asks, const PyAbsences& absences,
                       const PyFollows& condition_follows, const PyFollows& update_follows) {
             std::vector<Transition> made;
             for (const auto& [source, guard, mark_set, target, is_marked, action, asked] :
                  transitions) {
               made.push_back({source, guard.value_or(kTrueGuard), mark_set, target, is_marked,
                               action, asked});
             }
             return std::make_shared<Cea>(
                 state_count, std::move(initial), std::move(final), std::move(made),
                 std::move(marks), variable_count, guard_count, observers,
                 make_clocks(clock_kinds, interval_count, actions, is_monotonic),
                 make_registers(register_count, std::move(condition_reads), std::move(update_reads),
                                register_actions, absences, condition_follows, update_follows,
                                std::move(history)),
                 make_scopes(scopes, asks));
           }),
           py::kw_only(), py::arg("state_count"), py::arg("initial"), py::arg("final"),
           py::arg("transitions"), py::arg("marks"), py::arg("variable_count"),
           py::arg("guard_count"), py::arg("observers"), py::arg("clock_kinds"),
           py::arg("interval_count"), py::arg("actions"), py::arg("is_monotonic"),
           py::arg("register_count"), py::arg("condition_reads"), py::arg("update_reads"),
           py::arg("register_actions"), py::arg("history"), py::arg("scopes"), py::arg("asks"),
           py::arg("absences"), py::arg("condition_follows"), py::arg("update_follows"));
}

}  // namespace catena
