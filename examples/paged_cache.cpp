// A paged KV cache: paged_cache [device].
//
// Tokens are appended to slots, blocks are gathered in another engine's layout, swapped out to the host and back, and a
// weight that lies transposed on the host is loaded. Each is one call.
#include <infinicore.hpp>
#include <numeric>
#include <vector>

#include "example.h"

using namespace infinicore;
using namespace infinicore::op;

namespace {

constexpr Size blocks = 12, block = 16, heads = 4, dim = 32;

// A tensor on the device with these elements.
template <class T>
Tensor upload(const std::vector<T>& values, const Shape& shape, DataType dtype,
              const Device& device) {
  const Tensor host = Tensor::empty(shape, dtype, Device::cpu());
  std::memcpy(host->data(), values.data(), values.size() * sizeof(T));
  return host->to(device);
}

std::vector<float> download(const Tensor& tensor) {
  const Tensor host = tensor->to(Device::cpu())->contiguous();
  std::vector<float> values(host->numel());
  std::memcpy(values.data(), host->data(), values.size() * sizeof(float));
  return values;
}

Tensor host_ids(const std::vector<int32_t>& ids) {
  return upload(ids, {ids.size()}, DataType::I32, Device::cpu());
}

}  // namespace

int main(int argc, char** argv) {
  const Device device = device_named(argc > 1 ? argv[1] : "cpu");

  // One engine keeps blocks of tokens, [blocks, block, heads, dim]; seen by slots it is a row of tokens.
  const Tensor cache = Tensor::zeros({blocks, block, heads, dim}, DataType::F32, device);
  const Tensor slots = cache->view({blocks * block, heads, dim});

  // Append: token i of a batch goes to slot[i], wherever its sequence has room.
  std::vector<float> numbers(5 * heads * dim);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  const Tensor keys = upload(numbers, {5, heads, dim}, DataType::F32, device);
  const std::vector<int32_t> slot = {17, 18, 3 * 16 + 5, 40, 11 * 16 + 15};
  copy_pages_(slots, host_ids(slot), keys, {});
  expect(download(slots)[17 * heads * dim] == 1, "token 0 lies in slot 17");

  // Gather the blocks of one sequence for another engine, whose blocks are [heads, block, dim]: the pattern says how.
  const std::vector<int32_t> table = {1, 3, 11};
  const Tensor gathered = Tensor::zeros({3, heads, block, dim}, DataType::F32, device);
  copy_pages_(gathered, {}, cache, host_ids(table), "token heads dim -> heads token dim");
  const std::vector<float> there = download(gathered);
  const auto at = [&](Size b, Size h, Size t, Size d) {
    return there[((b * heads + h) * block + t) * dim + d];
  };
  expect(at(0, 2, 1, 7) == numbers[(0 * heads + 2) * dim + 7], "token 0: block 1, place 1");
  expect(at(2, 3, 15, 0) == numbers[(4 * heads + 3) * dim], "token 4: block 11, place 15");

  // Swap: blocks go to the host and come back to other places.
  const Tensor kept = Tensor::empty({3, block, heads, dim}, DataType::F32, Device::cpu());
  const Tensor room = Tensor::empty({3, block, heads, dim}, DataType::F32, device);
  copy_pages_(room, {}, cache, host_ids(table));
  Tensor(kept)->copy_from(room);
  Tensor(room)->copy_from(kept);
  copy_pages_(cache, host_ids({7, 8, 9}), room, {});
  expect(download(cache)[7 * block * heads * dim + heads * dim] == 1, "block 1 is block 7 now");

  // Load a weight that lies transposed on the host: no copy is made there first.
  std::vector<float> weight(48 * 80);
  std::iota(weight.begin(), weight.end(), 0.0f);
  const Tensor stored = upload(weight, {80, 48}, DataType::F32, Device::cpu());
  const Tensor loaded = Tensor::empty({48, 80}, DataType::F32, device);
  Tensor(loaded)->copy_from(stored->permute({1, 0}));
  expect(download(loaded)[1] == 48, "row 0, column 1 was row 1, column 0");

  // An id that names no page is an error, and nothing moves.
  try {
    copy_pages_(slots, host_ids({1, static_cast<int32_t>(blocks * block)}),
                keys->narrow({{0, 0, 2}}), {});
    expect(false, "there is no such slot");
  } catch (const std::runtime_error& error) {
    std::printf("as expected: %s\n", error.what());
  }
}
