// From columns to one class per row: evaluates a predicate program, then looks the bits up.
//
// Rows are taken in chunks of kChunkRows, so that all buffers stay in cache; each node of the
// program is one pass over its operands' buffers. String conditions are tables over string codes.
//
// Nodes that depend on the run are left out; what they read of the row is given out beside the
// classes, as values by row.
//
// Where all guards ask one string column alone, as queries on types do, the class is a function of
// the code: it is worked out once for each code, by evaluating the program on rows that have just
// these codes, and a row costs one table look-up, of a dictionary's index or of its code.
//
// Invariant: buffers are allocated at construction; once warm, nothing is allocated per row.
// Cost: one pass per node and chunk, one trie look-up per row and eight guards; or a look-up a row.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "columns/batch.h"
#include "columns/class_trie.h"
#include "columns/program.h"
#include "columns/string_codes.h"
#include "columns/value.h"

namespace catena {

// What nodes that depend on the run read of rows: by node, a value for each row.
struct RowValues {
  std::vector<uint32_t> nodes;
  std::vector<std::vector<Value>> of_row;  // By place in `nodes`, then by row.
};

class Classifier {
 public:
  // The trie must outlive this object. Throws Error if the program is not valid.
  Classifier(Program program, ClassTrie& classes);
  Classifier(const Classifier&) = delete;
  Classifier& operator=(const Classifier&) = delete;

  void classify(const Batch& batch, int64_t begin, int64_t count, ClassId* classes);

  // Of the rows that were classified last, counted from the first of them. Text lies in the batch.
  const RowValues& row_values() const { return row_values_; }

 private:
  // What a node has computed for the rows of a chunk. Bool nodes use `truth`; the others the values
  // of their type, and `valid` where `may_be_null`.
  struct Buffer {
    std::vector<uint8_t> truth;
    std::vector<int64_t> ints;
    std::vector<Wide> wides;
    std::vector<double> floats;
    std::vector<uint8_t> valid;
    bool may_be_null = false;
  };
  struct ColumnCodes {
    StringCodes codes;
    std::vector<uint32_t> of_row;
    uint64_t batch_id = UINT64_MAX;
  };

  void allocate(size_t node);
  void fill_literal(size_t node);
  bool is_literal(uint32_t node) const { return program_.nodes[node].op == Op::kLiteral; }
  bool is_code_test(const Node& node) const;

  void check_columns(const Batch& batch);
  void find_code_column();
  void start_batch(const Batch& batch, size_t column);
  void classify_by_code(const Batch& batch, int64_t begin, int64_t count, ClassId* classes);
  void cover_codes(const Batch& batch);
  void evaluate(const Batch& batch, int64_t begin, int64_t count);
  void evaluate_nodes(const Batch& batch, int64_t begin, int64_t count);
  void evaluate_node(size_t index, const Batch& batch, int64_t begin, int64_t count);
  void load_column(const Node& node, Buffer& out, const Batch& batch, int64_t begin, int64_t count);
  void test_codes(size_t index, const Batch& batch, int64_t begin, int64_t count);
  void compare_strings(const Node& node, Buffer& out, const Batch& batch, int64_t begin,
                       int64_t count);
  void compare(const Node& node, Buffer& out, int64_t count);
  void compute(const Node& node, Buffer& out, int64_t count);
  void convert(const Node& node, Buffer& out, int64_t count);
  void find_nulls(const Node& node, Buffer& out, const Batch& batch, int64_t begin, int64_t count);
  void combine(const Node& node, Buffer& out, int64_t count);
  void look_up_classes(int64_t count, ClassId* classes);
  void find_row_values();
  void give_out(const Batch& batch, int64_t begin, int64_t count, int64_t first);
  void give_out_node(uint32_t node, const Batch& batch, int64_t begin, int64_t count, Value* out);

  template <typename T>
  void compare_as(const Node& node, Buffer& out, int64_t count);
  template <typename T>
  void compute_as(const Node& node, Buffer& out, int64_t count);
  template <typename T>
  static std::vector<T>& values_of(Buffer& buffer);
  template <typename T>
  Operand<T> operand(uint32_t node);

  Program program_;
  ClassTrie& classes_;
  std::vector<bool> of_run_;  // By node.
  RowValues row_values_;
  std::vector<Buffer> buffers_;                        // By node.
  std::vector<std::unique_ptr<StringTruth>> truths_;   // By node; only for tests of codes.
  std::vector<std::unique_ptr<ColumnCodes>> columns_;  // By column; only for columns with codes.
  uint64_t checked_batch_id_ = UINT64_MAX;
  std::optional<uint32_t> code_column_;  // The one that all guards ask, if there is just one.
  std::vector<ClassId> class_of_code_;   // As far as codes of that column were seen,
  uint64_t generation_ = UINT64_MAX;     // since its interner last started over.
  std::vector<ClassId> class_of_index_;  // Of the batch's dictionary, null's last.
  std::vector<uint8_t> packed_;          // Guard bits of a chunk.
};

}  // namespace catena
