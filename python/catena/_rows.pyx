"""Events one by one, as Python mappings, gathered into columns.

This is the path of `push` with one mapping and of iterables of mappings: a dictionary look-up per
event and column, without a Python frame around it.
"""
# cython: language_level=3, boundscheck=False, wraparound=False

from collections.abc import Mapping

from cpython.dict cimport PyDict_CheckExact, PyDict_GetItemWithError
from cpython.object cimport PyObject


def take_mappings(iterator, Py_ssize_t count):
    """Up to `count` mappings, and what came instead of one more: a tuple of that item, an empty one
    at the end, None if there may be more mappings."""
    cdef list rows = []
    for item in iterator:
        if not PyDict_CheckExact(item) and not isinstance(item, Mapping):
            return rows, (item,)
        rows.append(item)
        if len(rows) == count:
            return rows, None
    return rows, ()


def gather(rows, list columns):
    """For every column a list with its value in each row; None where a row has no such key.

    Raises ValueError with the row's number if it has no keys at all.
    """
    cdef Py_ssize_t width = len(columns)
    cdef list result = [[] for _ in range(width)]
    cdef Py_ssize_t i
    cdef PyObject* found
    for number, row in enumerate(rows):
        if not row:
            raise ValueError(number)
        if PyDict_CheckExact(row):
            for i in range(width):
                found = PyDict_GetItemWithError(row, columns[i])
                (<list>result[i]).append(None if found is NULL else <object>found)
        else:
            for i in range(width):
                (<list>result[i]).append(row.get(columns[i]))
    return result


def unseen(rows, list columns):
    """The columns that no row has; looks at no more rows than it needs to see them all.

    None if there are no rows, or one of those looked at is not a mapping.
    """
    cdef list left = columns if rows else []
    for row in rows:
        if not left:
            break
        if not PyDict_CheckExact(row) and not isinstance(row, Mapping):
            return []
        left = [name for name in left if name not in row]
    return left


def names(rows):
    """The keys of all rows, in the order they come up."""
    cdef dict known = {}
    for row in rows:
        for name in row:
            known[name] = None
    return list(known)
