// Vectors for numpy, handed over without copying.
#pragma once

#include <pybind11/numpy.h>

#include <utility>
#include <vector>

namespace catena {

template <typename T>
pybind11::array_t<T> to_numpy(std::vector<T>&& values) {
  auto* owned = new std::vector<T>(std::move(values));
  const pybind11::capsule owner(owned, [](void* p) { delete static_cast<std::vector<T>*>(p); });
  return pybind11::array_t<T>(static_cast<pybind11::ssize_t>(owned->size()), owned->data(), owner);
}

}  // namespace catena
