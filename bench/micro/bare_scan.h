// The baseline of all that reads rows: one look-up in a table per row, `state =
// table[state][class]`.
//
// It is what an automaton costs that knows the class of each row and keeps nothing else: no
// matches, no windows. Each look-up waits for the one before it, so it runs at the latency of the
// first cache. Cost: one dependent load per row.
#pragma once

#include <cstdint>

extern "C" {

#if defined(__GNUC__)
#define CATENA_EXPORTED __attribute__((visibility("default")))
#else
#define CATENA_EXPORTED
#endif

// Reads `count` classes, which are below `class_count`; `table` has a row of next states for each
// state. Gives how many rows led to the state `counted`; `state` is where it begins and ends.
CATENA_EXPORTED int64_t catena_bare_scan(const uint8_t* table, int64_t class_count,
                                         const int8_t* classes, int64_t count, uint8_t counted,
                                         uint8_t* state);
}
