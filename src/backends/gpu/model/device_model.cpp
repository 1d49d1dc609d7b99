// The device model in words.
#include "backends/gpu/model/device_model.h"

#include <sstream>

namespace infini::gpu {

std::string to_string(const DeviceModel& model) {
  std::ostringstream text;
  text.precision(4);
  text << (model.asked ? "device: " : "device (assumed): ") << model.processors << " processors at "
       << model.clock_ghz << " GHz, " << model.memory_bytes_per_ns << " bytes/ns, L2 of "
       << (model.l2_bytes >> 20) << " MiB, " << (model.shared_bytes >> 10)
       << " KiB of shared memory each";
  if (!model.fitted)
    text << "; costs were never fitted on this kind of chip, those of an "
         << model.rearrange->fitted_on << " are assumed";
  return text.str();
}

}  // namespace infini::gpu
