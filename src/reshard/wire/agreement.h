// Whether all ranks succeeded, told to each of them in about log2(ranks) small messages.
#pragma once

#include <memory>
#include <string>

#include "reshard/wire/wire.h"

namespace infini {

class Agreement {
 public:
  Agreement(Wire& wire, int tag, uint64_t plan_hash, double timeout)
      : wire_(wire), tag_(tag), hash_(plan_hash), timeout_(timeout) {}

  // Collective. Does not throw: who is not heard of in time has failed. kinds: bits that are told along.
  bool reach(bool well, uint64_t kinds = 0) noexcept;
  const std::string& why() const { return why_; }
  // Of all ranks, once all went well.
  uint64_t kinds() const { return kinds_; }

 private:
  struct Word {
    uint64_t hash, told;  // what all that this rank heard of have told
  };
  static constexpr uint64_t all_well = 1, plans_differ = 2, first_kind = 4;  // bits of `told`
  struct Words {
    Word mine, theirs;
  };
  void round(int distance, Deadline deadline);
  void exchange(int to, int from, Deadline deadline);

  Wire& wire_;
  int tag_;
  uint64_t hash_;
  double timeout_;
  bool well_ = true, plans_differ_ = false;
  uint64_t kinds_ = 0;
  std::unique_ptr<Words> words_;  // on the wire
  std::string why_ = "another rank failed";
};

}  // namespace infini
