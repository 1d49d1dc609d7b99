// What a receiver answers to an unexpected greeting.
#include "reshard/wire/greeting.h"

#include "base/error.h"

namespace infini {

void require_same(const Greeting& told, const Greeting& expected, int peer) {
  require(told.word == Greeting::own_word, INFINI_STATUS_INTERNAL_ERROR, "rank ", peer,
          " sent something else than a resharding");
  require(told.hash == expected.hash, INFINI_STATUS_BAD_PARAM, "rank ", peer,
          " runs another plan than this rank");
  require(told.piece_bytes == expected.piece_bytes, INFINI_STATUS_BAD_PARAM, "rank ", peer,
          " sends pieces of ", told.piece_bytes, " bytes; this rank expects ",
          expected.piece_bytes);
  require(told.bytes == expected.bytes, INFINI_STATUS_INTERNAL_ERROR, "rank ", peer,
          " is about to send ", told.bytes, " bytes; expected ", expected.bytes);
}

}  // namespace infini
