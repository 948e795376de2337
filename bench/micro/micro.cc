// Benchmarks of the engine's parts without Python: classes, update, count, enumeration, against the
// bare scan of the same rows. Every answer is compared with one that was found without the engine.
//
//   micro                   a million rows
//   micro --rows 20000      fewer: for the answers, not the times
//   micro --json FILE       every figure as JSON too
//
// Times are CPU time, the best of several runs. Exits with 1 if an answer is wrong.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrow_builder.h"
#include "bare_scan.h"
#include "base/error.h"
#include "columns/class_trie.h"
#include "columns/classifier.h"
#include "engine/engine.h"
#include "matches/counter.h"
#include "matches/enumerator.h"
#include "matches/match_columns.h"
#include "queries.h"

namespace catena::micro {
namespace {

constexpr int64_t kBatchRows = 10'000;
constexpr int64_t kWindow = 100;
constexpr int64_t kLimit = 1'000;
constexpr int64_t kStressRows = 2'000;
constexpr int kRepeats = 3;
constexpr double kSecondsMin = 0.05;
constexpr uint64_t kReadAtOnce = 65'536;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// The shortest of at least kRepeats runs and kSecondsMin.
double best_seconds(const std::function<void()>& work) {
  double best = 1e9;
  double total = 0;
  for (int run = 0; run < kRepeats || (total < kSecondsMin && run < 1'000); ++run) {
    const double started = cpu_seconds();
    work();
    const double took = cpu_seconds() - started;
    best = std::min(best, took);
    total += took;
  }
  return std::max(best, 1e-9);
}

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  return static_cast<double>(usage.ru_maxrss) / 1e6;
#else
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
#endif
}

struct Figure {
  std::string name;
  std::string unit;  // Of what is counted: rows, results, positions.
  double per_second;
  double scans;  // Times the bare scan of the same rows; 0 where that says nothing.
  double graph_bytes_per_row;
  bool is_right;
};

// All that a run needs to know, and what it has found.
class Report {
 public:
  void add(Figure figure) {
    std::printf("%-26s %10.2f M%-10s %8.1f %14.1f%s\n", figure.name.c_str(),
                figure.per_second / 1e6, (figure.unit + "/s").c_str(), figure.scans,
                figure.graph_bytes_per_row, figure.is_right ? "" : "   WRONG ANSWER");
    std::fflush(stdout);
    figures_.push_back(std::move(figure));
  }

  void head() const {
    std::printf("%-26s %10s %-11s %8s %14s\n", "", "", "", "x scan", "graph B/row");
  }

  bool is_right() const {
    return std::ranges::all_of(figures_, [](const Figure& figure) { return figure.is_right; });
  }

  void write_json(const std::string& path) const {
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) throw Error(ErrorKind::kUser, "cannot write " + path);
    std::fprintf(file, "{\"peak_megabytes\": %.1f, \"figures\": [", peak_megabytes());
    const char* separator = "";
    for (const Figure& figure : figures_) {
      std::fprintf(
          file,
          "%s\n {\"name\": \"%s\", \"unit\": \"%s\", \"per_second\": %.0f, \"scans\": %.3f, "
          "\"graph_bytes_per_row\": %.1f, \"is_right\": %s}",
          separator, figure.name.c_str(), figure.unit.c_str(), figure.per_second, figure.scans,
          figure.graph_bytes_per_row, figure.is_right ? "true" : "false");
      separator = ",";
    }
    std::fprintf(file, "\n]}\n");
    std::fclose(file);
  }

 private:
  std::vector<Figure> figures_;
};

// ---------------------------------------------------------------------------------------------
// Rows

Batch batch_of(const Types& types, int64_t begin, int64_t count) {
  std::vector<std::optional<int8_t>> codes(types.begin() + begin, types.begin() + begin + count);
  std::vector<std::optional<std::string>> names;
  for (char name : kTypeNames) names.emplace_back(std::string(1, name));
  return testing::BatchBuilder()
      .add(testing::dictionary_array<int8_t>("type", codes, testing::string_array("", names)))
      .build();
}

std::vector<Batch> batches_of(const Types& types) {
  std::vector<Batch> batches;
  const auto rows = static_cast<int64_t>(types.size());
  for (int64_t begin = 0; begin < rows; begin += kBatchRows) {
    batches.push_back(batch_of(types, begin, std::min(kBatchRows, rows - begin)));
  }
  return batches;
}

std::unique_ptr<Engine> engine_of(const Query& query, int64_t window) {
  auto engine = std::make_unique<Engine>(query.cea, EngineOptions{.has_window = window != 0});
  Binding binding;
  binding.program = type_guards();
  if (window != 0) binding.window = {WindowKind::kEvents, static_cast<uint64_t>(window), 0.0};
  engine->bind(std::move(binding));
  return engine;
}

// ---------------------------------------------------------------------------------------------
// Benchmarks

// The machine of the scan: an A, then a B, then a C, then from the beginning; state 3 is after a C.
constexpr uint8_t kCounted = 3;
constexpr uint8_t kTable[4][kTypeNames.size()] = {
    {1, 0, 0, 0, 0, 0}, {1, 2, 1, 1, 1, 1}, {2, 2, 3, 2, 2, 2}, {1, 0, 0, 0, 0, 0}};

// How often it comes to that state, found by looking for one letter after the other.
int64_t expected_scan(const Types& types) {
  int64_t read = 0;
  for (int8_t type : types) read += type == read % 3 ? 1 : 0;
  return read / 3;
}

double bare_scan(const std::string& name, const Types& types, Report& report) {
  const auto rows = static_cast<int64_t>(types.size());
  int64_t found = 0;
  const double seconds = best_seconds([&] {
    uint8_t state = 0;
    found =
        catena_bare_scan(&kTable[0][0], kTypeNames.size(), types.data(), rows, kCounted, &state);
  });
  report.add({"bare scan, " + name, "rows", static_cast<double>(rows) / seconds, 1, 0,
              found == expected_scan(types)});
  return seconds;
}

// Whether rows have the same class exactly where they have the same type.
bool are_classes_of(const std::vector<ClassId>& classes, const Types& types) {
  std::vector<std::optional<ClassId>> by_type(kTypeNames.size());
  for (size_t row = 0; row < types.size(); ++row) {
    // E and X satisfy no guard.
    const size_t type = std::min<size_t>(static_cast<size_t>(types[row]), 4);
    if (!by_type[type]) by_type[type] = classes[row];
    if (by_type[type] != classes[row]) return false;
  }
  for (size_t a = 0; a < by_type.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      if (by_type[a] && by_type[a] == by_type[b]) return false;
    }
  }
  return true;
}

void classes(const Types& types, const std::vector<Batch>& batches, double scan, Report& report) {
  ClassTrie trie(4, 1'000);
  Classifier classifier(type_guards(), trie);
  std::vector<ClassId> found(types.size());
  const double seconds = best_seconds([&] {
    ClassId* out = found.data();
    for (const Batch& batch : batches) {
      for (int64_t begin = 0; begin < batch.num_rows(); begin += kChunkRows) {
        const int64_t count = std::min(kChunkRows, batch.num_rows() - begin);
        classifier.classify(batch, begin, count, out);
        out += count;
      }
    }
  });
  report.add({"classes", "rows", static_cast<double>(types.size()) / seconds, seconds / scan, 0,
              are_classes_of(found, types)});
}

uint64_t low_bits(const BigCount& count) { return count.limbs().empty() ? 0 : count.limbs()[0]; }

// The update, its results dropped; and the update with an exact count of its results.
void update_and_count(const std::string& name, const Query& query, const Types& types,
                      const std::vector<Batch>& batches, double scan, Report& report) {
  const auto rows = static_cast<double>(types.size());
  const double seconds = best_seconds([&] {
    const std::unique_ptr<Engine> engine = engine_of(query, kWindow);
    for (const Batch& batch : batches) engine->push(batch);
  });
  uint64_t found = 0;
  double graph_bytes = 0;
  const double counting = best_seconds([&] {
    const std::unique_ptr<Engine> engine = engine_of(query, kWindow);
    found = 0;
    for (const Batch& batch : batches) {
      found += low_bits(count_matches(*engine->push(batch), std::nullopt));
      if (graph_bytes == 0) {
        const EngineStats stats = engine->stats();
        graph_bytes = static_cast<double>(stats.graph_bytes) / static_cast<double>(stats.rows);
      }
    }
  });
  const bool is_right = found == sum(expected_by_end(query, types, kWindow));
  report.add({"update " + name, "rows", rows / seconds, seconds / scan, graph_bytes, is_right});
  report.add({"count " + name, "rows", rows / counting, counting / scan, graph_bytes, is_right});
}

struct Read {
  uint64_t matches = 0;
  uint64_t positions = 0;
  uint64_t ends = 0;  // The sum of their last positions.
};

Read read_all(const ResultSet& results, const Cea& cea, std::optional<uint64_t> limit) {
  Read read;
  Enumerator enumerator(results, limit);
  for (;;) {
    const MatchColumns columns = read_matches(enumerator, cea, kReadAtOnce);
    if (columns.starts.empty()) return read;
    read.matches += columns.starts.size();
    for (Position end : columns.ends) read.ends += static_cast<uint64_t>(end);
    for (const PositionLists& lists : columns.variables) read.positions += lists.positions.size();
  }
}

// All results end at the last row; before it there are none.
void stress(const Query& query, uint32_t kinds, int64_t rows, Report& report) {
  Types types = make_types(rows, kinds - 1);
  types.back() = static_cast<int8_t>(kinds - 1);
  const Batch batch = batch_of(types, 0, rows);
  const std::unique_ptr<Engine> engine = engine_of(query, 0);
  const std::shared_ptr<ResultSet> results = engine->push(batch);
  const auto graph = static_cast<double>(engine->stats().graph_bytes) / static_cast<double>(rows);
  Read read;
  const double seconds = best_seconds([&] { read = read_all(*results, *query.cea, std::nullopt); });
  const uint64_t expected = sum(expected_by_end(query, types, 0));
  const bool is_right = read.matches == expected && read.positions == expected * kinds &&
                        read.ends == expected * static_cast<uint64_t>(rows - 1);
  report.add({"read " + query.name + " stress", "results",
              static_cast<double>(read.matches) / seconds, 0, graph, is_right});
}

// Long results: up to kLimit for each row that ends some.
void long_results(const Query& query, const Types& types, Report& report) {
  const Types head(types.begin(),
                   types.begin() + std::min<int64_t>(20'000, static_cast<int64_t>(types.size())));
  const std::unique_ptr<Engine> engine = engine_of(query, kWindow);
  const std::shared_ptr<ResultSet> results =
      engine->push(batch_of(head, 0, static_cast<int64_t>(head.size())));
  Read read;
  const double seconds = best_seconds([&] { read = read_all(*results, *query.cea, kLimit); });
  uint64_t expected = 0;
  for (uint64_t count : expected_by_end(query, head, kWindow)) {
    expected += std::min(count, uint64_t{kLimit});
  }
  const auto rows = static_cast<double>(head.size());
  const auto graph = static_cast<double>(engine->stats().graph_bytes) / rows;
  report.add({"read " + query.name + ", limit 1000", "positions",
              static_cast<double>(read.positions) / seconds, 0, graph, read.matches == expected});
}

void run(int64_t rows, Report& report) {
  const std::vector<Query> all = queries();
  report.head();
  const Types dense = make_types(rows, 5);
  const std::vector<Batch> dense_batches = batches_of(dense);
  const double scan = bare_scan("five types", dense, report);
  classes(dense, dense_batches, scan, report);
  for (const Query& query : all) {
    update_and_count(query.name, query, dense, dense_batches, scan, report);
  }
  const Types sparse = make_types(rows, 4, 1, 100);
  const std::vector<Batch> sparse_batches = batches_of(sparse);
  const double sparse_scan = bare_scan("1 % relevant", sparse, report);
  for (const Query& query : all) {
    update_and_count(query.name + ", 1 %", query, sparse, sparse_batches, sparse_scan, report);
  }
  const int64_t stress_rows = std::min(kStressRows, std::max<int64_t>(10, rows / 5));
  stress(named(all, "Q1"), 3, stress_rows, report);
  stress(named(all, "Q2"), 4, stress_rows, report);
  long_results(named(all, "Q5"), dense, report);
  std::printf("peak memory %.1f MB\n", peak_megabytes());
}

int main_of(const std::vector<std::string>& given) {
  int64_t rows = 1'000'000;
  std::string json;
  for (size_t at = 0; at < given.size(); at += 2) {
    const bool has_value = at + 1 < given.size();
    if (has_value && given[at] == "--rows") {
      rows = std::strtoll(given[at + 1].c_str(), nullptr, 10);
    } else if (has_value && given[at] == "--json") {
      json = given[at + 1];
    } else {
      rows = 0;
    }
  }
  if (rows < 1) {
    std::fprintf(stderr, "usage: micro [--rows N] [--json FILE]\n");
    return 2;
  }
  Report report;
  run(rows, report);
  if (!json.empty()) report.write_json(json);
  if (!report.is_right()) std::fprintf(stderr, "an answer is wrong\n");
  return report.is_right() ? 0 : 1;
}

}  // namespace
}  // namespace catena::micro

int main(int count, char** given) {
  try {
    return catena::micro::main_of({given + 1, given + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
