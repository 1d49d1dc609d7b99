// Finding addresses among arguments.
#include "backends/nvidia/gemm/lt/argument_places.h"

#include <algorithm>
#include <cstring>

namespace infini::nvidia {
namespace {

constexpr uint64_t reach = uint64_t{1} << 36;  // that an operand may lie behind its address
constexpr size_t word = 4;                     // addresses begin with one

uint64_t read_address(std::span<const std::byte> arguments, size_t offset) {
  uint64_t value = 0;
  std::memcpy(&value, arguments.data() + offset, sizeof value);
  return value;
}

}  // namespace

void fill_in(const ArgumentPlaces& places, const Addresses& addresses, std::byte* arguments) {
  for (const ArgumentPlace& place : places) {
    const uint64_t value = addresses[place.which] + place.beyond;
    std::memcpy(arguments + place.offset, &value, sizeof value);
  }
}

std::optional<ArgumentPlaces> find_places(std::span<const std::byte> arguments,
                                          std::span<const std::byte> others) {
  if (arguments.size() != others.size()) return std::nullopt;
  ArgumentPlaces places;
  for (size_t offset = 0; offset + sizeof(uint64_t) <= arguments.size(); offset += word) {
    const uint64_t value = read_address(arguments, offset);
    for (uint32_t which = 0; which < made_up_addresses.size(); ++which)
      if (value - made_up_addresses[which] < reach)
        places.push_back({static_cast<uint32_t>(offset), which, value - made_up_addresses[which]});
  }
  std::vector<std::byte> filled(arguments.begin(), arguments.end());
  fill_in(places, other_addresses, filled.data());
  if (!std::equal(filled.begin(), filled.end(), others.begin())) return std::nullopt;
  return places;
}

}  // namespace infini::nvidia
