#include "bare_scan.h"

int64_t catena_bare_scan(const uint8_t* table, int64_t class_count, const int8_t* classes,
                         int64_t count, uint8_t counted, uint8_t* state) {
  int64_t found = 0;
  int64_t at = *state;
  for (int64_t row = 0; row < count; ++row) {
    at = table[at * class_count + classes[row]];
    found += at == counted ? 1 : 0;
  }
  *state = static_cast<uint8_t>(at);
  return found;
}
