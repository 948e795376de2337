// Little-endian bytes for snapshots and plans: a writer that grows and a reader that never reads
// past its end.
//
// Invariant: what ByteWriter wrote, ByteReader reads back with the same calls in the same order,
// on any machine. A reader given arbitrary bytes throws Error kSnapshot or returns values; it has
// no undefined behaviour and allocates nothing.
// Cost: linear in the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace catena {

class ByteWriter {
 public:
  void u8(uint8_t value);
  void u32(uint32_t value);
  void u64(uint64_t value);
  void i64(int64_t value);
  void f64(double value);  // The bits, so that NaN and -0.0 survive.
  // Both write the length as u64 first.
  void bytes(std::span<const std::byte> value);
  void text(std::string_view value);

  size_t size() const { return bytes_.size(); }
  std::span<const std::byte> view() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void little_endian(uint64_t value, int width);

  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  // The bytes must outlive the reader and the views it returns.
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint8_t u8();
  uint32_t u32();
  uint64_t u64();
  int64_t i64();
  double f64();
  std::span<const std::byte> bytes();
  std::string_view text();
  // A u64 that counts elements of at least `element_bytes_min` bytes each which are still to be
  // read: a damaged count is refused before anything is allocated for it.
  uint64_t count(uint64_t element_bytes_min);

  size_t remaining() const { return bytes_.size() - position_; }
  void expect_end() const;  // Throws when bytes are left over.

 private:
  uint64_t little_endian(int width, const char* what);
  std::span<const std::byte> take(uint64_t length, const char* what);

  std::span<const std::byte> bytes_;
  size_t position_ = 0;
};

// FNV-1a, 64 bits: tells accidental damage, not forgery.
uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace catena
