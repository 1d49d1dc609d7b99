// Putting blocks in order.
#include "file/order.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "ops/operator.h"
#include "ops/rearrange.h"
#include "plan/operators/convert_plan.h"
#include "runtime/place.h"

namespace infini::file {
namespace {

constexpr int64_t page_bytes = 4096;

// Memory of a device for work on its null stream.
class DeviceBuffer {
 public:
  DeviceBuffer(Device& device, int64_t bytes)
      : pool_(place_of(device.kind(), device.id()).memory), bytes_(static_cast<size_t>(bytes)) {
    if (bytes_ > 0) p_ = static_cast<char*>(pool_.allocate(bytes_, nullptr));
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() {
    if (p_ != nullptr) pool_.free(p_, bytes_, nullptr, false);
  }
  char* get() const { return p_; }

 private:
  MemoryPool& pool_;
  size_t bytes_;
  char* p_ = nullptr;
};

}  // namespace

HostBuffer::HostBuffer(Device& device, int64_t bytes)
    : bytes_(static_cast<size_t>(round_up(std::max<int64_t>(bytes, 1), page_bytes))) {
  if (device.kind() != INFINI_DEVICE_CPU) {
    pool_ = &place_of(device.kind(), device.id()).pinned;
    p_ = static_cast<char*>(pool_->allocate(bytes_, nullptr));
    return;
  }
  p_ = static_cast<char*>(std::aligned_alloc(page_bytes, bytes_));
  require(p_ != nullptr, INFINI_STATUS_OUT_OF_MEMORY, "no memory for ", bytes, " bytes");
  madvise(p_, bytes_, MADV_HUGEPAGE);  // where it is refused: small pages
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : pool_(other.pool_), bytes_(other.bytes_), p_(std::exchange(other.p_, nullptr)) {}

HostBuffer::~HostBuffer() {
  if (p_ == nullptr) return;
  if (pool_ == nullptr)
    std::free(p_);
  else
    pool_->free(p_, bytes_, nullptr, false);
}

// In the memory of device_.
void Order::run_here(char* dst, const Layout& y, const char* src, const Layout& x) const {
  if (!converts(y.dtype, x.dtype)) return Rearrange(device_, y, x).run(dst, src, nullptr);
  const Layout* const sources[] = {&x};
  const bool cast =
      format_of(y.dtype, false) == format_count || format_of(x.dtype, false) == format_count;
  Conversion conversion;
  conversion.e5m2[0] = dst_e5m2_;
  conversion.e5m2[1] = src_e5m2_;
  const Operator made(device_, cast ? make_map_plan(Function::cast, y, sources)
                                    : make_convert_plan(y, x, nullptr, nullptr, conversion));
  const DeviceBuffer workspace(device_, static_cast<int64_t>(made.workspace_bytes()));
  OperatorRun run;
  run.workspace = workspace.get();
  run.operands[0] = dst;
  run.operands[1] = const_cast<char*>(src);
  made.run(run, made.workspace_bytes());
}

void Order::run(char* dst, const Layout& y, const char* src, const Layout& x) const {
  if (device_.kind() == INFINI_DEVICE_CPU) return run_here(dst, y, src, x);
  const ByteRange to = byte_range(y), from = byte_range(x);
  const int64_t to_bytes = to.end - to.begin, from_bytes = from.end - from.begin;
  device_.make_current();
  const DeviceBuffer there(device_, to_bytes), here(device_, from_bytes);
  device_.copy_async(here.get(), src + from.begin, static_cast<size_t>(from_bytes),
                     INFINIRT_MEMCPY_H2D, nullptr);
  run_here(there.get() - to.begin, y, here.get() - from.begin, x);
  device_.copy_async(dst + to.begin, there.get(), static_cast<size_t>(to_bytes),
                     INFINIRT_MEMCPY_D2H, nullptr);
  device_.synchronize_stream(nullptr);
}

}  // namespace infini::file
