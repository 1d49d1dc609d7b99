// Matrix products on the emulated chip: within the promised error, no rule broken, nothing leaked,
// faults survived.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "backends/ascend/gemm/gemm_schedule.h"
#include "base/dtype.h"
#include "base/float_formats.h"
#include "cann_emulator.h"
#include "harness/rearrange/random_problems.h"
#include "runtime/registry.h"

namespace infini {
namespace {

namespace emulator = cann_emulator;

struct Operand {
  std::vector<size_t> shape;
  std::vector<ptrdiff_t> strides;  // empty: contiguous
};
struct Product {
  infiniDtype_t dtype;
  Operand c, a, b;
  float alpha = 1, beta = 0;
};

Layout layout(const Operand& x, infiniDtype_t dtype) {
  return make_layout(dtype, x.shape.size(), x.shape.data(),
                     x.strides.empty() ? nullptr : x.strides.data());
}

double load(const char* p, infiniDtype_t dtype) {
  if (dtype == INFINI_DTYPE_F32) {
    float x;
    std::memcpy(&x, p, 4);
    return x;
  }
  uint16_t bits;
  std::memcpy(&bits, p, 2);
  return dtype == INFINI_DTYPE_F16 ? f32_from_f16(bits) : f32_from_bf16(bits);
}

void store(char* p, float x, infiniDtype_t dtype) {
  if (dtype == INFINI_DTYPE_F32) {
    std::memcpy(p, &x, 4);
    return;
  }
  const uint16_t bits = dtype == INFINI_DTYPE_F16 ? f16_from_f32(x) : bf16_from_f32(x);
  std::memcpy(p, &bits, 2);
}

// A tensor's memory with random values everywhere, gaps included.
struct Image {
  Image(const Layout& l, harness::Random& random)
      : range(byte_range(l)), size(dtype_bytes(l.dtype)) {
    bytes.resize(static_cast<size_t>(range.end - range.begin));
    for (int64_t i = 0; i + size <= static_cast<int64_t>(bytes.size()); i += size)
      store(bytes.data() + i, static_cast<float>(random.between(-1000, 1000)) / 512.0f, l.dtype);
  }
  const char* at(int64_t offset) const { return bytes.data() + (offset - range.begin); }
  ByteRange range;
  int64_t size;
  std::vector<char> bytes;
};

const Backend& backend() {
  std::string why;
  const Backend* found = find_backend(INFINI_DEVICE_ASCEND, &why);
  if (found == nullptr) throw std::runtime_error(why);
  return *found;
}

class DeviceBytes {
 public:
  DeviceBytes(Device& device, size_t size)
      : device_(device), p_(size ? device.allocate(size) : nullptr) {}
  ~DeviceBytes() {
    try {
      if (p_) device_.free(p_);
    } catch (const Error&) {  // the wait failed; the memory is free all the same
    }
  }
  DeviceBytes(const DeviceBytes&) = delete;
  char* get() const { return static_cast<char*>(p_); }

 private:
  Device& device_;
  void* p_;
};

// Runs the product; the bytes of c afterwards.
std::vector<char> run(Device& device, const Product& p, const Image& c, const Image& a,
                      const Image& b, const GemmOptions& options = {}) {
  const GemmPlan plan =
      make_gemm_plan(layout(p.c, p.dtype), layout(p.a, p.dtype), layout(p.b, p.dtype));
  const Image* images[] = {&c, &a, &b};
  std::unique_ptr<DeviceBytes> memory[3];
  char* bases[3];
  for (int i = 0; i < 3; ++i) {
    memory[i] = std::make_unique<DeviceBytes>(device, images[i]->bytes.size());
    bases[i] = memory[i]->get() - images[i]->range.begin;
    if (memory[i]->get())
      device.copy(memory[i]->get(), images[i]->bytes.data(), images[i]->bytes.size(),
                  INFINIRT_MEMCPY_H2D);
  }
  const auto kernel = backend().kernels.gemm(device, plan, options, {});
  const DeviceBytes workspace(device, kernel->workspace_bytes());
  kernel->run(workspace.get(), bases[0], bases[1], bases[2], p.alpha, p.beta, nullptr);
  std::vector<char> out(c.bytes.size());
  device.copy(out.data(), memory[0]->get(), out.size(), INFINIRT_MEMCPY_D2H);
  return out;
}

double unit_roundoff(infiniDtype_t dtype) {
  return dtype == INFINI_DTYPE_F32 ? 0x1p-24 : dtype == INFINI_DTYPE_F16 ? 0x1p-11 : 0x1p-8;
}

// The promise: |Ĉ−C| <= γ(K+2)·|α||A||B| + 2u|β||C| + u_out|C|; gaps of c keep their bytes.
void expect_promise(Device& device, const Product& p, uint64_t seed) {
  harness::Random random(seed);
  const GemmPlan plan =
      make_gemm_plan(layout(p.c, p.dtype), layout(p.a, p.dtype), layout(p.b, p.dtype));
  SCOPED_TRACE(to_string(plan) + to_string(ascend::make_gemm_schedule(plan)));
  const Image c(layout(p.c, p.dtype), random), a(layout(p.a, p.dtype), random),
      b(layout(p.b, p.dtype), random);
  std::vector<char> actual = run(device, p, c, a, b);
  std::vector<char> expected_bytes = c.bytes;
  const double u = 0x1p-24, gamma = (plan.k + 2) * u / (1 - (plan.k + 2) * u),
               u_out = unit_roundoff(p.dtype);
  for (int64_t n = 0; n < plan.batch; ++n)
    for (int64_t i = 0; i < plan.m; ++i)
      for (int64_t j = 0; j < plan.n; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; p.alpha != 0 && k < plan.k; ++k) {
          const double product =
              load(a.at(n * plan.a.batch_step + i * plan.a.row_step + k * plan.a.col_step),
                   p.dtype) *
              load(b.at(n * plan.b.batch_step + k * plan.b.row_step + j * plan.b.col_step),
                   p.dtype);
          sum += product;
          magnitude += std::abs(product);
        }
        const int64_t offset = n * plan.c.batch_step + i * plan.c.row_step + j * plan.c.col_step;
        const double old = p.beta == 0 ? 0 : load(c.at(offset), p.dtype);
        const double exact = p.alpha * sum + p.beta * old;
        const double bound = gamma * std::abs(p.alpha) * magnitude +
                             2 * u * std::abs(p.beta * old) + u_out * std::abs(exact) + 1e-30;
        const size_t at = static_cast<size_t>(offset - c.range.begin);
        ASSERT_LE(std::abs(load(actual.data() + at, p.dtype) - exact), bound * 1.0001)
            << "batch " << n << " row " << i << " column " << j;
        std::memcpy(expected_bytes.data() + at, actual.data() + at, static_cast<size_t>(c.size));
      }
  EXPECT_EQ(actual, expected_bytes) << "bytes between c's elements changed";
}

class AscendGemm : public testing::Test {
 protected:
  void SetUp() override {
    blocks_before_ = emulator::live().device_blocks;  // of the library's own device
    device_ = backend().open(0);
    emulator::clear_violations();
    emulator::reset_counters();
  }
  void TearDown() override {
    emulator::fail_call(0);
    device_.reset();
    for (const auto& v : emulator::violations())
      ADD_FAILURE() << v.call << " broke " << emulator::name(v.rule) << ": " << v.detail;
    const emulator::Live left = emulator::live();
    EXPECT_EQ(left.device_blocks, blocks_before_);
    EXPECT_EQ(left.tensors + left.arrays + left.executors + left.streams + left.events +
                  left.queued_tasks,
              0u);
  }
  std::unique_ptr<Device> device_;
  size_t blocks_before_ = 0;
};

// Shapes and strides: the common ones, then those that need packing.
std::vector<Product> shapes(infiniDtype_t t) {
  return {
      {t, {{5, 7}, {}}, {{5, 9}, {}}, {{9, 7}, {}}},
      {t, {{5, 7}, {}}, {{5, 9}, {1, 5}}, {{9, 7}, {1, 9}}},          // transposed inputs
      {t, {{5, 7}, {1, 5}}, {{5, 9}, {}}, {{9, 7}, {}}},              // transposed output
      {t, {{5, 7}, {20, 1}}, {{5, 9}, {12, 1}}, {{9, 7}, {8, 1}}},    // leading dimensions
      {t, {{5, 7}, {30, 2}}, {{5, 9}, {36, 4}}, {{9, 7}, {-7, -1}}},  // no unit stride, backwards
      {t, {{3, 5, 7}, {}}, {{3, 5, 9}, {}}, {{3, 9, 7}, {}}},         // batches
      {t, {{3, 5, 7}, {}}, {{3, 5, 9}, {}}, {{1, 9, 7}, {}}},         // shared b: folded into rows
      {t, {{3, 5, 7}, {}}, {{1, 5, 9}, {}}, {{3, 9, 7}, {}}},         // shared a
      {t, {{3, 5, 7}, {}}, {{1, 5, 9}, {}}, {{1, 9, 7}, {}}},         // both shared
      {t, {{3, 5, 7}, {100, 1, 5}}, {{3, 5, 9}, {50, 9, 1}}, {{3, 9, 7}, {0, 7, 1}}},
      {t, {{1, 7}, {}}, {{1, 9}, {}}, {{9, 7}, {}}},
      {t, {{5, 1}, {}}, {{5, 9}, {}}, {{9, 1}, {}}},
      {t, {{1, 1}, {}}, {{1, 1}, {}}, {{1, 1}, {}}},
      {t, {{4, 6}, {}}, {{4, 0}, {}}, {{0, 6}, {}}},  // K = 0
      {t, {{4, 6}, {9, 1}}, {{4, 0}, {}}, {{0, 6}, {}}},
  };
}

constexpr float scalars[][2] = {{1, 0}, {1, 1}, {0.75f, 0}, {-1.5f, 0.25f},
                                {0, 0}, {0, 1}, {0, 0.3f}};

class AscendGemmOf : public AscendGemm, public testing::WithParamInterface<infiniDtype_t> {};

TEST_P(AscendGemmOf, KeepsThePromise) {
  uint64_t seed = 1;
  for (Product p : shapes(GetParam()))
    for (const auto& [alpha, beta] : scalars) {
      p.alpha = alpha;
      p.beta = beta;
      SCOPED_TRACE(testing::Message() << "alpha " << alpha << " beta " << beta);
      expect_promise(*device_, p, ++seed);
      if (HasFatalFailure()) return;
    }
  EXPECT_EQ(emulator::counters().ai_cpu, 0u);
  EXPECT_EQ(emulator::counters().source_ai_cpu, 0u);
}

INSTANTIATE_TEST_SUITE_P(Types, AscendGemmOf,
                         testing::Values(INFINI_DTYPE_F32, INFINI_DTYPE_F16, INFINI_DTYPE_BF16),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

TEST_F(AscendGemm, BetaZeroDoesNotReadC) {
  for (const infiniDtype_t dtype : {INFINI_DTYPE_F32, INFINI_DTYPE_F16})
    for (const float alpha : {1.0f, 0.5f, 0.0f}) {
      Product p{dtype, {{4, 4}, {6, 1}}, {{4, 4}, {}}, {{4, 4}, {}}, alpha, 0};
      harness::Random random(5);
      Image c(layout(p.c, dtype), random);
      const Image a(layout(p.a, dtype), random), b(layout(p.b, dtype), random);
      for (int64_t i = 0; i + c.size <= static_cast<int64_t>(c.bytes.size()); i += c.size)
        store(c.bytes.data() + i, NAN, dtype);
      const std::vector<char> out = run(*device_, p, c, a, b);
      EXPECT_TRUE(std::isfinite(load(out.data(), dtype)));
    }
}

TEST_F(AscendGemm, FullF32UnlessLessIsAllowed) {
  Product p{INFINI_DTYPE_F32, {{1, 1}, {}}, {{1, 1}, {}}, {{1, 1}, {}}};
  harness::Random random(5);
  Image c(layout(p.c, p.dtype), random), a = c, b = c;
  store(a.bytes.data(), 1.0f + 0x1p-20f, p.dtype);
  store(b.bytes.data(), 1.0f, p.dtype);
  EXPECT_EQ(load(run(*device_, p, c, a, b).data(), p.dtype), 1.0 + 0x1p-20);
  EXPECT_EQ(load(run(*device_, p, c, a, b, {.allow_tf32 = true}).data(), p.dtype), 1.0);
}

TEST_F(AscendGemm, DeclinesWhatTheMatrixUnitDoesNotHave) {
  const Layout l = make_layout(INFINI_DTYPE_F64, 2, std::vector<size_t>{2, 2}.data(), nullptr);
  EXPECT_EQ(backend().kernels.gemm(*device_, make_gemm_plan(l, l, l), {}, {}), nullptr);
}

TEST_F(AscendGemm, SurvivesEveryFault) {
  for (const Product& shape : {shapes(INFINI_DTYPE_F32)[4], shapes(INFINI_DTYPE_F16)[9]}) {
    Product p = shape;
    p.alpha = 0.5f;
    p.beta = 2;
    harness::Random random(9);
    const Image c(layout(p.c, p.dtype), random), a(layout(p.a, p.dtype), random),
        b(layout(p.b, p.dtype), random);
    const std::vector<char> expected = run(*device_, p, c, a, b);
    uint64_t nth = 0;
    for (bool fired = true; fired;) {
      emulator::fail_call(++nth);
      try {
        auto device = backend().open(0);
        EXPECT_EQ(run(*device, p, c, a, b), expected);
      } catch (const Error& error) {
        EXPECT_TRUE(emulator::fault_fired()) << error.what();
        EXPECT_GT(std::strlen(error.what()), 10u);
      }
      fired = emulator::fault_fired();
      EXPECT_EQ(emulator::live().tensors + emulator::live().executors, 0u) << "call " << nth;
      ASSERT_LT(nth, 500u);
    }
    EXPECT_GT(nth, 20u);
  }
}

TEST_F(AscendGemm, OneKernelFromManyThreads) {
  const Product p = shapes(INFINI_DTYPE_F32)[9];
  harness::Random random(9);
  const Image c(layout(p.c, p.dtype), random), a(layout(p.a, p.dtype), random),
      b(layout(p.b, p.dtype), random);
  const std::vector<char> expected = run(*device_, p, c, a, b);
  const GemmPlan plan =
      make_gemm_plan(layout(p.c, p.dtype), layout(p.a, p.dtype), layout(p.b, p.dtype));
  const auto kernel = backend().kernels.gemm(*device_, plan, {}, {});
  auto work = [&] {
    device_->make_current();
    void* stream = device_->create_stream();
    {
      DeviceBytes dc(*device_, c.bytes.size()), da(*device_, a.bytes.size()),
          db(*device_, b.bytes.size());
      DeviceBytes workspace(*device_, kernel->workspace_bytes());
      device_->copy(dc.get(), c.bytes.data(), c.bytes.size(), INFINIRT_MEMCPY_H2D);
      device_->copy(da.get(), a.bytes.data(), a.bytes.size(), INFINIRT_MEMCPY_H2D);
      device_->copy(db.get(), b.bytes.data(), b.bytes.size(), INFINIRT_MEMCPY_H2D);
      for (int i = 0; i < 5; ++i)
        kernel->run(workspace.get(), dc.get() - c.range.begin, da.get() - a.range.begin,
                    db.get() - b.range.begin, 1, 0, stream);
      device_->synchronize_stream(stream);
      std::vector<char> out(c.bytes.size());
      device_->copy(out.data(), dc.get(), out.size(), INFINIRT_MEMCPY_D2H);
      EXPECT_EQ(out, expected);
    }
    device_->destroy_stream(stream);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

// --- the decision alone
// ----------------------------------------------------------------------------------

ascend::GemmSchedule scheduled(const Product& p) {
  return ascend::make_gemm_schedule(
      make_gemm_plan(layout(p.c, p.dtype), layout(p.a, p.dtype), layout(p.b, p.dtype)));
}

TEST(AscendGemmSchedule, TakesDenseOperandsAsTheyAre) {
  const auto plain = scheduled(shapes(INFINI_DTYPE_F16)[0]),
             turned = scheduled(shapes(INFINI_DTYPE_F16)[1]);
  EXPECT_EQ(plain.workspace_bytes + turned.workspace_bytes, 0u);
  EXPECT_TRUE(turned.a.columns_first && turned.b.columns_first);
}

TEST(AscendGemmSchedule, TurnsTheProductForAColumnMajorC) {
  const auto schedule = scheduled(shapes(INFINI_DTYPE_F16)[2]);
  EXPECT_TRUE(schedule.swapped);
  EXPECT_EQ(schedule.workspace_bytes, 0u);
  EXPECT_EQ(schedule.plan.m, 7);
}

TEST(AscendGemmSchedule, FoldsBatchesIntoRows) {
  const auto schedule = scheduled(shapes(INFINI_DTYPE_F16)[6]);
  EXPECT_EQ(schedule.plan.batch, 1);
  EXPECT_EQ(schedule.plan.m, 15);
}

TEST(AscendGemmSchedule, PacksWhatIsNotDense) {
  const auto schedule = scheduled(shapes(INFINI_DTYPE_F32)[3]);
  EXPECT_TRUE(schedule.c.packed && schedule.a.packed && schedule.b.packed);
  EXPECT_GE(schedule.workspace_bytes, (5 * 7 + 5 * 9 + 9 * 7) * 4u);
  EXPECT_EQ(schedule.a.workspace_offset % 256, 0u);
}

}  // namespace
}  // namespace infini
