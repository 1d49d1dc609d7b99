// Reshardings and products of shards on a device: through page-locked memory, and by a transport that takes device memory itself,
// as CUDA-aware MPI does and, in the order of a stream, NCCL. Ranks are threads that share the device INFINI_TEST_DEVICE.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "base/device_kind.h"
#include "infiniproduct.h"
#include "infinirt.h"
#include "plan/reshard/random_reshard_test.h"
#include "plan/reshard/reshard_text.h"
#include "runtime/place.h"
#include "tests/ranks/in_process_transport.h"
#include "tests/ranks/on_ranks.h"

namespace infini {
namespace {

using namespace reshard_test;
using test::InProcessNetwork;
using test::on_ranks;

constexpr auto fine = INFINI_STATUS_SUCCESS;

// Device memory whose content is still on its way on a stream when it is handed out.
template <class T>
class Pending {
 public:
  explicit Pending(const std::vector<T>& host, void* stream = nullptr)
      : bytes_(host.size() * sizeof(T)) {
    EXPECT_EQ(fine, infinirtMalloc(&uploaded_, bytes_ + 1));
    EXPECT_EQ(fine, infinirtMalloc(&p_, bytes_ + 1));
    EXPECT_EQ(fine, infinirtMemcpy(uploaded_, host.data(), bytes_, INFINIRT_MEMCPY_H2D));
    EXPECT_EQ(fine, infinirtMemcpyAsync(p_, uploaded_, bytes_, INFINIRT_MEMCPY_D2D, stream));
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() { infinirtFree(p_), infinirtFree(uploaded_); }
  void* get() const { return p_; }
  std::vector<T> host() const {
    std::vector<T> out(bytes_ / sizeof(T));
    EXPECT_EQ(fine, infinirtMemcpy(out.data(), p_, bytes_, INFINIRT_MEMCPY_D2H));
    return out;
  }

 private:
  void *p_ = nullptr, *uploaded_ = nullptr;
  size_t bytes_;
};

// As CUDA-aware MPI: between any memory, on a stream of its own that waits for no other. Which memory it is the device's runtime
// knows, which refuses the wrong kinds of copies.
void copy_anywhere(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  infinirtStream_t stream = nullptr;
  EXPECT_EQ(fine, infinirtStreamCreate(&stream));
  bool copied = false;
  for (const auto kind : {INFINIRT_MEMCPY_D2D, INFINIRT_MEMCPY_D2H, INFINIRT_MEMCPY_H2D})
    copied = copied || infinirtMemcpyAsync(to, from, bytes, kind, stream) == fine;
  EXPECT_EQ(fine, infinirtStreamSynchronize(stream));
  EXPECT_EQ(fine, infinirtStreamDestroy(stream));
  if (!copied) std::memcpy(to, from, bytes);
}

struct Way {
  const char* name;
  bool takes_device_memory, rounds;
};

class DeviceRanks : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    const char* const name = std::getenv("INFINI_TEST_DEVICE");
    if (name == nullptr) GTEST_SKIP() << "INFINI_TEST_DEVICE names no device";
    kind_ = device_kind_from_name(name);
    const bool there = infinirtSetDevice(kind_, 0) == fine;
    ASSERT_TRUE(there || std::getenv("INFINI_TEST_DEVICE_REQUIRED") == nullptr) << name;
    if (!there) GTEST_SKIP() << "no " << name;
  }
  // The emulator wants everything back.
  void TearDown() override {
    Place& place = place_of(kind_, 0);
    place.memory.trim(), place.pinned.trim();
  }
  infiniTransport_t transport_of(InProcessNetwork& network, int rank) const {
    infiniTransport_t transport = network.transport_of(rank);
    transport.takes_device_memory = GetParam().takes_device_memory;
    return transport;
  }
  static void prepare(InProcessNetwork& network) {
    network.copy = copy_anywhere;
    network.rounds = GetParam().rounds;
    network.await = [](void* stream) { EXPECT_EQ(fine, infinirtStreamSynchronize(stream)); };
  }
  infiniDevice_t kind_ = INFINI_DEVICE_CPU;
};

TEST_P(DeviceRanks, ShardsArrive) {
  for (const char* text : {"i32 12x40 (2: block,replicate) -> (3: block,replicate)",
                           "i32 12x40 (3: block,replicate) -> (3: replicate,block)",
                           "i32 12x40 (3: replicate,block) -> (3: block,replicate)",
                           "i32 24x18 (2x2: cyclic:4,cyclic:3) -> perm=1,0 (4: block,replicate)"}) {
    const ReshardPlan plan = parse_reshard(text);
    const Ranks all = shards_of(plan, Side(plan.source().distribution()),
                                Side(plan.destination().distribution()));
    infiniReshardPlan_t handle = nullptr;
    ASSERT_EQ(fine, infiniReshardCreatePlan(&handle, text)) << infiniGetLastErrorString();
    InProcessNetwork network(plan.ranks());
    prepare(network);
    std::vector<std::vector<int32_t>> got(all.dst.size());
    const auto outcomes = on_ranks(plan.ranks(), [&](int rank) {
      const auto r = static_cast<size_t>(rank);
      EXPECT_EQ(fine, infinirtSetDevice(kind_, 0));
      infinirtStream_t stream = nullptr;
      if (GetParam().rounds) {
        EXPECT_EQ(fine, infinirtStreamCreate(&stream));
      }
      const Pending<int32_t> src(all.src[r], stream),
          dst(std::vector<int32_t>(all.dst[r].size(), -7), stream);
      const infiniTransport_t transport = transport_of(network, rank);
      infiniReshardOptions_t options{};
      options.size = sizeof options;
      options.piece_bytes = 256;
      options.timeout = 20;
      options.stream = stream;
      const auto run = [&] {
        return infiniReshard(handle, dst.get(), nullptr, src.get(), nullptr, &transport, &options);
      };
      auto status = run();
      got[r] = dst.host();
      if (GetParam().rounds && status == fine) {  // and once more without a wait
        options.without_agreement = 1;
        EXPECT_EQ(fine, infinirtMemsetAsync(dst.get(), 0, all.dst[r].size() * 4, stream));
        status = run();
        EXPECT_EQ(fine, infinirtStreamSynchronize(stream));
        EXPECT_EQ(got[r], dst.host());
      }
      if (stream != nullptr) {
        EXPECT_EQ(fine, infinirtStreamDestroy(stream));
      }
      return status;
    });
    EXPECT_EQ(GetParam().rounds && GetParam().takes_device_memory ? plan.ranks() : 0,
              network.empty_rounds);
    for (size_t r = 0; r < outcomes.size(); ++r) {
      EXPECT_EQ(fine, outcomes[r].status) << text << ": " << outcomes[r].words;
      EXPECT_EQ(got[r], all.dst[r]) << text << ", rank " << r;
    }
    infiniReshardDestroyPlan(handle);
  }
}

TEST_P(DeviceRanks, ProductsAreExact) {
  infiniProductPlan_t plan = nullptr;
  ASSERT_EQ(fine,
            infiniProductCreatePlan(&plan,
                                    "f32 16x24 (2: block,replicate) * 24x8 (2: block,replicate) "
                                    "-> (2: block,replicate) panel=6"))
      << infiniGetLastErrorString();
  InProcessNetwork network(2);
  prepare(network);
  const auto outcomes = on_ranks(2, [&](int rank) {
    EXPECT_EQ(fine, infinirtSetDevice(kind_, 0));
    // Row i of A is full of i, B of twos.
    std::vector<float> rows(size_t{8} * 24), wanted(size_t{8} * 8);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(rank * 8 + int(i) / 24);
    for (size_t i = 0; i < wanted.size(); ++i)
      wanted[i] = static_cast<float>((rank * 8 + int(i) / 8) * 48 + 1);
    const Pending<float> a(rows), b(std::vector<float>(size_t{12} * 8, 2)),
        c(std::vector<float>(wanted.size(), 1));
    const infiniTransport_t transport = transport_of(network, rank);
    const auto status = infiniProduct(plan, c.get(), nullptr, a.get(), nullptr, b.get(), nullptr, 1,
                                      1, &transport, nullptr);
    EXPECT_EQ(wanted, c.host()) << "rank " << rank;
    return status;
  });
  for (const auto& outcome : outcomes) EXPECT_EQ(fine, outcome.status) << outcome.words;
  infiniProductDestroyPlan(plan);
}

// A rank without a shard does not know that the others' are on a device, until it is told.
TEST_P(DeviceRanks, OneMemoryForAll) {
  infiniReshardPlan_t plan = nullptr;
  ASSERT_EQ(fine, infiniReshardCreatePlan(&plan, "i32 8 (2: block) -> (2: sizes:6/2)"));
  for (const bool empty : {true, false}) {
    InProcessNetwork network(3);
    prepare(network);
    const auto outcomes = on_ranks(3, [&](int rank) {
      const bool on_host = rank == (empty ? 2 : 1);
      if (!on_host) {
        EXPECT_EQ(fine, infinirtSetDevice(kind_, 0));
      }
      const std::vector<int32_t> host(6);
      std::vector<int32_t> host_dst(6);
      const Pending<int32_t> src(host), dst(host);
      const infiniTransport_t transport = transport_of(network, rank);
      infiniReshardOptions_t options{};
      options.size = sizeof options;
      options.timeout = 20;
      if (empty && on_host)
        return infiniReshard(plan, nullptr, nullptr, nullptr, nullptr, &transport, &options);
      return infiniReshard(plan, on_host ? host_dst.data() : dst.get(), nullptr,
                           on_host ? host.data() : src.get(), nullptr, &transport, &options);
    });
    const bool refused = !empty && GetParam().rounds && GetParam().takes_device_memory;
    for (const auto& one : outcomes) {
      EXPECT_EQ(refused, one.status != fine) << one.words;
      if (refused) {
        EXPECT_NE(one.words.find("in host memory"), std::string::npos) << one.words;
      }
    }
  }
  infiniReshardDestroyPlan(plan);
}

INSTANTIATE_TEST_SUITE_P(ReshardRun, DeviceRanks,
                         testing::Values(Way{"ThroughTheHost", false, false},
                                         Way{"DeviceMemoryOnTheWire", true, false},
                                         Way{"RoundsThroughTheHost", false, true},
                                         Way{"RoundsOnTheDevice", true, true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace infini
