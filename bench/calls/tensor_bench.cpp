// What one call of the C++ layer costs, and what recording saves: tensor_bench [device kind
// number].
//
// Each figure is the median over many batches; a batch ends with a synchronisation, so on an
// accelerator the time is that of host and device together.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "infinicore.hpp"

using namespace infinicore;

namespace {

// Nanoseconds per call of body.
double median_ns(int calls, const std::function<void()>& body) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int batch = 0; batch < 31; ++batch) {
    context::syncDevice();
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) body();
    context::syncDevice();
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / calls);
  }
  std::nth_element(times.begin(), times.begin() + 15, times.end());
  return times[15];
}

// 50 transpositions and 50 products of n×n matrices over two buffers: each has to wait for the one
// before it, since that reads or writes what it writes.
struct Chain {
  Chain(Size n, DataType dtype, const Device& device)
      : a(Tensor::ones({n, n}, dtype, device)),
        b(Tensor::zeros({n, n}, dtype, device)),
        c(Tensor::zeros({n, n}, dtype, device)),
        turned(a->permute({1, 0})) {}
  void operator()() const {
    for (int i = 0; i < 50; ++i) {
      op::rearrange_(b, turned);
      op::gemm_(c, b, a, 0.5f);
    }
  }
  Tensor a, b, c, turned;
};

// 50 times x = xᵀ·w / n, with a transposed copy: each reads what the one before wrote. Every result
// has a tensor of its own; or only the last one is kept, and the others are temporaries.
struct Flow {
  Flow(Size n, DataType dtype, const Device& device, bool keeps)
      : x(Tensor::ones({n, n}, dtype, device)), w(Tensor::ones({n, n}, dtype, device)) {
    for (int i = 0; keeps && i < 100; ++i) results.push_back(Tensor::zeros({n, n}, dtype, device));
  }
  void operator()() const {
    const float alpha = 1.0f / static_cast<float>(w->shape()[0]);
    Tensor t = x;
    for (size_t i = 0; i < 100; i += 2) {
      const Tensor turned = t->permute({1, 0});
      if (results.empty()) {
        t = op::gemm(op::rearrange(turned), w, alpha);
        continue;
      }
      op::rearrange_(results[i], turned);
      op::gemm_(results[i + 1], results[i], w, alpha);
      t = results[i + 1];
    }
    last = t;
  }
  Tensor x, w;
  std::vector<Tensor> results;
  mutable Tensor last;
};

// 25 blocks, each splitting q and k of its own input by a transposition and multiplying them twice:
// 50 transpositions and 50 products, of which those of different blocks do not need each other.
struct Blocks {
  Blocks(Size n, DataType dtype, const Device& device) {
    for (int i = 0; i < 25; ++i) {
      const Tensor x = Tensor::ones({n, n}, dtype, device);
      inputs.push_back(x->permute({1, 0}));
      for (int k = 0; k < 4; ++k) results.push_back(Tensor::zeros({n, n}, dtype, device));
    }
  }
  void operator()() const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor *r = &results[4 * i], &q = r[0], &k = r[1], &scores = r[2], &y = r[3];
      op::rearrange_(q, inputs[i]);
      op::rearrange_(k, inputs[i]);
      op::gemm_(scores, q, k, 0.5f);
      op::gemm_(y, scores, k);
    }
  }
  std::vector<Tensor> inputs, results;
};

template <class Work>
void bench_graph(const char* name, const char* matrices, const Work& chain, int calls) {
  context::startGraphRecording();
  chain();
  const auto graph = context::stopGraphRecording();
  const double eager = median_ns(calls, chain) / 1000;
  const double replay = median_ns(calls, [&] { graph->run(); }) / 1000;
  std::printf("%-24s %-11s eager %9.2f us   replay %9.2f us   ratio %.3f\n", name, matrices, eager,
              replay, replay / eager);
}

void bench_calls(const Device& device, int calls) {
  const Tensor one = Tensor::ones({1, 1}, DataType::F32, device);
  const Tensor c = Tensor::zeros({1, 1}, DataType::F32, device);
  const Tensor x = Tensor::ones({2, 3}, DataType::F32, device);
  const Tensor y = Tensor::zeros({3, 2}, DataType::F32, device), turned = x->permute({1, 0});
  std::printf("%-34s %9.1f ns\n", "gemm_ 1x1x1 f32, cached",
              median_ns(calls, [&] { op::gemm_(c, one, one); }));
  std::printf("%-34s %9.1f ns\n", "rearrange_ 2x3 f32, cached",
              median_ns(calls, [&] { op::rearrange_(y, turned); }));
  std::printf("%-34s %9.1f ns\n", "a view (permute)", median_ns(calls, [&] {
                x->permute({1, 0});
              }));
  std::printf("%-34s %9.1f ns\n", "a new tensor of 2x3", median_ns(calls, [&] {
                Tensor::empty({2, 3}, DataType::F32, device);
              }));
}

void bench_tiny_graph(const Device& device, int calls) {
  const Tensor x = Tensor::ones({2, 3}, DataType::F32, device);
  const Tensor y = Tensor::zeros({3, 2}, DataType::F32, device), turned = x->permute({1, 0});
  const Tensor one = Tensor::ones({1, 1}, DataType::F32, device);
  const Tensor c = Tensor::zeros({1, 1}, DataType::F32, device);
  context::startGraphRecording();
  for (int i = 0; i < 50; ++i) {
    op::rearrange_(y, turned);
    op::gemm_(c, one, one);
  }
  const auto graph = context::stopGraphRecording();
  std::printf("%-34s %9.2f us\n", "replay of 100 tiny operators",
              median_ns(calls, [&] { graph->run(); }) / 1000);
}

}  // namespace

int main(int argc, char** argv) {
  const auto kind = static_cast<Device::Type>(argc > 1 ? std::atoi(argv[1]) : 0);
  if (context::getDeviceCount(kind) == 0) {
    std::printf("no %s device here\n", Device::toString(kind).c_str());
    return 77;
  }
  const Device device(kind);
  context::setDevice(device);
  const bool is_cpu = kind == Device::Type::CPU;
  std::printf("%s\n", device.toString().c_str());
  bench_calls(device, is_cpu ? 20000 : 2000);
  bench_tiny_graph(device, is_cpu ? 2000 : 50);
  const int large = is_cpu ? 2 : 50;
  struct {
    const char* name;
    Size n;
    DataType dtype;
  } const kinds[] = {{"64x64 f32", 64, DataType::F32},
                     {"64x64 f16", 64, DataType::F16},
                     {"256x256 f16", 256, DataType::F16}};
  for (const auto& [name, n, dtype] : kinds)
    bench_graph("chain over two buffers", name, Chain(n, dtype, device), large);
  for (const auto& [name, n, dtype] : kinds)
    bench_graph("chain, all results kept", name, Flow(n, dtype, device, true), large);
  for (const auto& [name, n, dtype] : kinds)
    bench_graph("chain, temporaries", name, Flow(n, dtype, device, false), large);
  for (const auto& [name, n, dtype] : kinds)
    bench_graph("25 blocks of 4", name, Blocks(n, dtype, device), large);
}
