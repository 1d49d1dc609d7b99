// Random programs of copies and products over a few shared storages: what a replay leaves is what
// running the operators one by one leaves, bit for bit.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/environment.h"
#include "tensor/tensor_test_support.h"

namespace infinicore {
namespace {

using Random = std::mt19937;

int64_t below(Random& random, int64_t limit) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
}

constexpr int64_t large = 200;  // beyond the smallest tiles of products

// A view: of a storage, or of a temporary that an earlier instruction made.
struct ViewOf {
  size_t tensor;
  bool temporary;
  Shape shape;
  Strides strides;
  Stride offset;
};

// y = alpha·a·b + beta·y, or with no b: y = a. A y of no shape is a new temporary.
struct Instruction {
  ViewOf y, a, b;
  float alpha, beta;
};
struct Script {
  Size storage_size;
  std::vector<Instruction> instructions;
};

// Programs in the style of real ones: copies that turn, cut or reverse, and what reads them.
class Writer {
 public:
  Writer(unsigned seed, bool products, bool also_large)
      : random_(seed), products_(products), also_large_(also_large) {}

  Script write() {
    Script script;
    const int64_t n = also_large_ && below(random_, 6) == 0 ? large : 4 * (1 + below(random_, 12));
    size_ = static_cast<Size>(below(random_, 5) == 0 ? n + 1 : n);
    script.storage_size = storage_size_ = 3 * size_ * size_;
    temporaries_ = 0;
    for (int i = 0; i < 24; ++i) {
      const bool product = products_ && below(random_, 5) < 2;
      Instruction next{to(), from(), product ? from() : ViewOf{}, 1.0f / 16, 0};
      if (product && !next.y.shape.empty() && below(random_, 3) == 0) next.beta = 0.5f;
      if (next.y.shape.empty()) ++temporaries_;
      script.instructions.push_back(next);
    }
    return script;
  }

 private:
  ViewOf to() {
    if (below(random_, 2) == 0) return {};
    return square(static_cast<size_t>(below(random_, 3)), false);
  }
  // Mostly what was made lately.
  ViewOf from() {
    if (temporaries_ == 0 || below(random_, 3) == 0)
      return square(static_cast<size_t>(below(random_, 3)), false);
    const auto back = static_cast<size_t>(below(random_, 3));
    return square(temporaries_ - 1 - std::min(back, temporaries_ - 1), true);
  }
  // size × size elements somewhere, turned or not; now and then with gaps, reversed or repeated.
  ViewOf square(size_t tensor, bool temporary) {
    const auto n = static_cast<Stride>(size_);
    const Stride room = temporary ? 0 : static_cast<Stride>(storage_size_) - n * n;
    const Stride places[] = {0, room, n * n <= room ? n * n : 0, below(random_, room + 1)};
    ViewOf view{tensor, temporary, {size_, size_}, {n, 1}, places[below(random_, 4)]};
    if (below(random_, 2) == 0) std::swap(view.strides[0], view.strides[1]);
    if (below(random_, 8) == 0) {
      view.offset += (n - 1) * view.strides[0];
      view.strides[0] = -view.strides[0];
    }
    return view;
  }

  Random random_;
  bool products_, also_large_;
  Size size_ = 0, storage_size_ = 0;
  size_t temporaries_ = 0;
};

class Machine {
 public:
  Machine(Size storage_size, DataType dtype, const Device& device, unsigned seed) {
    Random random(seed);
    for (int i = 0; i < 3; ++i) {
      Tensor host = Tensor::empty({storage_size}, DataType::F32, Device::cpu());
      auto* values = reinterpret_cast<float*>(host->data());
      for (Size k = 0; k < storage_size; ++k)
        values[k] = static_cast<float>(below(random, 2048)) / 1024 - 1;
      storages.push_back(narrowed(host, dtype)->to(device));
    }
  }

  // Runs or records all that the operators accept; says what they do not.
  void run(const Script& script, std::vector<bool>& accepted) {
    std::vector<Tensor> temporaries;
    accepted.clear();
    for (const Instruction& next : script.instructions) {
      const bool fresh = next.y.shape.empty(), product = !next.b.shape.empty();
      const Tensor a = view(next.a, temporaries);
      const Tensor y =
          fresh ? Tensor::empty(a->shape(), a->dtype(), a->device()) : view(next.y, temporaries);
      if (fresh) temporaries.push_back(y);
      try {
        if (product)
          op::gemm_(y, a, view(next.b, temporaries), next.alpha, next.beta);
        else
          op::rearrange_(y, a);
        accepted.push_back(true);
      } catch (const Error&) {  // a product in place
        accepted.push_back(false);
        if (fresh) throw;
      }
    }
  }

  std::vector<std::vector<std::byte>> bits() const {
    std::vector<std::vector<std::byte>> all;
    for (const Tensor& storage : storages) {
      const Tensor host = storage->to(Device::cpu());
      all.emplace_back(host->data(), host->data() + host->nbytes());
    }
    return all;
  }

  std::vector<Tensor> storages;

 private:
  Tensor view(const ViewOf& v, const std::vector<Tensor>& temporaries) const {
    const Tensor& base = v.temporary ? temporaries[v.tensor] : storages[v.tensor];
    return base->as_strided(v.shape, v.strides, v.offset);
  }
  // Through the upper half for the 16-bit types: small numbers whatever the type makes of them.
  static Tensor narrowed(const Tensor& host, DataType dtype) {
    if (dtype == DataType::F32) return host;
    Tensor result = Tensor::empty(host->shape(), dtype, Device::cpu());
    auto* to = reinterpret_cast<uint16_t*>(result->data());
    const auto* from = reinterpret_cast<const uint32_t*>(host->data());
    for (Size i = 0; i < host->numel(); ++i) {
      const uint32_t word = from[i] >> 16;
      to[i] = static_cast<uint16_t>((word & 0x8000u) | (0x2000u + (word & 0x1fffu)));
    }
    return result;
  }
};

struct Replay : testing::TestWithParam<Device> {
  const Device device = GetParam();
  ~Replay() override {
    if (context::isGraphRecording()) context::cancelGraphRecording();
  }
  size_t through = 0, dropped = 0;

  std::shared_ptr<graph::Graph> record(Machine& machine, const Script& script) {
    std::vector<bool> accepted;
    context::startGraphRecording();
    machine.run(script, accepted);
    auto graph = context::stopGraphRecording();
    const std::string text = graph->describe();
    through += text.find("reads through") != std::string::npos;
    dropped += text.find("not run") != std::string::npos;
    return graph;
  }

  void check(const Script& script, DataType dtype, unsigned seed) {
    const auto machine_of = [&](unsigned start) {
      return Machine(script.storage_size, dtype, device, start);
    };
    Machine eager = machine_of(seed), replayed = machine_of(seed);
    std::vector<bool> accepted;
    const auto graph = record(replayed, script);
    for (int run = 0; run < 2; ++run) {
      eager.run(script, accepted);
      graph->run();
      context::syncDevice();
      ASSERT_EQ(eager.bits(), replayed.bits()) << "run " << run << "\n" << graph->describe();
    }
    // A storage changes places with another, and one is new.
    const auto old = replayed.storages;
    for (Machine* machine : {&eager, &replayed}) {
      std::swap(machine->storages[0], machine->storages[1]);
      machine->storages[2] = machine_of(seed + 1).storages[2];
    }
    try {
      graph->rebind({{old[0], old[1]}, {old[1], old[0]}, {old[2], replayed.storages[2]}});
    } catch (const Error&) {  // the script does not use all of them
      return;
    }
    eager.run(script, accepted);
    graph->run();
    context::syncDevice();
    ASSERT_EQ(eager.bits(), replayed.bits()) << "rebound\n" << graph->describe();
  }
};

TEST_P(Replay, OfRandomProgramsLeavesTheBitsOfTheOperators) {
  context::setDevice(device);
  const auto kind = device.getType();
  const bool fast = kind == Device::Type::CPU || kind == Device::Type::NVIDIA;  // no emulator
  const int programs = fast ? 120 : 30;
  const Tensor one = Tensor::ones({1, 1}, DataType::F32, device);
  const bool products = status_of([&] { op::gemm(one, one); }) != INFINI_STATUS_NOT_IMPLEMENTED;
  for (int i = 0; i < programs && !HasFatalFailure(); ++i) {
    const auto seed = static_cast<unsigned>(i);
    const DataType dtype = i % 3 == 0 ? DataType::F32 : i % 3 == 1 ? DataType::F16 : DataType::BF16;
    SCOPED_TRACE("program " + std::to_string(i));
    check(Writer(seed, products, fast).write(), dtype, seed);
  }
  EXPECT_GT(through, 10u);
  EXPECT_GT(dropped, 10u);
  context::setDevice(Device::cpu());
}

INSTANTIATE_TEST_SUITE_P(Devices, Replay, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return test_name(info.param); });

TEST(ReadThroughSwitch, TurnsItOff) {
  const Tensor x = iota({4, 6}), y = iota({4, 6});
  const auto recorded = [&] {
    context::startGraphRecording();
    op::rearrange_(y, op::rearrange(x->permute({1, 0}))->permute({1, 0}));
    return context::stopGraphRecording()->describe();
  };
  EXPECT_NE(recorded().find("not run"), std::string::npos);
  setenv("INFINI_READ_THROUGH", "0", 1);
  infini::reread_environment();
  EXPECT_EQ(recorded().find("not run"), std::string::npos);
  unsetenv("INFINI_READ_THROUGH");
  infini::reread_environment();
}

}  // namespace
}  // namespace infinicore
