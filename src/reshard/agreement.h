// Whether all ranks succeeded, told to each of them in about log2(ranks) small messages.
#pragma once

#include <memory>
#include <string>

#include "reshard/wire.h"

namespace infini {

class Agreement {
 public:
  Agreement(Wire& wire, int tag, uint64_t plan_hash, double timeout)
      : wire_(wire), tag_(tag), hash_(plan_hash), timeout_(timeout) {}

  // Collective. Does not throw: who is not heard of in time has failed.
  bool reach(bool well) noexcept;
  const std::string& why() const { return why_; }

 private:
  struct Word {
    uint64_t hash, well;
  };
  struct Words {
    Word mine, theirs;
  };
  void round(int distance, Deadline deadline);

  Wire& wire_;
  int tag_;
  uint64_t hash_;
  double timeout_;
  bool well_ = true;
  std::unique_ptr<Words> words_;  // on the wire
  std::string why_ = "another rank failed";
};

}  // namespace infini
