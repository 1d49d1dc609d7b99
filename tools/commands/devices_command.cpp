// infini devices: what there is, what it offers, and why the rest is not there.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/device_kind.h"
#include "base/paragraph.h"
#include "harness/operators/operators.h"
#include "infinirt.h"
#include "runtime/module_folders.h"
#include "runtime/registry.h"
#include "tools/commands.h"
#include "tools/report/report.h"

namespace infini::tools {
namespace {

using harness::JsonObject;

// What a backend has kernels for: rearrange and gemm have slots of their own, all others one together.
bool offers(const KernelTable& kernels, const std::string& name) {
  return name == "rearrange" ? kernels.rearrange != nullptr
         : name == "gemm"    ? kernels.gemm != nullptr
                             : kernels.operators != nullptr;
}

std::string offered_names(const KernelTable& kernels) {
  std::string text;
  for (const auto& name : harness::operator_names())
    if (offers(kernels, name)) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// One device, in words and for programs.
void report_device(infiniDevice_t kind, int id, std::vector<std::string>& json) {
  const KernelTable& kernels = find_backend(kind)->kernels;
  Device& device = open_device(kind, id);
  device.make_current();
  const MemoryInfo memory = device.memory_info();
  constexpr double gib = 1 << 30;
  char start[32];
  std::snprintf(start, sizeof start, "%-9s %d  ", device_kind_name(kind), id);
  const std::string margin(std::strlen(start), ' ');
  std::printf("%s%s%.1f of %.1f GiB free\n%s", paragraph(start, device.description()).c_str(),
              margin.c_str(), static_cast<double>(memory.free_bytes) / gib,
              static_cast<double>(memory.total_bytes) / gib,
              paragraph(margin, offered_names(kernels)).c_str());
  JsonObject object;
  object.add("kind", device_kind_name(kind))
      .add("id", id)
      .add("description", device.description())
      .add("free_bytes", memory.free_bytes)
      .add("total_bytes", memory.total_bytes);
  object.add("operators", kernels.operators != nullptr);
  for (const auto& name : harness::operator_names())
    object.add(name.c_str(), offers(kernels, name));
  json.push_back(object.text());
}

std::string absent_line(std::string name, const std::string& why) {
  name.resize(std::max<size_t>(name.size(), 9), ' ');
  return paragraph(name + " -  ", why);
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
  for (const auto& line : library_complaints()) lines.push_back(harness::json_string(line));
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
      std::printf("%s", absent_line(device_kind_name(kind), why).c_str());
  }
  if (!not_built.empty()) std::printf("%s", paragraph("not in this build: ", not_built).c_str());
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
