// The one exception of the engine, thrown only where a user can act; bugs are assertions.
//
// Invariant: the message is a whole sentence fit for the user; `kind` chooses the Python class it
// becomes, in one place of the bindings. `row` is set when one row of a batch is to blame, counted
// from the batch's first row.
// Cost: none until thrown.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace catena {

enum class ErrorKind {
  kUser,      // The query, the plan or the types of the columns do not fit together.
  kLimit,     // A budget given by the user is used up.
  kData,      // A value in a batch cannot be taken.
  kSnapshot,  // Stored bytes are damaged or belong to another query.
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind error_kind, const std::string& message,
        std::optional<int64_t> error_row = std::nullopt)
      : std::runtime_error(message), kind(error_kind), row(error_row) {}

  ErrorKind kind;
  std::optional<int64_t> row;
};

}  // namespace catena
