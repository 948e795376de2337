#include <pybind11/native_enum.h>
#include <pybind11/stl.h>

#include <memory>
#include <mutex>

#include "algebra/detection.h"
#include "bindings/import_batch.h"
#include "bindings/module.h"
#include "bindings/to_numpy.h"
#include "engine/window.h"

namespace py = pybind11;

namespace catena {
namespace {

py::object times_to_numpy(std::vector<Clock>&& clocks, bool are_floats) {
  if (!are_floats) return to_numpy(std::move(clocks));
  std::vector<double> values(clocks.size());
  for (size_t i = 0; i < clocks.size(); ++i) values[i] = float_of_clock(clocks[i]);
  return to_numpy(std::move(values));
}

py::tuple to_python(Detected&& detected) {
  py::list rows;
  for (PositionLists& lists : detected.rows) {
    rows.append(
        py::make_tuple(to_numpy(std::move(lists.offsets)), to_numpy(std::move(lists.positions))));
  }
  const bool are_floats = detected.has_float_times;
  return py::make_tuple(times_to_numpy(std::move(detected.starts), are_floats),
                        times_to_numpy(std::move(detected.ends), are_floats),
                        to_numpy(std::move(detected.positions)), rows);
}

// A detection with a lock, since the interpreter's own is released while a batch is read.
class LockedDetection {
 public:
  LockedDetection(std::shared_ptr<const EventExpression> expression,
                  const DetectionOptions& options)
      : detection_(std::move(expression), options) {}

  void bind(DetectionBinding binding) {
    const py::gil_scoped_release release;
    const std::scoped_lock lock(mutex_);
    detection_.bind(std::move(binding));
  }

  void bind_times(const std::vector<Interval>& limits, bool are_floats) {
    const std::scoped_lock lock(mutex_);
    detection_.bind_times(limits, are_floats);
  }

  py::tuple push(const py::tuple& capsules) {
    const Batch batch = import_batch(capsules);
    Detected detected;
    {
      const py::gil_scoped_release release;
      const std::scoped_lock lock(mutex_);
      detected = detection_.push(batch);
    }
    return to_python(std::move(detected));
  }

  py::tuple finish() {
    Detected detected;
    {
      const py::gil_scoped_release release;
      const std::scoped_lock lock(mutex_);
      detected = detection_.finish();
    }
    return to_python(std::move(detected));
  }

  py::bytes snapshot(const std::string& plan_hash, const std::string& extra) {
    std::string bytes;
    {
      const py::gil_scoped_release release;
      const std::scoped_lock lock(mutex_);
      bytes = detection_.snapshot(plan_hash, extra);
    }
    return py::bytes(bytes);
  }

  py::bytes restore(std::string_view bytes, const std::string& plan_hash) {
    const std::scoped_lock lock(mutex_);
    return py::bytes(detection_.restore(bytes, plan_hash));
  }

  py::dict stats() const {
    const std::scoped_lock lock(mutex_);
    const DetectionStats stats = detection_.stats();
    py::dict result;
    result["rows"] = stats.rows;
    result["visits"] = stats.visits;
    result["parts"] = stats.parts;
    result["instances"] = stats.instances;
    result["times"] = stats.times;
    result["bytes"] = stats.bytes;
    result["classes"] = stats.classes;
    return result;
  }

  Position oldest_row() const {
    const std::scoped_lock lock(mutex_);
    return detection_.oldest_row();
  }
  Position position() const { return detection_.position(); }
  uint64_t late_count() const { return detection_.late_count(); }

 private:
  mutable std::mutex mutex_;
  Detection detection_;
};

using NodeTuple = std::tuple<EventOp, uint32_t, uint32_t, uint32_t>;

std::shared_ptr<EventExpression> make_expression(uint32_t primitive_count,
                                                 const std::vector<NodeTuple>& nodes, uint32_t root,
                                                 uint32_t interval_count, bool with_rows,
                                                 uint64_t bytes_max) {
  std::vector<EventNode> made;
  made.reserve(nodes.size());
  for (const auto& [op, left, right, interval] : nodes) {
    made.push_back({op, left, right, interval});
  }
  return std::make_shared<EventExpression>(primitive_count, made, root, interval_count, with_rows,
                                           bytes_max);
}

DetectionBinding make_binding(const Program& program, std::optional<std::pair<uint32_t, bool>> time,
                              std::vector<uint32_t> keys) {
  DetectionBinding binding{program, {}, std::move(keys)};
  if (time) binding.time = OrderColumn{time->first, time->second};
  return binding;
}

void bind_expression(py::module_& module) {
  py::native_enum<EventOp>(module, "EventOp", "enum.Enum")
      .value("DISJUNCTION", EventOp::kDisjunction)
      .value("CONJUNCTION", EventOp::kConjunction)
      .value("NEGATION", EventOp::kNegation)
      .value("SEQUENCE", EventOp::kSequence)
      .value("RESTRICTION", EventOp::kRestriction)
      .finalize();
  py::classh<EventExpression>(module, "EventExpression")
      .def(py::init(&make_expression), py::kw_only(), py::arg("primitive_count"), py::arg("nodes"),
           py::arg("root"), py::arg("interval_count"), py::arg("with_rows"), py::arg("bytes_max"))
      .def_property_readonly("bytes_max",
                             [](const EventExpression& expression) {
                               const BlockHead head(expression);
                               return sizeof(Word) *
                                      (uint64_t{head.words} + expression.state_words() +
                                       expression.scratch_words() + expression.starts_words());
                             })
      .def_property_readonly("part_bytes",
                             [](const EventExpression& expression) {
                               const BlockHead head(expression);
                               return sizeof(Word) *
                                      (uint64_t{head.words} + expression.state_words());
                             })
      .def_property_readonly("instance_count_max", &EventExpression::instance_count_max)
      .def_property_readonly("time_count_max", &EventExpression::time_count_max);
}

}  // namespace

void bind_algebra(py::module_& module) {
  bind_expression(module);
  py::classh<DetectionBinding>(module, "DetectionBinding")
      .def(py::init(&make_binding), py::kw_only(), py::arg("program"), py::arg("time"),
           py::arg("keys"));
  py::classh<LockedDetection>(module, "Detection")
      .def(py::init([](std::shared_ptr<EventExpression> expression, bool is_partitioned,
                       bool drops_late_rows, uint32_t class_count_max) {
             return std::make_unique<LockedDetection>(
                 std::move(expression),
                 DetectionOptions{is_partitioned, drops_late_rows, class_count_max});
           }),
           py::arg("expression"), py::kw_only(), py::arg("is_partitioned"),
           py::arg("drops_late_rows"), py::arg("class_count_max"))
      .def("bind_times", &LockedDetection::bind_times, py::arg("limits"), py::arg("are_floats"))
      .def("bind", &LockedDetection::bind, py::arg("binding"))
      .def("push", &LockedDetection::push, py::arg("capsules"))
      .def("finish", &LockedDetection::finish)
      .def("snapshot", &LockedDetection::snapshot, py::arg("plan_hash"), py::arg("extra"))
      .def("restore", &LockedDetection::restore, py::arg("data"), py::arg("plan_hash"))
      .def("stats", &LockedDetection::stats)
      .def_property_readonly("oldest_row", &LockedDetection::oldest_row)
      .def_property_readonly("position", &LockedDetection::position)
      .def_property_readonly("late_count", &LockedDetection::late_count);
}

}  // namespace catena
