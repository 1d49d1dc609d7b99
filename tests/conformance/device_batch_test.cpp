// Batches of copies on the device named by INFINI_TEST_DEVICE, against a walk element by element.
#include <cstring>

#include "tests/conformance/device_bytes.h"

namespace infini::test {
namespace {

using DeviceBatches = ManyCopies;

// Batches: transposes of 5x7 words, shared layouts or own ones, few and many.
struct Batch {
  Batch(std::mt19937& random, size_t count, bool own) : own(own) {
    for (size_t i = 0; i < count; ++i) {
      const size_t rows = own ? i % 4 * (1 + i % 3) : 5, cols = own ? 1 + i % 9 : 7;
      sizes.push_back({rows, cols});
      offsets.push_back(total);
      total += rows * cols + i % 2;  // every other one lies at an odd place
    }
    from = random_bytes(random, total * 4);
    to = random_bytes(random, total * 4);
  }
  void move_by_hand() {
    for (size_t i = 0; i < sizes.size(); ++i)
      for (size_t r = 0; r < sizes[i].first; ++r)
        for (size_t c = 0; c < sizes[i].second; ++c)
          std::memcpy(&to[4 * (offsets[i] + c * sizes[i].first + r)],
                      &from[4 * (offsets[i] + r * sizes[i].second + c)], 4);
  }
  bool own;
  std::vector<std::pair<size_t, size_t>> sizes;
  std::vector<size_t> offsets;
  size_t total = 0;
  Bytes from, to;
};

struct BatchOp {
  BatchOp(const Handle& handle, const Batch& batch) {
    std::vector<infiniopTensorDescriptor_t> to, from;
    for (size_t i = 0; i < (batch.own ? batch.sizes.size() : 1); ++i) {
      const auto [rows, cols] = batch.sizes[i];
      dst.push_back(
          std::make_unique<Tensor>(std::vector<size_t>{rows, cols},
                                   std::vector<ptrdiff_t>{1, static_cast<ptrdiff_t>(rows)}));
      src.push_back(std::make_unique<Tensor>(std::vector<size_t>{rows, cols}));
      to.push_back(dst.back()->desc);
      from.push_back(src.back()->desc);
    }
    EXPECT_OK(infiniopCreateRearrangeBatchDescriptor(handle.handle, &desc, to.size(), to.data(),
                                                     from.data()));
  }
  ~BatchOp() { EXPECT_OK(infiniopDestroyRearrangeBatchDescriptor(desc)); }
  std::vector<std::unique_ptr<Tensor>> dst, src;
  infiniopRearrangeBatchDescriptor_t desc = nullptr;
};

TEST_F(DeviceBatches, AnyCount) {
  const Handle handle;
  for (const bool own : {false, true})
    for (const bool captured : {false, true})
      for (const size_t count : {size_t{1}, size_t{9}, size_t{192}, size_t{450}}) {
        if (captured && !captures()) continue;
        SCOPED_TRACE(testing::Message() << own << captured << count);
        Batch batch(random_, count, own);
        const BatchOp op(handle, batch);
        const DeviceBytes to(batch.to), from(batch.from);
        std::vector<void*> dst;
        std::vector<const void*> src;
        for (const size_t offset : batch.offsets) {
          dst.push_back(static_cast<char*>(to.get()) + 4 * offset);
          src.push_back(static_cast<const char*>(from.get()) + 4 * offset);
        }
        run_or_replay(stream_, captured, [&] {
          EXPECT_OK(infiniopRearrangeBatch(op.desc, count, dst.data(), src.data(), stream_));
          std::fill(dst.begin(), dst.end(), nullptr);  // they were read before the call returned
        });
        ASSERT_OK(infinirtStreamSynchronize(stream_));
        batch.move_by_hand();
        ASSERT_EQ(batch.to, to.bytes());
      }
}

}  // namespace
}  // namespace infini::test
