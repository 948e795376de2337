// Q1 to Q6 of "Foundations of Complex Event Processing", Table 1, as automata over a column of
// types, and a count of their matches that shares nothing with the engine.
//
// The expected counts come from the queries' languages read backwards from the row that ends a
// match, state by state over the rows of a window, as in ../reference.py. Cost: rows x window.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "automaton/cea.h"
#include "columns/program.h"

namespace catena::micro {

// Types are numbers: 0 is A, 1 is B, and so on.
using Types = std::vector<int8_t>;
inline constexpr std::string_view kTypeNames = "ABCDEX";

struct Query {
  std::string name;
  std::shared_ptr<const Cea> cea;
  std::string backwards;  // State, type, next state: the last state accepts.
};

std::vector<Query> queries();
const Query& named(const std::vector<Query>& all, std::string_view name);

// Guard g holds where column 0 is the g-th of kTypeNames; as many as the queries need.
Program type_guards();

// By row: the matches that it ends, modulo 2^64. `window` is in rows; 0 is none.
std::vector<uint64_t> expected_by_end(const Query& query, const Types& types, int64_t window);
uint64_t sum(const std::vector<uint64_t>& counts);

// `relevant` of every `among` rows are one of the first `kinds` types, as likely; the others an X.
Types make_types(int64_t rows, uint32_t kinds, uint32_t relevant = 1, uint32_t among = 1);

}  // namespace catena::micro
