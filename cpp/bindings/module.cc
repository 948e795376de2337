// The private extension module catena._core.
#include "bindings/module.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The engine of catena. Private: use the package.";
  catena::bind_errors(module);
  catena::bind_decimals(module);
  catena::bind_program(module);
  catena::bind_automaton(module);
  catena::bind_matches(module);
  catena::bind_engine(module);
  catena::bind_order(module);
  catena::bind_algebra(module);
}
