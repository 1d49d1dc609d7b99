// Agreement by dissemination: in round k a rank tells what it knows to the one 2^k further on. After all rounds each knows of
// every other.
#include "reshard/wire/agreement.h"

#include "base/error.h"

namespace infini {

void Agreement::exchange(int to, int from, Deadline deadline) {
  if (!wire_.has_rounds()) {
    wire_.send(to, tag_, &words_->mine, sizeof(Word));
    wire_.receive(from, tag_, &words_->theirs, sizeof(Word));
    while (wire_.posted() > 0) wire_.wait_any(deadline);
    return;
  }
  Wire::Round round;
  round.transfers = {{to, 1, &words_->mine, sizeof(Word)},
                     {from, 0, &words_->theirs, sizeof(Word)}};
  wire_.begin_round(round, tag_, false, nullptr);
  if (!wire_.end_round(round, nullptr, seconds_until(deadline))) wire_.fail_late(round);
}

void Agreement::round(int distance, Deadline deadline) {
  const int ranks = wire_.ranks(), rank = wire_.rank();
  const uint64_t told =
      (well_ ? all_well : 0) | (plans_differ_ ? plans_differ : 0) | kinds_ * first_kind;
  words_.reset(new Words{{hash_, told}, {0, 0}});
  const Word& theirs = words_->theirs;
  const int from = (rank - distance + ranks) % ranks;
  exchange((rank + distance) % ranks, from, deadline);
  const bool differs = theirs.hash != hash_;
  if (well_ && differs)
    why_ = "rank " + std::to_string(from) + " runs another plan than this rank";
  else if (well_ && (theirs.told & plans_differ) != 0)
    why_ = "ranks run different plans";
  plans_differ_ = plans_differ_ || differs || (theirs.told & plans_differ) != 0;
  well_ = well_ && (theirs.told & all_well) != 0 && !differs;
  kinds_ |= theirs.told / first_kind;
}

bool Agreement::reach(bool well, uint64_t kinds) noexcept {
  well_ = well;
  kinds_ = kinds;
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
