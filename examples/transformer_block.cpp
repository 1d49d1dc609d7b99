// The data movement and products of one transformer block: transformer_block [device].
//
//   q, k, v = x·Wq, x·Wk, x·Wv          projections
//   heads:    [s, h·d] -> [h, s, d]     split by rearrange
//   scores  = q·kᵀ / sqrt(d)            batched gemm, k transposed by its strides alone
//   context = scores·v                  batched gemm
//   y       = merge(context)·Wo + x     merge by rearrange, residual by beta = 1
//
// Softmax and normalisation are left out: this library moves and multiplies. The block runs eagerly
// and as a graph, which must give the same bits.
#include <cmath>
#include <vector>

#include "example.h"

using namespace infinicore;
using namespace infinicore::op;

namespace {

constexpr Size sequence = 48, heads = 4, head_size = 16, width = heads * head_size;

// Small numbers that look random and are the same everywhere.
Tensor numbers(const Shape& shape, unsigned seed, const Device& device) {
  Tensor host = Tensor::empty(shape, DataType::F32, Device::cpu());
  for (Size i = 0; i < host->numel(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    const float value = static_cast<float>(seed >> 8) / (1 << 24) - 0.5f;
    std::memcpy(host->data() + i * sizeof value, &value, sizeof value);
  }
  return host->to(device);
}

struct Block {
  explicit Block(const Device& device)
      : wq(numbers({width, width}, 1, device)),
        wk(numbers({width, width}, 2, device)),
        wv(numbers({width, width}, 3, device)),
        wo(numbers({width, width}, 4, device)) {}

  static Tensor split_heads(const Tensor& x) {  // [s, h·d] -> [h, s, d]
    return rearrange(x->view({sequence, heads, head_size})->permute({1, 0, 2}));
  }
  static Tensor merge_heads(const Tensor& x) {  // [h, s, d] -> [s, h·d]
    return rearrange(x->permute({1, 0, 2}))->view({sequence, width});
  }

  Tensor operator()(const Tensor& x) const {
    const Tensor q = split_heads(matmul(x, wq));
    const Tensor k = split_heads(matmul(x, wk));
    const Tensor v = split_heads(matmul(x, wv));
    const float scale = 1.0f / std::sqrt(static_cast<float>(head_size));
    const Tensor scores = gemm(q, k->permute({0, 2, 1}), scale);
    const Tensor y = rearrange(x);
    gemm_(y, merge_heads(gemm(scores, v)), wo, 1.0f, 1.0f);
    return y;
  }

  Tensor wq, wk, wv, wo;
};

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor left = a->to(Device::cpu()), right = b->to(Device::cpu());
  return std::memcmp(left->data(), right->data(), left->nbytes()) == 0;
}

float largest_difference(const Tensor& a, const Tensor& b) {
  const Tensor left = a->to(Device::cpu()), right = b->to(Device::cpu());
  float largest = 0;
  for (Size i = 0; i < left->numel(); ++i) {
    float x, y;
    std::memcpy(&x, left->data() + 4 * i, 4);
    std::memcpy(&y, right->data() + 4 * i, 4);
    largest = std::fmax(largest, std::fabs(x - y));
  }
  return largest;
}

}  // namespace

int main(int argc, char** argv) {
  const Device device = device_named(argc > 1 ? argv[1] : "cpu");
  const Block block(device);
  const Tensor x = numbers({sequence, width}, 5, device);

  context::startGraphRecording();
  const Tensor replayed = block(x);
  const auto graph = context::stopGraphRecording();
  std::printf("%s", graph->describe().c_str());

  for (unsigned run = 0; run < 3; ++run) {
    Tensor(x)->copy_from(numbers({sequence, width}, 5 + run, device));
    graph->run();
    expect(same_bits(replayed, block(x)), "replay and eager run give the same bits");
  }

  // The same graph on another input and output, without recording again.
  const Tensor other_x = numbers({sequence, width}, 99, device);
  const Tensor other_y = Tensor::zeros({sequence, width}, DataType::F32, device);
  graph->rebind({{x, other_x}, {replayed, other_y}});
  graph->run();
  expect(same_bits(other_y, block(other_x)), "a rebound graph gives the same bits");

  // Devices add in different orders, so across devices the results are close, not equal.
  const Tensor on_cpu = Block(Device::cpu())(other_x->to(Device::cpu()));
  const float difference = largest_difference(other_y, on_cpu);
  std::printf("largest difference to the CPU: %g\n", difference);
  expect(difference < 1e-3f, "the device agrees with the CPU");
}
