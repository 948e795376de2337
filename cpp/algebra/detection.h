// Detection over a stream of batches: the facade of the event algebra.
//
// Rows are classified by the same predicate programs as those of queries; a class tells which
// primitives a row is an occurrence of. Rows of equal time form one tick. A tick is complete when a
// row of a later time has been read, or when `finish` is called; only then is it detected and
// reported, so results do not depend on how the stream is cut into batches. Two rows that are
// occurrences of one primitive in one tick are one occurrence, that of the later row. Without a
// time column every row is a tick of its own, complete at once, and its time is its position.
//
// A batch is first checked as a whole (times, nulls), so bad data leaves the stream as it was.
// Parts are independent of each other but for time: a later row of any part completes the ticks of
// all. The instances of one time are reported in the order in which their parts came in that tick.
//
// Cost: a row that is no occurrence of anything is a look at its class and its time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algebra/detected.h"
#include "algebra/detector.h"
#include "algebra/detector_parts.h"
#include "columns/batch.h"
#include "columns/classifier.h"
#include "columns/values.h"
#include "engine/order.h"

namespace catena {

struct DetectionOptions {
  bool is_partitioned = false;
  bool drops_late_rows = false;
  uint32_t class_count_max = 65'536;
};

// How an expression meets the columns of a batch. Guard g of the program is primitive g.
struct DetectionBinding {
  Program program;
  std::optional<OrderColumn> time;
  std::vector<uint32_t> keys;
};

struct DetectionStats {
  uint64_t rows;
  uint64_t visits;
  uint64_t parts;
  uint64_t instances;  // Stored, in all parts.
  uint64_t times;
  uint64_t bytes;  // Of the blocks.
  uint64_t classes;
};

class Detection {
 public:
  Detection(std::shared_ptr<const EventExpression> expression, const DetectionOptions& options);

  // Must be called before the first batch, and after `restore`: the lengths that restrictions
  // allow, and whether times are floats. They stay the same for the whole stream.
  void bind_times(const std::vector<Interval>& limits, bool are_floats);

  // Must be called before the first batch, and again whenever the columns' layout changes.
  void bind(DetectionBinding binding);

  // Reads a batch and gives the instances of the ticks that it completes. Throws Error and changes
  // nothing if the batch's data is bad.
  Detected push(const Batch& batch);

  // Completes the tick at hand: no further row has its time.
  Detected finish();

  // The state as bytes; `plan_hash` and `extra` go with it.
  std::string snapshot(const std::string& plan_hash, const std::string& extra) const;

  // Takes over a snapshot; gives its `extra`. Only for a detection that has read nothing.
  std::string restore(std::string_view bytes, const std::string& plan_hash);

  // The oldest row that a result still to come may name as its position.
  Position oldest_row() const;

  Position position() const { return position_; }
  uint64_t late_count() const { return late_count_; }
  DetectionStats stats() const;

 private:
  struct BatchTimes {
    std::vector<bool> is_late;  // By row; empty if no row is late.
    uint64_t late_count = 0;
  };

  BatchTimes check_times(const Batch& batch);
  void refuse_or_drop(const Batch& batch, int64_t row, BatchTimes& times) const;
  void read_rows(const Batch& batch, const BatchTimes& times, int64_t begin, int64_t count,
                 Detected& detected);
  template <bool kRows>
  void read_rows_of_one_part(const BatchTimes& times, int64_t begin, int64_t count,
                             Detected& detected);
  void note(uint32_t place, const uint64_t* occurred, Position row);
  void complete(Detected& detected);
  void report(const Word* instance, Position row, Detected& detected) const;
  void learn_classes();
  std::optional<uint32_t> part_of_row(const Batch& batch, int64_t row);
  Detected nothing() const;
  void write_parts(class ByteWriter& out) const;
  void read_parts(class ByteReader& in);
  void check_head(const Word* block) const;

  std::shared_ptr<const EventExpression> expression_;
  DetectionOptions options_;
  ClassTrie classes_;
  Detector detector_;
  std::optional<DetectionBinding> binding_;
  std::optional<bool> has_float_times_;  // Unknown until bind_times.
  std::optional<Classifier> classifier_;
  std::optional<KeyEncoder> key_encoder_;

  // What a snapshot holds.
  DetectorParts parts_;
  std::vector<uint32_t> open_;  // The parts with occurrences in the tick at hand, as they came.
  Clock tick_time_ = kNone;
  bool is_finished_ = false;  // The tick at hand is complete.
  Position position_ = 0;     // Of the next row.
  uint64_t late_count_ = 0;

  // Room to work in.
  std::vector<uint64_t> occurred_by_class_;
  uint32_t known_classes_ = 0;
  std::vector<ClassId> class_of_row_;
  std::vector<Clock> times_;
  std::string key_;
  bool has_failed_ = false;
};

}  // namespace catena
