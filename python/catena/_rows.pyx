"""Events one by one, as Python mappings, gathered into columns.

This is the path of `push` with one mapping and of iterables of mappings: a dictionary look-up per
event and column, without a Python frame around it.
"""
# cython: language_level=3, boundscheck=False, wraparound=False

from collections.abc import Mapping

from cpython.dict cimport PyDict_CheckExact, PyDict_GetItemWithError
from cpython.object cimport PyObject


def gather(rows, list columns):
    """For every column a list with its value in each row; None where a row has no such key.

    Raises TypeError if a row is not a mapping.
    """
    cdef Py_ssize_t width = len(columns)
    cdef list result = [[] for _ in range(width)]
    cdef Py_ssize_t i
    cdef PyObject* found
    for number, row in enumerate(rows):
        if PyDict_CheckExact(row):
            for i in range(width):
                found = PyDict_GetItemWithError(row, columns[i])
                (<list>result[i]).append(None if found is NULL else <object>found)
        elif isinstance(row, Mapping):
            for i in range(width):
                (<list>result[i]).append(row.get(columns[i]))
        else:
            raise TypeError(
                f"event {number} is a {type(row).__name__}, not a mapping of names to values"
            )
    return result
