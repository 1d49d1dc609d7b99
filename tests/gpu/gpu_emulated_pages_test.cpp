// Many copies on an emulated GPU: one launch, no wait of the host, and faults at every call of the vendor's runtime.
#include <numeric>
#include <utility>

#include "runtime/place.h"
#include "tests/gpu/gpu_emulated_fixture.h"

namespace infini::test {
namespace {

constexpr size_t piece = 8;  // words

// Pieces of eight words: copy i goes to place count - 1 - i.
struct Turned {
  Turned(float* to, float* from, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      dst.push_back(to + piece * (count - 1 - i));
      src.push_back(from + piece * i);
    }
    ids.resize(count);
    std::iota(ids.rbegin(), ids.rend(), 0);
  }
  std::vector<void*> dst;
  std::vector<const void*> src;
  std::vector<int32_t> ids;
};

class EmulatedPages : public EmulatedGpu {
 protected:
  // What went wrong first.
  infiniStatus_t batch_of(size_t layouts, size_t count) {
    FirstFailure first;
    const Handle handle;
    const Tensor words({piece});
    const std::vector<infiniopTensorDescriptor_t> all(layouts, words.desc);
    const Turned turned(b_, a_, count);
    infiniopRearrangeBatchDescriptor_t op = nullptr;
    if (!first(infiniopCreateRearrangeBatchDescriptor(handle.handle, &op, layouts, all.data(),
                                                      all.data())))
      return first.status();
    first(infiniopRearrangeBatch(op, count, turned.dst.data(), turned.src.data(), stream_));
    first(infinirtStreamSynchronize(stream_));
    surely([&] { return infiniopDestroyRearrangeBatchDescriptor(op); });
    return first.status();
  }

  infiniStatus_t pages_of(size_t count, bool on_device) {
    FirstFailure first;
    const Handle handle;
    const Tensor words({piece});
    const Turned turned(b_, a_, count);
    infiniopRearrangePagedOptions_t options{};
    options.size = sizeof options;
    options.ids_on_device = on_device;
    options.dst.pages = options.src.pages = count;
    infiniopRearrangePagedDescriptor_t op = nullptr;
    void* ids = const_cast<int32_t*>(turned.ids.data());
    if (on_device) ids = device_ids_;
    if (!first(infiniopCreateRearrangePagedDescriptor(handle.handle, &op, words.desc, words.desc,
                                                      &options)))
      return first.status();
    void* dst[] = {b_};
    const void* src[] = {a_};
    first(infiniopRearrangePaged(op, count, dst, ids, src, nullptr, stream_));
    first(infiniopRearrangePagedStatus(op, stream_));
    first(infinirtStreamSynchronize(stream_));
    surely([&] { return infiniopDestroyRearrangePagedDescriptor(op); });
    return first.status();
  }
  void upload_ids(size_t count) {
    const Turned turned(b_, a_, count);
    ASSERT_OK(infinirtMalloc(&device_ids_, count * 4));
    ASSERT_OK(infinirtMemcpy(device_ids_, turned.ids.data(), count * 4, INFINIRT_MEMCPY_H2D));
  }
  void free_ids() {
    EXPECT_OK(infinirtFree(device_ids_));
    device_ids_ = nullptr;
  }

  void* device_ids_ = nullptr;
};

TEST_F(EmulatedPages, BatchesMayFail) {
  expect_survives_every_failure([&] { return batch_of(1, 20); });
  expect_survives_every_failure([&] { return batch_of(1, 300); });
  expect_survives_every_failure([&] { return batch_of(193, 193); });
}

TEST_F(EmulatedPages, PagesMayFail) {
  expect_survives_every_failure([&] { return pages_of(20, false); });
  expect_survives_every_failure([&] { return pages_of(300, false); });
  upload_ids(300);
  expect_survives_every_failure([&] { return pages_of(300, true); });
  free_ids();
}

TEST_F(EmulatedPages, OneLaunchForAnyCountAndNoWait) {
  const Handle handle;
  const Tensor words({piece});
  const std::vector<infiniopTensorDescriptor_t> all(1000, words.desc);
  for (const size_t layouts : {size_t{1}, size_t{1000}})
    for (const size_t count : {layouts == 1 ? size_t{100} : size_t{1000}, size_t{1000}}) {
      infiniopRearrangeBatchDescriptor_t op = nullptr;
      ASSERT_OK(infiniopCreateRearrangeBatchDescriptor(handle.handle, &op, layouts, all.data(),
                                                       all.data()));
      const Turned turned(b_, a_, count);
      for (int i = 0; i < 3; ++i) {
        const uint64_t launched = launches(), waited = waits();
        EXPECT_OK(infiniopRearrangeBatch(op, count, turned.dst.data(), turned.src.data(), stream_));
        EXPECT_EQ(waited, waits());
        EXPECT_OK(infinirtStreamSynchronize(stream_));
        EXPECT_EQ(launched + 1, launches());
      }
      EXPECT_OK(infiniopDestroyRearrangeBatchDescriptor(op));
    }
}

// More runs than there are tables, none waited for: each keeps its own.
TEST_F(EmulatedPages, RunsInFlightDoNotShareTables) {
  const Handle handle;
  const Tensor word({1});
  infiniopRearrangePagedDescriptor_t op = nullptr;
  infinirtStream_t other = nullptr;
  ASSERT_OK(infinirtStreamCreate(&other));
  ASSERT_OK(
      infiniopCreateRearrangePagedDescriptor(handle.handle, &op, word.desc, word.desc, nullptr));
  std::vector<float> values(n * n);
  std::iota(values.begin(), values.end(), 0.0f);
  ASSERT_OK(infinirtMemcpy(a_, values.data(), bytes, INFINIRT_MEMCPY_H2D));
  constexpr size_t count = 300, runs = 20;
  for (size_t run = 0; run < runs; ++run) {
    std::vector<int32_t> ids(count);
    std::iota(ids.begin(), ids.end(), static_cast<int32_t>(run * 7));
    void* dst[] = {b_ + run * count};
    const void* src[] = {a_};
    EXPECT_OK(infiniopRearrangePaged(op, count, dst, nullptr, src, ids.data(),
                                     run % 2 == 0 ? stream_ : other));
  }
  EXPECT_OK(infinirtStreamSynchronize(stream_));
  EXPECT_OK(infinirtStreamSynchronize(other));
  std::vector<float> moved(runs * count);
  EXPECT_OK(infinirtMemcpy(moved.data(), b_, moved.size() * 4, INFINIRT_MEMCPY_D2H));
  for (size_t i = 0; i < moved.size(); ++i)
    ASSERT_EQ(values[i / count * 7 + i % count], moved[i]) << i;
  EXPECT_OK(infiniopDestroyRearrangePagedDescriptor(op));
  EXPECT_OK(infinirtStreamDestroy(other));
}

TEST_F(EmulatedPages, MemoryOfTheHostIsRefused) {
  const Handle handle;
  const Tensor words({piece});
  infiniopRearrangePagedDescriptor_t op = nullptr;
  infiniopRearrangePagedOptions_t options{};
  options.size = sizeof options;
  options.ids_on_device = 1;
  ASSERT_OK(
      infiniopCreateRearrangePagedDescriptor(handle.handle, &op, words.desc, words.desc, &options));
  std::vector<float> host(piece);
  const int32_t id = 0;
  void *dst[] = {b_}, *wrong[] = {host.data()};
  const void *src[] = {a_}, *wrong_src[] = {host.data()};
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniopRearrangePaged(op, 1, wrong, nullptr, src, nullptr, stream_));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniopRearrangePaged(op, 1, dst, nullptr, wrong_src, nullptr, stream_));
  EXPECT_EQ(INFINI_STATUS_BAD_PARAM,
            infiniopRearrangePaged(op, 1, dst, &id, src, nullptr, stream_));
  EXPECT_NE(std::string::npos, std::string(infiniGetLastErrorString()).find("dst_ids"));
  EXPECT_OK(infiniopDestroyRearrangePagedDescriptor(op));
}

// A turned matrix to the device and back, the host's side pinned or not.
TEST_F(EmulatedPages, TransfersMayFail) {
  const Handle handle;
  const Tensor dense({n, n}), turned({n, n}, {1, n});
  std::vector<float> plain(n * n);
  void* pinned = nullptr;
  ASSERT_OK(infinirtMallocHost(&pinned, bytes));
  for (void* host : {static_cast<void*>(plain.data()), pinned})
    for (const auto kind : {INFINIRT_MEMCPY_H2D, INFINIRT_MEMCPY_D2H}) {
      const bool there = kind == INFINIRT_MEMCPY_H2D;
      expect_survives_every_failure([&] {
        FirstFailure first;
        infiniopRearrangeBetweenDescriptor_t op = nullptr;
        if (first(infiniopCreateRearrangeBetweenDescriptor(handle.handle, &op, dense.desc,
                                                           turned.desc, kind))) {
          first(infiniopRearrangeBetween(op, there ? static_cast<void*>(b_) : host,
                                         there ? host : static_cast<void*>(a_), stream_));
          surely([&] { return infiniopDestroyRearrangeBetweenDescriptor(op); });
        }
        first(infinirtStreamSynchronize(stream_));
        return first.status();
      });
    }
  place_of(kind_, 0).pinned.trim();
  EXPECT_OK(infinirtFreeHost(pinned));
}

TEST_F(EmulatedPages, TransfersOfPinnedMemoryMakeTheHostWaitForNothing) {
  const Handle handle;
  const Tensor dense({n, n}), turned({n, n}, {1, n}), rows({n, n / 2}), wide({n, n / 2}, {n, 1});
  void* pinned = nullptr;
  ASSERT_OK(infinirtMallocHost(&pinned, bytes));
  const std::pair<const Tensor*, const Tensor*> pairs[] = {
      {&dense, &dense}, {&dense, &turned}, {&turned, &dense}, {&rows, &wide}, {&wide, &rows}};
  for (const auto& [dst, src] : pairs)
    for (const auto kind : {INFINIRT_MEMCPY_H2D, INFINIRT_MEMCPY_D2H}) {
      const bool there = kind == INFINIRT_MEMCPY_H2D;
      infiniopRearrangeBetweenDescriptor_t op = nullptr;
      ASSERT_OK(
          infiniopCreateRearrangeBetweenDescriptor(handle.handle, &op, dst->desc, src->desc, kind));
      const uint64_t waited = waits();
      EXPECT_OK(infiniopRearrangeBetween(op, there ? static_cast<void*>(b_) : pinned,
                                         there ? pinned : static_cast<void*>(a_), stream_));
      EXPECT_EQ(waited, waits());
      EXPECT_OK(infinirtStreamSynchronize(stream_));
      EXPECT_OK(infiniopDestroyRearrangeBetweenDescriptor(op));
    }
  EXPECT_OK(infinirtFreeHost(pinned));
}

}  // namespace
}  // namespace infini::test
