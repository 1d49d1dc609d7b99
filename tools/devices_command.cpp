// infini devices: what there is, what it offers, and why the rest is not there.
#include <cstdio>

#include "base/device_kind.h"
#include "infinirt.h"
#include "runtime/module_folders.h"
#include "runtime/registry.h"
#include "tools/arguments.h"

namespace infini::tools {
namespace {

void print_devices(infiniDevice_t kind, int count) {
  const KernelTable& kernels = find_backend(kind)->kernels;
  for (int id = 0; id < count; ++id) {
    Device& device = open_device(kind, id);
    device.make_current();
    const MemoryInfo memory = device.memory_info();
    constexpr double gib = 1 << 30;
    std::printf("%-9s %d  %s\n             %.1f of %.1f GiB free; %s%s\n", device_kind_name(kind),
                id, device.description().c_str(), static_cast<double>(memory.free_bytes) / gib,
                static_cast<double>(memory.total_bytes) / gib, kernels.rearrange ? "rearrange" : "",
                kernels.gemm ? ", gemm" : "");
  }
}

// Where modules would come from, and what of that was not followed.
void print_module_folders() {
  const auto& [folders, remarks] = module_folders();
  std::error_code ignored;
  for (const auto& folder : folders)
    if (std::filesystem::is_directory(folder, ignored))
      std::printf("modules are looked for in %s\n", folder.c_str());
  for (const std::string& remark : remarks) std::printf("note: %s\n", remark.c_str());
}

}  // namespace

int run_devices(Arguments& arguments) {
  arguments.require_none();
  std::string not_built;
  for (int i = 0; i < INFINI_DEVICE_TYPE_COUNT; ++i) {
    const auto kind = static_cast<infiniDevice_t>(i);
    std::string why;
    if (const int count = device_count(kind, &why))
      print_devices(kind, count);
    else if (find_backend(kind) == nullptr && why.starts_with("this build has no"))
      not_built += (not_built.empty() ? "" : ", ") + std::string(device_kind_name(kind));
    else
      std::printf("%-9s -  %s\n", device_kind_name(kind), why.c_str());
  }
  if (!not_built.empty()) std::printf("not in this build: %s\n", not_built.c_str());
  print_module_folders();
  print_complaints();
  return 0;
}

}  // namespace infini::tools
