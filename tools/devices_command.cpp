// infini devices: what there is, what it offers, and why the rest is not there.
#include <cstdio>

#include "base/device_kind.h"
#include "base/environment.h"
#include "infinirt.h"
#include "runtime/module_folders.h"
#include "runtime/registry.h"
#include "tools/commands.h"
#include "tools/report.h"

namespace infini::tools {
namespace {

using harness::JsonObject;

// One device, in words and for programs.
void report_device(infiniDevice_t kind, int id, std::vector<std::string>& json) {
  const KernelTable& kernels = find_backend(kind)->kernels;
  Device& device = open_device(kind, id);
  device.make_current();
  const MemoryInfo memory = device.memory_info();
  constexpr double gib = 1 << 30;
  std::printf("%-9s %d  %s\n             %.1f of %.1f GiB free; %s%s%s\n", device_kind_name(kind),
              id, device.description().c_str(), static_cast<double>(memory.free_bytes) / gib,
              static_cast<double>(memory.total_bytes) / gib, kernels.rearrange ? "rearrange" : "",
              kernels.gemm ? ", gemm" : "",
              kernels.operators ? ", norms, softmax, rope, sampling, elementwise" : "");
  json.push_back(JsonObject()
                     .add("kind", device_kind_name(kind))
                     .add("id", id)
                     .add("description", device.description())
                     .add("free_bytes", memory.free_bytes)
                     .add("total_bytes", memory.total_bytes)
                     .add("rearrange", kernels.rearrange != nullptr)
                     .add("gemm", kernels.gemm != nullptr)
                     .add("operators", kernels.operators != nullptr)
                     .text());
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

std::string folders_json() {
  std::vector<std::string> folders;
  for (const auto& folder : module_folders().folders)
    folders.push_back(harness::json_string(folder.string()));
  return harness::json_array(folders);
}

std::string remarks_json() {
  std::vector<std::string> lines;
  for (const auto& remark : module_folders().remarks) lines.push_back(harness::json_string(remark));
  for (const auto& line : environment_complaints()) lines.push_back(harness::json_string(line));
  return harness::json_array(lines);
}

}  // namespace

int run_devices(Arguments& arguments) {
  const ReportFile file(arguments, ReportFile::Prints::nothing);
  arguments.require_none();
  JsonObject absent;
  std::vector<std::string> present;
  std::string not_built;
  for (int i = 0; i < INFINI_DEVICE_TYPE_COUNT; ++i) {
    const auto kind = static_cast<infiniDevice_t>(i);
    std::string why;
    const int count = device_count(kind, &why);
    for (int id = 0; id < count; ++id) report_device(kind, id, present);
    if (count > 0) continue;
    absent.add(device_kind_name(kind), why);
    if (find_backend(kind) == nullptr && why.starts_with("this build has no"))
      not_built += (not_built.empty() ? "" : ", ") + std::string(device_kind_name(kind));
    else
      std::printf("%-9s -  %s\n", device_kind_name(kind), why.c_str());
  }
  if (!not_built.empty()) std::printf("not in this build: %s\n", not_built.c_str());
  print_module_folders();
  print_complaints();
  file.write(start_report("devices")
                 .add_json("devices", harness::json_array(present))
                 .add_json("absent", absent.text())
                 .add_json("module_folders", folders_json())
                 .add_json("remarks", remarks_json())
                 .text(),
             true);
  return 0;
}

}  // namespace infini::tools
