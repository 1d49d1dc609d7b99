// Where the arguments of a kernel that somebody else launches hold addresses: plain data, found by comparing two calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace infini::nvidia {

// Of A, B, C and the workspace, in any order that the caller keeps.
using Addresses = std::array<uint64_t, 4>;

// Two calls' addresses that lie nowhere near one another: in the first on whole pages, in the second as little aligned
// as a real call's may be (16 bytes, the workspace 256).
inline constexpr Addresses made_up_addresses{0x7000'0000'0000, 0x7100'0000'0000, 0x7200'0000'0000,
                                             0x7300'0000'0000},
    other_addresses{0x6543'2100'0010, 0x5987'6500'0030, 0x4abc'de00'0050, 0x3fed'cb00'0100};

// At `offset` stands addresses[which] + beyond.
struct ArgumentPlace {
  uint32_t offset, which;
  uint64_t beyond;
  bool operator==(const ArgumentPlace&) const = default;
};
using ArgumentPlaces = std::vector<ArgumentPlace>;

void fill_in(const ArgumentPlaces& places, const Addresses& addresses, std::byte* arguments);

// The places in the arguments of a call with made_up_addresses. Law: filled in with other_addresses they make the
// arguments of the other call, byte for byte; nothing if they do not, since then something else depends on the addresses.
std::optional<ArgumentPlaces> find_places(std::span<const std::byte> arguments,
                                          std::span<const std::byte> others);

}  // namespace infini::nvidia
