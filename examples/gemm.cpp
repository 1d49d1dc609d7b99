// Matrix products through the C++ API: gemm [device].
#include "infinicore/ops/gemm.hpp"

#include "example.h"

using namespace infinicore;
using namespace infinicore::op;

namespace {

float first_element(const Tensor& tensor) {
  const Tensor host = tensor->to(Device::cpu());
  float value;
  std::memcpy(&value, host->data(), sizeof value);
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const Device device = device_named(argc > 1 ? argv[1] : "cpu");

  // Example 1: c = a·b, [512, 1024]·[1024, 768] -> [512, 768]. Operators follow their tensors'
  // device.
  const Tensor a = Tensor::ones({512, 1024}, DataType::F32, device);
  const Tensor b = Tensor::ones({1024, 768}, DataType::F32, device);
  const Tensor c = gemm(a, b);
  expect(c->shape() == Shape{512, 768}, "the product's shape");
  expect(first_element(c) == 1024, "each element is the sum of 1024 ones");

  // Example 2: c = 2·a·b + 3·c, in place. c must hold something: beta is not 0.
  const Tensor preallocated = Tensor::ones({512, 768}, DataType::F32, device);
  gemm_(preallocated, a, b, 2.0f, 3.0f);
  expect(first_element(preallocated) == 2 * 1024 + 3, "2·1024 + 3·1");

  // Example 3: a batch, [32, 64, 128]·[32, 128, 96] -> [32, 64, 96].
  const Tensor batch_a = Tensor::ones({32, 64, 128}, DataType::F32, device);
  const Tensor batch_b = Tensor::ones({32, 128, 96}, DataType::F32, device);
  const Tensor batch_c = gemm(batch_a, batch_b);
  expect(batch_c->shape() == Shape{32, 64, 96}, "the batch's shape");
  expect(first_element(batch_c) == 128, "each element is the sum of 128 ones");

  // Example 4: mistakes are exceptions that name both sides.
  try {
    gemm(a, Tensor::ones({512, 768}, DataType::F32, device));
    expect(false, "1024 columns do not fit 512 rows");
  } catch (const std::runtime_error& error) {
    std::printf("as expected: %s\n", error.what());
  }

  // Example 5: recorded once, replayed often; what b holds at each run is what counts.
  context::startGraphRecording();
  const Tensor recorded = gemm(a, b);
  const auto graph = context::stopGraphRecording();
  Tensor(b)->copy_from(Tensor::zeros({1}, DataType::F32, device));
  graph->run();
  expect(first_element(recorded) == 0, "b was zero at this run");
  std::printf("%s", graph->describe().c_str());
}
