// What every snapshot is wrapped in: magic, version, the plan's hash, the payload, a checksum.
//
// Invariant: `unseal` gives the payload that `seal` was given for the same plan, or throws Error of
// kind kSnapshot, whatever the bytes. The format is in docs/formats.md. Cost: linear in the bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace catena {

std::string seal(std::span<const std::byte> payload, const std::string& plan_hash);

// A view into `bytes`.
std::span<const std::byte> unseal(std::string_view bytes, const std::string& plan_hash);

// Throws Error of kind kSnapshot unless what a reader has found is as it must be.
void require_intact(bool condition, const char* what);

}  // namespace catena
