// Little-endian bytes: see bytes.h. Every read goes through take(), the one bounds check.
#include "base/bytes.h"

#include <bit>
#include <string>

#include "base/error.h"

namespace catena {

void ByteWriter::little_endian(uint64_t value, int width) {
  for (int i = 0; i < width; ++i) {
    bytes_.push_back(static_cast<std::byte>(value & 0xff));
    value >>= 8;
  }
}

void ByteWriter::u8(uint8_t value) { little_endian(value, 1); }
void ByteWriter::u32(uint32_t value) { little_endian(value, 4); }
void ByteWriter::u64(uint64_t value) { little_endian(value, 8); }
void ByteWriter::i64(int64_t value) { little_endian(static_cast<uint64_t>(value), 8); }
void ByteWriter::f64(double value) { little_endian(std::bit_cast<uint64_t>(value), 8); }

void ByteWriter::bytes(std::span<const std::byte> value) {
  u64(value.size());
  bytes_.insert(bytes_.end(), value.begin(), value.end());
}

void ByteWriter::text(std::string_view value) {
  bytes(std::as_bytes(std::span<const char>(value.data(), value.size())));
}

std::span<const std::byte> ByteReader::take(uint64_t length, const char* what) {
  if (length > remaining()) {
    throw Error(ErrorKind::kSnapshot, "the snapshot is damaged: it ends inside " +
                                          std::string(what) + " at byte " +
                                          std::to_string(position_));
  }
  const auto part = bytes_.subspan(position_, static_cast<size_t>(length));
  position_ += part.size();
  return part;
}

uint64_t ByteReader::little_endian(int width, const char* what) {
  uint64_t value = 0;
  int shift = 0;
  for (const std::byte byte : take(static_cast<uint64_t>(width), what)) {
    value |= std::to_integer<uint64_t>(byte) << shift;
    shift += 8;
  }
  return value;
}

uint8_t ByteReader::u8() { return static_cast<uint8_t>(little_endian(1, "a byte")); }
uint32_t ByteReader::u32() { return static_cast<uint32_t>(little_endian(4, "a number")); }
uint64_t ByteReader::u64() { return little_endian(8, "a number"); }
int64_t ByteReader::i64() { return static_cast<int64_t>(little_endian(8, "a number")); }
double ByteReader::f64() { return std::bit_cast<double>(little_endian(8, "a number")); }

std::span<const std::byte> ByteReader::bytes() { return take(u64(), "a run of bytes"); }

std::string_view ByteReader::text() {
  const auto part = bytes();
  return {reinterpret_cast<const char*>(part.data()), part.size()};
}

uint64_t ByteReader::count(uint64_t element_bytes_min) {
  const uint64_t elements = u64();
  if (element_bytes_min > 0 && elements > remaining() / element_bytes_min) {
    throw Error(ErrorKind::kSnapshot, "the snapshot is damaged: it announces " +
                                          std::to_string(elements) + " elements in " +
                                          std::to_string(remaining()) + " bytes");
  }
  return elements;
}

void ByteReader::expect_end() const {
  if (remaining() == 0) return;
  throw Error(ErrorKind::kSnapshot,
              "the snapshot is damaged: " + std::to_string(remaining()) + " bytes follow its end");
}

uint64_t checksum(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) {
    hash = (hash ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace catena
