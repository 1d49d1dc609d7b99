// Putting the elements of a block in order: on the host, or on a device that they visit.
#pragma once

#include <cstdint>

#include "contract/device.h"
#include "plan/layout/layout.h"
#include "runtime/memory_pool.h"

namespace infini::file {

// Memory of the host, page-aligned; for an accelerator it is pinned.
class HostBuffer {
 public:
  HostBuffer(Device& device, int64_t bytes);
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&&) = delete;
  ~HostBuffer();
  char* get() const { return p_; }

 private:
  MemoryPool* pool_ = nullptr;  // that it is of, if any
  size_t bytes_;
  char* p_ = nullptr;
};

// Rearrange where the two sides' element types are the same, else Convert.
class Order {
 public:
  // Float8 of five exponent bits, dst and src.
  Order(Device& device, bool dst_e5m2, bool src_e5m2)
      : device_(device), dst_e5m2_(dst_e5m2), src_e5m2_(src_e5m2) {}

  bool converts(infiniDtype_t dst, infiniDtype_t src) const {
    return dst != src || dst_e5m2_ != src_e5m2_;
  }
  // dst and src lie on the host. On a device there are, while this runs, as many bytes as the two layouts reach over, and a
  // kernel's workspace.
  void run(char* dst, const Layout& y, const char* src, const Layout& x) const;

 private:
  void run_here(char* dst, const Layout& y, const char* src, const Layout& x) const;

  Device& device_;
  bool dst_e5m2_, src_e5m2_;
};

}  // namespace infini::file
