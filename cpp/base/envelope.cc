#include "base/envelope.h"

#include "base/bytes.h"
#include "base/error.h"

namespace catena {
namespace {

constexpr std::string_view kMagic = "catena snapshot";
constexpr uint32_t kVersion = 1;

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

void require_intact(bool condition, const char* what) {
  if (!condition) {
    throw Error(ErrorKind::kSnapshot, std::string("the snapshot is damaged: ") + what);
  }
}

std::string seal(std::span<const std::byte> payload, const std::string& plan_hash) {
  ByteWriter out;
  out.u32(kVersion);
  out.text(plan_hash);
  out.bytes(payload);
  std::string result(kMagic);
  const auto append = [&](std::span<const std::byte> bytes) {
    result.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  append(out.view());
  ByteWriter sum;
  sum.u64(checksum(as_bytes(result)));
  append(sum.view());
  return result;
}

std::span<const std::byte> unseal(std::string_view bytes, const std::string& plan_hash) {
  const auto all = as_bytes(bytes);
  require_intact(bytes.starts_with(kMagic), "it does not begin like a snapshot");
  require_intact(all.size() >= kMagic.size() + 12, "it is cut short");
  ByteReader tail(all.last(8));
  require_intact(tail.u64() == checksum(all.first(all.size() - 8)), "its checksum is wrong");
  ByteReader in(all.subspan(kMagic.size(), all.size() - kMagic.size() - 8));
  const uint32_t version = in.u32();
  if (version != kVersion) {
    throw Error(ErrorKind::kSnapshot, "the snapshot has format version " + std::to_string(version) +
                                          "; this release reads " + std::to_string(kVersion));
  }
  if (in.text() != plan_hash) {
    throw Error(ErrorKind::kSnapshot,
                "the snapshot was taken from another query, or with other settings");
  }
  const auto payload = in.bytes();
  in.expect_end();
  return payload;
}

}  // namespace catena
