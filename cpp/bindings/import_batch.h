// A batch from the two capsules of the Arrow PyCapsule interface (__arrow_c_array__).
#pragma once

#include <pybind11/pybind11.h>

#include "columns/batch.h"

namespace catena {

inline Batch import_batch(const pybind11::tuple& capsules) {
  auto* schema = static_cast<ArrowSchema*>(
      PyCapsule_GetPointer(pybind11::object(capsules[0]).ptr(), "arrow_schema"));
  auto* array = static_cast<ArrowArray*>(
      PyCapsule_GetPointer(pybind11::object(capsules[1]).ptr(), "arrow_array"));
  if (schema == nullptr || array == nullptr) throw pybind11::error_already_set();
  return Batch(schema, array);
}

}  // namespace catena
