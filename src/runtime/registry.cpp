// Loading backend modules and opening devices.
#include "runtime/registry.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <new>
#include <vector>

#include "backends/cpu/backend.h"
#include "base/environment.h"
#include "base/threads/lazy.h"
#include "base/threads/mutex.h"
#include "runtime/module_folders.h"

namespace infini {
namespace {

// What is known of one kind of device. Filled once, never destroyed: vendor libraries must not be
// called from static destructors.
struct Slot {
  Mutex mutex;                      // guards filling, and devices
  std::atomic<bool> filled{false};  // the next three will not change any more
  const Backend* backend = nullptr;
  int count = 0;
  std::string why_none;
  std::vector<std::unique_ptr<Device>> devices;
};

Slot& known_of(infiniDevice_t kind) {
  static constinit Lazy<std::array<Slot, INFINI_DEVICE_TYPE_COUNT>> all;
  return all.get()[kind];
}

// The file of this name in the first folder that has it; else empty, and `why` says where it is not.
std::filesystem::path find_module(const std::string& file, std::string& why) {
  const auto& [folders, remarks] = module_folders();
  std::error_code ignored;
  for (const auto& folder : folders)
    if (std::filesystem::exists(folder / file, ignored)) return folder / file;
  if (folders.size() == 1)
    why = (folders.front() / file).string() + " does not exist";
  else if (!folders.empty())
    why = file + " is not in " + folders.front().string() + " nor in " + folders[1].string();
  else
    why = "no folder to look for " + file + " in: " + remarks.front();
  return {};
}

const Backend* load_module(infiniDevice_t kind, std::string& why) {
  const auto path = find_module(std::string("libinfini-") + device_kind_name(kind) + ".so", why);
  if (path.empty()) {
    why = std::string("this build has no ") + device_kind_name(kind) + " module (" + why + ")";
    return nullptr;
  }
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    why = std::string("the module could not be loaded: ") + dlerror();
    return nullptr;
  }
  using Entry = const Backend* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(module, "infini_backend"));
  const Backend* backend = entry ? entry() : nullptr;
  if (backend == nullptr || backend->version != contract_version || backend->kind != kind) {
    why = path.string() + " was not built for this version of the library";
    return nullptr;
  }
  backend->adopt_environment(own_environment());
  return backend;
}

void fill(Slot& slot, infiniDevice_t kind) {
  try {
    slot.backend = kind == INFINI_DEVICE_CPU ? &cpu::backend : load_module(kind, slot.why_none);
    if (slot.backend != nullptr) slot.count = slot.backend->device_count(slot.why_none);
    slot.devices.resize(static_cast<size_t>(slot.count));
  } catch (const std::bad_alloc&) {  // says nothing of the devices: asked again next time
    throw;
  } catch (const std::exception& error) {
    slot.count = 0;
    slot.why_none = error.what();
  }
}

Slot& slot_of(infiniDevice_t kind) {
  require(is_device_kind(kind), INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED, "device type is ",
          static_cast<int>(kind), "; expected 0..", INFINI_DEVICE_TYPE_COUNT - 1);
  Slot& slot = known_of(kind);
  if (slot.filled.load(std::memory_order_acquire)) return slot;
  std::lock_guard lock(slot.mutex);
  if (!slot.filled.load(std::memory_order_relaxed)) fill(slot, kind);
  slot.filled.store(true, std::memory_order_release);
  return slot;
}

}  // namespace

const Backend* find_backend(infiniDevice_t kind, std::string* why) {
  Slot& slot = slot_of(kind);
  if (slot.backend == nullptr && why) *why = slot.why_none;
  return slot.backend;
}

int device_count(infiniDevice_t kind, std::string* why) {
  Slot& slot = slot_of(kind);
  if (slot.count == 0 && why) *why = slot.why_none;
  return slot.count;
}

Device& open_device(infiniDevice_t kind, int id) {
  Slot& slot = slot_of(kind);
  require(slot.backend != nullptr, INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED, "no ",
          device_kind_name(kind), " devices: ", slot.why_none);
  require(slot.count > 0, INFINI_STATUS_DEVICE_NOT_FOUND, "no ", device_kind_name(kind),
          " devices: ", slot.why_none);
  require(id >= 0 && id < slot.count, INFINI_STATUS_DEVICE_NOT_FOUND, "device_id is ", id,
          "; the number of ", device_kind_name(kind), " devices is ", slot.count);
  std::lock_guard lock(slot.mutex);
  auto& device = slot.devices[static_cast<size_t>(id)];
  if (!device) device = slot.backend->open(id);
  return *device;
}

std::vector<std::string> library_complaints() { return environment_complaints(); }

}  // namespace infini
