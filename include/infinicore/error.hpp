// infinicore/error.hpp: the one exception type of the library.
#pragma once

#include <stdexcept>
#include <string>

#include "../infinicore.h"

namespace infinicore {

// What was wrong in words (which argument, its value, what was expected) and as the C API's status.
class INFINI_EXPORT Error : public std::runtime_error {
 public:
  Error(infiniStatus_t status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  infiniStatus_t status() const noexcept { return status_; }

 private:
  infiniStatus_t status_;
};

}  // namespace infinicore
