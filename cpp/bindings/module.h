// What the bind_*.cc files give to module.cc. No logic lives in the bindings.
#pragma once

#include <pybind11/pybind11.h>

namespace catena {

void bind_errors(pybind11::module_& module);
void bind_decimals(pybind11::module_& module);
void bind_program(pybind11::module_& module);
void bind_automaton(pybind11::module_& module);
void bind_engine(pybind11::module_& module);
void bind_matches(pybind11::module_& module);
void bind_order(pybind11::module_& module);
void bind_algebra(pybind11::module_& module);

}  // namespace catena
