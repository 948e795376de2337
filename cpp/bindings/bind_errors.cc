// The one place where an Error becomes a Python exception: _core.CoreError(kind, message, row).
#include "base/error.h"
#include "bindings/module.h"

namespace py = pybind11;

namespace catena {
namespace {

const char* name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUser:
      return "user";
    case ErrorKind::kLimit:
      return "limit";
    case ErrorKind::kData:
      return "data";
    case ErrorKind::kSnapshot:
      return "snapshot";
  }
  return "user";
}

}  // namespace

void bind_errors(py::module_& module) {
  static py::handle core_error =
      py::exception<Error>(module, "CoreError").release();  // Lives as long as the interpreter.
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const py::object row = error.row ? py::object(py::int_(*error.row)) : py::none();
      const py::tuple args = py::make_tuple(name_of(error.kind), error.what(), row);
      PyErr_SetObject(core_error.ptr(), args.ptr());
    }
  });
}

}  // namespace catena
