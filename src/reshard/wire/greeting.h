// What a sender tells before a message of a resharding, so that a receiver that expects something else takes none of it.
#pragma once

#include <cstdint>

namespace infini {

struct Greeting {
  static constexpr uint64_t own_word = 0x6472616873657269;  // "ireshard"
  uint64_t word = own_word, hash = 0;                       // hash: of the plan
  uint64_t bytes = 0,
           piece_bytes = 0;  // that are still to come to the peer, and of a piece at most
};

// Throws BAD_PARAM or INTERNAL_ERROR where `peer` told something else.
void require_same(const Greeting& told, const Greeting& expected, int peer);

}  // namespace infini
