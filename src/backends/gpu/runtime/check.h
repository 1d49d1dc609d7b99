// Turning a vendor's status into an Error that carries the vendor's own words.
#pragma once

#include "base/error.h"
#include "vendor.h"

namespace infini::gpu {

// What to do about an error that its vendor's words leave open.
inline const char* advice(Status status) {
  if (our_status(status) != INFINI_STATUS_DEVICE_ARCHITECTURE_NOT_SUPPORTED) return "";
  return ". The module libinfini-<vendor>.so was built without code for this chip: build it on "
         "this machine, or for every "
         "chip (docs/build.md, INFINI_CUDA_ARCHITECTURES)";
}

// `what` names what was tried: "cannot allocate 64 bytes". The vendor's pending error is cleared,
// so that the next call starts fresh (errors that a driver holds on to come back by themselves).
template <class... Parts>
void check(Status status, const Parts&... what) {
  if (status == success) [[likely]]
    return;
  take_last_error();
  fail(our_status(status), what..., ": ", vendor_title, " says ", status_name(status), ", ",
       status_text(status), advice(status));
}

}  // namespace infini::gpu
