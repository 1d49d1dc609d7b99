// Agreement by dissemination: in round k a rank tells what it knows to the one 2^k further on. After all rounds each knows of
// every other.
#include "reshard/agreement.h"

#include "base/error.h"

namespace infini {

void Agreement::round(int distance, Deadline deadline) {
  const int ranks = wire_.ranks(), rank = wire_.rank();
  words_.reset(new Words{{hash_, well_ ? 1u : 0u}, {0, 0}});
  const Word& theirs = words_->theirs;
  const int from = (rank - distance + ranks) % ranks;
  wire_.send((rank + distance) % ranks, tag_, &words_->mine, sizeof(Word));
  wire_.receive(from, tag_, &words_->theirs, sizeof(Word));
  while (wire_.posted() > 0) wire_.wait_any(deadline);
  if (theirs.well == 1 && theirs.hash != hash_)
    why_ = "rank " + std::to_string(from) + " runs another plan than this rank";
  well_ = well_ && theirs.well == 1 && theirs.hash == hash_;
}

bool Agreement::reach(bool well) noexcept {
  well_ = well;
  // Others may still be waiting for somebody as long as the timeout before they come here.
  const Deadline deadline = after_seconds(1.5 * timeout_);
  for (int64_t distance = 1; distance < wire_.ranks(); distance *= 2) {
    try {
      round(static_cast<int>(distance), deadline);
    } catch (const std::exception& error) {
      if (well_) why_ = error.what();
      well_ = false;
      if (!wire_.give_up()) (void)words_.release();  // the transport may still use them
    }
  }
  return well_;
}

}  // namespace infini
