// Addresses among arguments: found wherever they stand, and refused where anything else changes with them.
#include "backends/nvidia/gemm/lt/argument_places.h"

#include <gtest/gtest.h>

#include <cstring>

namespace infini::nvidia {
namespace {

using Bytes = std::vector<std::byte>;

// As a library might lay out its arguments: a number, C, A + 64, B at an odd word, the workspace's counters.
Bytes arguments_for(const Addresses& addresses) {
  Bytes bytes(96, std::byte{7});
  const auto put = [&](size_t offset, uint64_t value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
  };
  put(8, addresses[2]);
  put(16, addresses[0] + 64);
  put(28, addresses[1]);
  put(40, addresses[3] + 14'680'096);
  put(88, addresses[2]);
  return bytes;
}

TEST(ArgumentPlaces, FindsEveryAddress) {
  const auto places = find_places(arguments_for(made_up_addresses), arguments_for(other_addresses));
  ASSERT_TRUE(places);
  const ArgumentPlaces wanted{{8, 2, 0}, {16, 0, 64}, {28, 1, 0}, {40, 3, 14'680'096}, {88, 2, 0}};
  EXPECT_EQ(wanted, *places);
}

TEST(ArgumentPlaces, FilledInTheyAreAnotherCallsArguments) {
  Bytes bytes = arguments_for(made_up_addresses);
  const auto places = find_places(bytes, arguments_for(other_addresses));
  ASSERT_TRUE(places);
  const Addresses real{0x1000, 0x2000, 0x3000, 0x4000};
  fill_in(*places, real, bytes.data());
  EXPECT_EQ(arguments_for(real), bytes);
}

TEST(ArgumentPlaces, NothingElseMayChange) {
  const Bytes one = arguments_for(made_up_addresses);
  Bytes other = arguments_for(other_addresses);
  other[60] = std::byte{8};  // such as a flag that tells how an operand is aligned
  EXPECT_FALSE(find_places(one, other));
  other = arguments_for(other_addresses);
  other.push_back({});
  EXPECT_FALSE(find_places(one, other));
  Bytes shifted = one;  // an address in another form, such as a quarter of it
  const uint64_t quarter = other_addresses[0] / 4;
  std::memcpy(shifted.data() + 64, &quarter, sizeof quarter);
  EXPECT_FALSE(find_places(one, shifted));
}

TEST(ArgumentPlaces, NoneAreFine) {
  const Bytes bytes(4, std::byte{1});
  EXPECT_EQ(ArgumentPlaces{}, find_places(bytes, bytes));
}

}  // namespace
}  // namespace infini::nvidia
