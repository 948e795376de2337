// A row filled from a Python mapping, if its values are of just the row's types.
#pragma once

#include <pybind11/pybind11.h>

#include <limits>
#include <memory>
#include <string_view>

#include "columns/one_row.h"

namespace catena {

// The keys that the row's columns have in mappings.
inline pybind11::tuple keys_of(const OneRow& row) {
  pybind11::tuple keys(row.width());
  for (size_t i = 0; i < row.width(); ++i) {
    PyObject* key = PyUnicode_FromString(row.name(i).c_str());
    if (key == nullptr) throw pybind11::error_already_set();
    PyUnicode_InternInPlace(&key);
    keys[i] = pybind11::reinterpret_steal<pybind11::object>(key);
  }
  return keys;
}

inline bool fill_value(OneRow& row, size_t column, PyObject* value) {
  switch (row.format(column)) {
    case 'u': {
      if (!PyUnicode_CheckExact(value)) return false;
      Py_ssize_t size = 0;
      const char* text = PyUnicode_AsUTF8AndSize(value, &size);
      if (text == nullptr) PyErr_Clear();
      if (text == nullptr || size > std::numeric_limits<int32_t>::max()) return false;
      row.set_text(column, {text, static_cast<size_t>(size)});
      return true;
    }
    case 'l': {
      if (!PyLong_CheckExact(value)) return false;
      int overflow = 0;
      row.set_int(column, PyLong_AsLongLongAndOverflow(value, &overflow));
      return overflow == 0;
    }
    case 'g':
      if (!PyFloat_CheckExact(value)) return false;
      row.set_float(column, PyFloat_AS_DOUBLE(value));
      return true;
    default:
      if (!PyBool_Check(value)) return false;
      row.set_bool(column, value == Py_True);
      return true;
  }
}

// False if a value is missing or of another type; then the row is filled in part.
inline bool fill(OneRow& row, const pybind11::tuple& keys, const pybind11::dict& values) {
  for (size_t i = 0; i < row.width(); ++i) {
    PyObject* value =
        PyDict_GetItemWithError(values.ptr(), PyTuple_GET_ITEM(keys.ptr(), Py_ssize_t(i)));
    if (value == nullptr && PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
    if (value == nullptr || !fill_value(row, i, value)) return false;
  }
  return true;
}

}  // namespace catena
