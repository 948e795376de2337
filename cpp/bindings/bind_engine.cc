#include <pybind11/native_enum.h>
#include <pybind11/stl.h>

#include <memory>
#include <mutex>

#include "bindings/fill_row.h"
#include "bindings/import_batch.h"
#include "bindings/module.h"
#include "bindings/shared_results.h"
#include "engine/engine.h"

namespace py = pybind11;

namespace catena {
namespace {

// An engine with a lock, since the interpreter's own is released while a batch is read.
class LockedEngine {
 public:
  LockedEngine(std::shared_ptr<const Cea> cea, const EngineOptions& options)
      : cea_(cea), engine_(std::move(cea), options) {}

  void bind(Binding binding) {
    const py::gil_scoped_release release;
    const std::scoped_lock lock(*mutex_);
    engine_.bind(std::move(binding));
  }

  SharedResults push(const py::tuple& capsules) {
    const Batch batch = import_batch(capsules);
    const py::gil_scoped_release release;
    const std::scoped_lock lock(*mutex_);
    return {engine_.push(batch), cea_, mutex_};
  }

  // What single rows look like from now on; no columns: they are not read by push_row.
  void bind_row(const std::vector<std::string>& names, const std::string& formats) {
    row_ = std::make_unique<OneRow>(names, formats);
    row_keys_ = keys_of(*row_);
  }

  // The results of one row; nothing, and the row is not read, if it is not of the bound columns and
  // types. The interpreter stays locked: nobody who has the other lock waits for it.
  std::optional<SharedResults> push_row(const py::dict& values) {
    const std::scoped_lock lock(*mutex_);
    if (!row_ || row_->width() == 0 || !fill(*row_, row_keys_, values)) return std::nullopt;
    return SharedResults{engine_.push(row_->batch()), cea_, mutex_};
  }

  Position release() {
    const py::gil_scoped_release release;
    const std::scoped_lock lock(*mutex_);
    return engine_.release();
  }

  py::bytes snapshot(const std::string& plan_hash, const std::string& extra) {
    std::string bytes;
    {
      const py::gil_scoped_release release;
      const std::scoped_lock lock(*mutex_);
      bytes = engine_.snapshot(plan_hash, extra);
    }
    return py::bytes(bytes);
  }

  py::bytes restore(std::string_view bytes, const std::string& plan_hash) {
    const std::scoped_lock lock(*mutex_);
    return py::bytes(engine_.restore(bytes, plan_hash));
  }

  py::dict stats() const {
    const std::scoped_lock lock(*mutex_);
    const EngineStats stats = engine_.stats();
    py::dict result;
    result["rows"] = stats.rows;
    result["operations"] = stats.operations;
    result["graph_nodes"] = stats.graph_nodes;
    result["graph_bytes"] = stats.graph_bytes;
    result["parts"] = stats.parts;
    result["part_bytes"] = stats.part_bytes;
    result["valuations"] = stats.valuations;
    result["det_states"] = stats.det_states;
    result["frontiers"] = stats.frontiers;
    result["classes"] = stats.classes;
    return result;
  }

  Position position() const { return engine_.position(); }
  uint64_t late_count() const { return engine_.late_count(); }

 private:
  std::shared_ptr<const Cea> cea_;
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
  Engine engine_;
  std::unique_ptr<OneRow> row_;
  py::tuple row_keys_;
};

using PyOrderColumn = std::tuple<uint32_t, bool, bool>;

Binding make_binding(const Program& program, const std::vector<PyOrderColumn>& order,
                     std::optional<uint32_t> clock, std::optional<uint32_t> time,
                     std::vector<uint32_t> attributes, const Window& window,
                     std::vector<uint32_t> keys, uint32_t tie_count,
                     std::optional<GuardId> row_guard, std::vector<Interval> intervals) {
  Binding binding{program,
                  {},
                  clock,
                  time,
                  std::move(attributes),
                  window,
                  std::move(keys),
                  tie_count,
                  row_guard,
                  std::move(intervals)};
  for (const auto& [column, is_float, is_by_part] : order) {
    binding.order.push_back({column, is_float, is_by_part});
  }
  return binding;
}

}  // namespace

void bind_engine(py::module_& module) {
  py::native_enum<WindowKind>(module, "WindowKind", "enum.Enum")
      .value("NONE", WindowKind::kNone)
      .value("EVENTS", WindowKind::kEvents)
      .value("INT", WindowKind::kInt)
      .value("FLOAT", WindowKind::kFloat)
      .finalize();
  py::native_enum<Consume>(module, "Consume", "enum.Enum")
      .value("NONE", Consume::kNone)
      .value("PARTITION", Consume::kPartition)
      .value("ANY", Consume::kAny)
      .finalize();
  py::native_enum<Strategy>(module, "Strategy", "enum.Enum")
      .value("ALL", Strategy::kAll)
      .value("NEXT", Strategy::kNext)
      .value("LAST", Strategy::kLast)
      .value("MAX", Strategy::kMax)
      .finalize();
  py::classh<Window>(module, "Window")
      .def(py::init([](WindowKind kind, uint64_t bound, double float_bound) {
             return Window{kind, bound, float_bound};
           }),
           py::arg("kind"), py::arg("bound") = 0, py::arg("float_bound") = 0.0)
      .def("threshold", &Window::threshold);
  py::classh<Interval>(module, "Interval")
      .def(py::init<int64_t, int64_t>(), py::arg("low"), py::arg("high"))
      .def_static("of_floats", &Interval::of_floats, py::arg("low"), py::arg("high"),
                  py::arg("low_open"), py::arg("high_open"));
  py::classh<Binding>(module, "Binding")
      .def(py::init(&make_binding), py::kw_only(), py::arg("program"), py::arg("order"),
           py::arg("clock"), py::arg("time"), py::arg("attributes"), py::arg("window"),
           py::arg("keys"), py::arg("tie_count"), py::arg("row_guard"), py::arg("intervals"));
  py::classh<LockedEngine>(module, "Engine")
      .def(py::init([](std::shared_ptr<const Cea> cea, Strategy strategy, Consume consume,
                       bool is_partitioned, bool has_window, bool drops_late_rows,
                       uint32_t state_count_max, uint32_t class_count_max,
                       uint32_t valuation_count_max) {
             return std::make_unique<LockedEngine>(
                 std::move(cea),
                 EngineOptions{strategy, consume, is_partitioned, has_window, drops_late_rows,
                               state_count_max, class_count_max, valuation_count_max});
           }),
           py::arg("cea"), py::kw_only(), py::arg("strategy"), py::arg("consume"),
           py::arg("is_partitioned"), py::arg("has_window"), py::arg("drops_late_rows"),
           py::arg("state_count_max"), py::arg("class_count_max"), py::arg("valuation_count_max"))
      .def("bind", &LockedEngine::bind, py::arg("binding"))
      .def("push", &LockedEngine::push, py::arg("capsules"))
      .def("bind_row", &LockedEngine::bind_row, py::arg("names"), py::arg("formats"))
      .def("push_row", &LockedEngine::push_row, py::arg("values"))
      .def("release", &LockedEngine::release)
      .def("snapshot", &LockedEngine::snapshot, py::arg("plan_hash"), py::arg("extra"))
      .def("restore", &LockedEngine::restore, py::arg("data"), py::arg("plan_hash"))
      .def("stats", &LockedEngine::stats)
      .def_property_readonly("position", &LockedEngine::position)
      .def_property_readonly("late_count", &LockedEngine::late_count);
}

}  // namespace catena
