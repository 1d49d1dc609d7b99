// Copies between the host's memory and the device named by INFINI_TEST_DEVICE, each way, against a walk byte by byte.
#include <cstring>
#include <numeric>
#include <string>

#include "base/error.h"
#include "ops/transfer/between.h"
#include "runtime/current_device.h"
#include "tests/conformance/device_bytes.h"

namespace infini::test {
namespace {

const char* const names[] = {"runs", "rows", "mapped", "span", "pack"};

// A tensor somewhere in some bytes.
struct Placed {
  Layout layout;
  size_t first = 0, bytes = 0;  // where the base pointer lies, and all of it
};

class Between : public ManyCopies {
 protected:
  Placed random_side(infiniDtype_t dtype, size_t element, const std::vector<size_t>& shape,
                     bool repeats) {
    std::vector<size_t> order(shape.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<ptrdiff_t> strides(shape.size());
    const bool gaps = random_() % 2;
    ptrdiff_t span = 1, below = 0;
    for (const size_t dim : order) {
      strides[dim] = span;
      span = span * static_cast<ptrdiff_t>(shape[dim]) +
             static_cast<ptrdiff_t>(gaps ? random_() % 3 : 0);
      if (random_() % 6 == 0) {  // backwards
        below += static_cast<ptrdiff_t>(shape[dim] - 1) * strides[dim];
        strides[dim] = -strides[dim];
      } else if (repeats && random_() % 8 == 0) {
        strides[dim] = 0;
      }
    }
    Placed placed;
    placed.layout = make_layout(dtype, shape.size(), shape.data(), strides.data());
    placed.first = (static_cast<size_t>(below) + random_() % 3) * element;
    placed.bytes = placed.first + static_cast<size_t>(span) * element;
    return placed;
  }

  // False: this way cannot.
  bool expect_right(const Placed& dst, const Placed& src, Direction direction, bool pinned,
                    const char* way, int64_t extra);
};

void walk(const RearrangePlan& plan, Bytes& to, size_t to_first, const Bytes& from,
          size_t from_first) {
  const int64_t atoms = atom_count(plan);
  for (int64_t n = 0; n < atoms; ++n) {
    int64_t rest = n, d = plan.dst_offset, s = plan.src_offset;
    for (int i = plan.depth; i-- > 0; rest /= plan.loops[i].extent) {
      d += rest % plan.loops[i].extent * plan.loops[i].dst_step;
      s += rest % plan.loops[i].extent * plan.loops[i].src_step;
    }
    std::memcpy(to.data() + static_cast<int64_t>(to_first) + d,
                from.data() + static_cast<int64_t>(from_first) + s,
                static_cast<size_t>(plan.atom_bytes));
  }
}

// Host memory of either kind.
class HostBytes {
 public:
  HostBytes(const Bytes& bytes, bool pinned) : pinned_(pinned), plain_(bytes) {
    if (!pinned) return;
    EXPECT_OK(infinirtMallocHost(&p_, bytes.size()));
    std::memcpy(p_, bytes.data(), bytes.size());
  }
  HostBytes(const HostBytes&) = delete;
  HostBytes& operator=(const HostBytes&) = delete;
  ~HostBytes() {
    if (pinned_) {
      EXPECT_OK(infinirtFreeHost(p_));
    }
  }
  unsigned char* get() { return pinned_ ? static_cast<unsigned char*>(p_) : plain_.data(); }
  Bytes bytes() { return {get(), get() + plain_.size()}; }

 private:
  bool pinned_;
  Bytes plain_;
  void* p_ = nullptr;
};

bool Between::expect_right(const Placed& dst, const Placed& src, Direction direction, bool pinned,
                           const char* way, int64_t extra) {
  const Choice choice{way, nullptr};
  const RearrangeBetween op(current_device(), direction, dst.layout, src.layout, choice, extra);
  const bool reached = pinned && device_ids();  // by kernels of this device
  const Way* taken = reached && op.pinned() ? op.pinned() : op.pageable();
  if (taken == nullptr || (way != nullptr && std::string(taken->name()) != way)) return false;
  const bool to_device = direction == Direction::to_device;
  Bytes to = random_bytes(random_, dst.bytes), from = random_bytes(random_, src.bytes);
  HostBytes host(to_device ? from : to, pinned);
  const DeviceBytes far(to_device ? to : from);
  auto* far_base = static_cast<unsigned char*>(far.get());
  if (to_device)
    op.run(far_base + dst.first, host.get() + src.first, stream_);
  else
    op.run(host.get() + dst.first, far_base + src.first, stream_);
  EXPECT_OK(infinirtStreamSynchronize(stream_));
  walk(make_rearrange_plan(dst.layout, src.layout), to, dst.first, from, src.first);
  EXPECT_EQ(to, to_device ? far.bytes() : host.bytes()) << taken->name();
  EXPECT_EQ(from, to_device ? host.bytes() : far.bytes()) << taken->name();
  return true;
}

TEST_F(Between, EveryWayIsRight) {
  const std::pair<infiniDtype_t, size_t> types[] = {
      {INFINI_DTYPE_U8, 1}, {INFINI_DTYPE_F16, 2}, {INFINI_DTYPE_F32, 4}};
  int taken[5] = {};
  for (int trial = 0; trial < 60; ++trial) {
    SCOPED_TRACE(trial);
    const auto [dtype, element] = types[random_() % 3];
    std::vector<size_t> shape(1 + random_() % 3);
    for (auto& extent : shape) extent = 1 + random_() % 24;
    const Placed dst = random_side(dtype, element, shape, false);
    const Placed src = random_side(dtype, element, shape, true);
    const auto direction = random_() % 2 ? Direction::to_device : Direction::to_host;
    const int64_t extra = 64 << random_() % 10;  // so little that large ones go in pieces
    for (int way = 0; way < 5; ++way)
      for (const bool pinned : {false, true})
        taken[way] += expect_right(dst, src, direction, pinned, names[way], extra);
    expect_right(dst, src, direction, random_() % 2, nullptr, most_extra_bytes);
    if (HasFailure()) return;
  }
  if (kind_ == INFINI_DEVICE_CPU) return;
  for (int way = 0; way < 5; ++way) {
    const bool possible = device_ids() || (way != 1 && way != 2);
    EXPECT_EQ(possible, taken[way] > 3) << names[way];
  }
}

TEST_F(Between, BadArgumentsAreAnswered) {
  const Handle handle;
  const Tensor t({4, 8}), other({8, 4});
  infiniopRearrangeBetweenDescriptor_t desc = nullptr;
  const auto create = [&](const Tensor& dst, infinirtMemcpyKind_t kind) {
    return infiniopCreateRearrangeBetweenDescriptor(handle.handle, &desc, dst.desc, t.desc, kind);
  };
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM, create(t, INFINIRT_MEMCPY_D2D));
  EXPECT_EQ(INFINI_STATUS_BAD_TENSOR_SHAPE, create(other, INFINIRT_MEMCPY_H2D));
  EXPECT_EQ(nullptr, desc);
  ASSERT_OK(create(t, INFINIRT_MEMCPY_H2D));
  float x[32] = {};
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, infiniopRearrangeBetween(desc, nullptr, x, stream_));
  EXPECT_EQ(INFINI_STATUS_NULL_POINTER, infiniopRearrangeBetween(desc, x, nullptr, stream_));
  EXPECT_OK(infiniopDestroyRearrangeBetweenDescriptor(desc));
}

// A transposed matrix there and back through the C API.
TEST_F(Between, ThereAndBack) {
  const Handle handle;
  const Tensor dense({33, 70}), turned({33, 70}, {1, 33});
  infiniopRearrangeBetweenDescriptor_t there = nullptr, back = nullptr;
  ASSERT_OK(infiniopCreateRearrangeBetweenDescriptor(handle.handle, &there, dense.desc, turned.desc,
                                                     INFINIRT_MEMCPY_H2D));
  ASSERT_OK(infiniopCreateRearrangeBetweenDescriptor(handle.handle, &back, turned.desc, dense.desc,
                                                     INFINIRT_MEMCPY_D2H));
  Bytes x = random_bytes(random_, 33 * 70 * 4), y(x.size());
  const DeviceBytes far(y);
  EXPECT_OK(infiniopRearrangeBetween(there, far.get(), x.data(), stream_));
  EXPECT_OK(infiniopRearrangeBetween(back, y.data(), far.get(), stream_));
  EXPECT_OK(infinirtStreamSynchronize(stream_));
  EXPECT_EQ(x, y);
  EXPECT_OK(infiniopDestroyRearrangeBetweenDescriptor(there));
  EXPECT_OK(infiniopDestroyRearrangeBetweenDescriptor(back));
}

}  // namespace
}  // namespace infini::test
