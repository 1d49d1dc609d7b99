// Programs of tensor operations: what a recorded graph leaves is what running the operations one by one leaves, bit for
// bit, and what one refuses the other refuses.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "harness/gemm/gemm_reference.h"
#include "harness/rearrange/random_problems.h"
#include "infinicore.hpp"
#include "tests/fuzz/input.h"
#include "tests/fuzz/layouts.h"
#include "tests/fuzz/setting.h"

namespace infini::fuzz {
namespace {

using namespace infinicore;
using infinicore::Strides;

constexpr size_t storages = 3;
constexpr size_t most_instructions = 24;
constexpr Size storage_size = 3000;  // elements

// A view of a storage, or of what an earlier instruction made.
struct View {
  int tensor = 0;  // of the storages, then of the temporaries
  Shape shape;
  Strides strides;
  Stride offset = 0;
};

enum class Operation { copy, new_copy, product, new_product, batched, broadcast, reshape };

struct Instruction {
  Operation operation = Operation::copy;
  View y, a, b;
  float alpha = 1, beta = 0;
  bool kept = false;  // what it makes stays visible
};

struct Program {
  DataType dtype = DataType::F32;
  bool rebinds = false;
  std::vector<Instruction> instructions;
};

class Writer {
 public:
  explicit Writer(Input& in) : in_(in) {
    static constexpr Size extents[] = {4, 1, 2, 3, 5, 8, 16, 7, 12, 17, 9, 6, 20, 32, 33, 10};
    for (Size& extent : extents_) extent = in.one_of(extents);
  }

  Program write() {
    static constexpr DataType types[] = {DataType::F32, DataType::F16, DataType::BF16,
                                         DataType::F64};
    Program program;
    program.dtype = in_.one_of(types);
    program.rebinds = in_.one_in(4);
    while (!in_.empty() && program.instructions.size() < most_instructions)
      program.instructions.push_back(next());
    return program;
  }

 private:
  Instruction next() {
    static constexpr Operation operations[] = {
        Operation::copy,    Operation::new_copy, Operation::product,   Operation::new_product,
        Operation::batched, Operation::new_copy, Operation::broadcast, Operation::reshape};
    static constexpr float factors[] = {1, 0, 0.5f, -1};
    Instruction next;
    const int choice = in_.byte();
    next.operation = operations[choice % 8];
    next.kept = choice / 8 % 4 == 0;
    next.alpha = choice / 32 % 4 == 3 ? 0.25f : 1;
    const Size i = extent(), j = extent(), k = extent();
    switch (next.operation) {
      case Operation::copy:
        next.a = view({i, j});
        next.y = view({i, j});
        break;
      case Operation::new_copy: next.a = view({i, j}); break;
      case Operation::broadcast:
        next.a = view({i, 1});
        next.y = view({i, j});
        break;
      case Operation::reshape: next.a = view({i, j}); break;
      case Operation::product: next.beta = in_.one_of(factors); [[fallthrough]];
      case Operation::new_product:
        next.a = view({i, k});
        next.b = view({k, j});
        next.y = view({i, j});
        break;
      case Operation::batched:
        next.a = view({2, i, k});
        next.b = view({2, k, j});
        next.y = view({2, i, j});
        next.beta = in_.one_of(factors);
    }
    if (makes(next)) ++temporaries_;
    return next;
  }

 public:
  static bool makes(const Instruction& x) {
    return x.operation == Operation::new_copy || x.operation == Operation::new_product ||
           x.operation == Operation::reshape;
  }

 private:
  Size extent() { return extents_[static_cast<size_t>(in_.below(3))]; }

  // Any layout of this shape; often a turned view of what was made lately. Bounds are as_strided's business.
  View view(const Shape& shape) {
    View view;
    view.shape = shape;
    const int choice = in_.byte();
    view.tensor = choice % 4 < 3 || temporaries_ == 0
                      ? choice % 3
                      : static_cast<int>(storages) + std::max(0, temporaries_ - 1 - choice / 64);
    const Extents extents(shape.begin(), shape.end());
    const auto strides = choose_nested_strides(in_, extents, 4, choice / 4 % 8 == 7);
    view.strides.assign(strides.begin(), strides.end());
    if (view.tensor < static_cast<int>(storages)) view.offset = in_.byte() * 4;
    for (size_t i = 0; i < shape.size(); ++i)
      if (strides[i] < 0 && shape[i] > 1)
        view.offset -= strides[i] * static_cast<Stride>(shape[i] - 1);
    return view;
  }

  Input& in_;
  Size extents_[3];
  int temporaries_ = 0;
};

using Bits = std::vector<std::byte>;

class Machine {
 public:
  Machine(DataType dtype, uint64_t seed) {
    for (size_t i = 0; i < storages; ++i) tensors_.push_back(storage(dtype, seed + i));
  }

  static Tensor storage(DataType dtype, uint64_t seed) {
    Tensor made = Tensor::empty({storage_size}, dtype, Device::cpu());
    harness::Random random(seed);
    const auto kind = static_cast<infiniDtype_t>(dtype);
    for (Size k = 0; k < storage_size; ++k)
      harness::write_element(kind, reinterpret_cast<char*>(made->data()) + k * made->element_size(),
                             static_cast<long double>(random.between(-64, 64)) / 64);
    return made;
  }

  // Runs or records; says for each instruction what it answered. Temporaries that are not kept die with the program.
  std::vector<infiniStatus_t> run(const Program& program) {
    std::vector<Tensor> all = tensors_;
    std::vector<infiniStatus_t> answers;
    kept_.clear();
    for (const Instruction& next : program.instructions) {
      Tensor made;
      infiniStatus_t answer = INFINI_STATUS_SUCCESS;
      try {
        made = perform(next, all);
      } catch (const Error& error) {
        answer = error.status();
      }
      answers.push_back(answer);
      if (!Writer::makes(next)) continue;
      if (!made)
        made = all[0];                             // what was refused must not shift the others
      else if (next.kept && !shows_storage(made))  // which are compared anyway, and may be rebound
        kept_.push_back(made);
      all.push_back(made);
    }
    return answers;
  }

  std::vector<Bits> bits() const {
    std::vector<Bits> all;
    for (const auto* list : {&tensors_, &kept_})
      for (const Tensor& tensor : *list) {
        const Tensor dense = tensor->contiguous();
        all.emplace_back(dense->data(), dense->data() + dense->nbytes());
      }
    return all;
  }

  std::vector<Tensor>& tensors() { return tensors_; }

 private:
  static Tensor perform(const Instruction& next, const std::vector<Tensor>& all) {
    const auto see = [&](const View& v) {
      return all[static_cast<size_t>(v.tensor)]->as_strided(v.shape, v.strides, v.offset);
    };
    switch (next.operation) {
      case Operation::copy: op::rearrange_(see(next.y), see(next.a)); break;
      case Operation::new_copy: return op::rearrange(see(next.a));
      case Operation::product:
        op::gemm_(see(next.y), see(next.a), see(next.b), next.alpha, next.beta);
        break;
      case Operation::new_product: return op::gemm(see(next.a), see(next.b), next.alpha);
      case Operation::batched:
        op::matmul_(see(next.y), see(next.a), see(next.b), next.alpha, next.beta);
        break;
      case Operation::broadcast:
        op::rearrange_(see(next.y), see(next.a)->broadcast_to(next.y.shape));
        break;
      case Operation::reshape: return see(next.a)->reshape({next.a.shape[0] * next.a.shape[1]});
    }
    return {};
  }

  bool shows_storage(const Tensor& tensor) const {
    return std::any_of(tensors_.begin(), tensors_.end(), [&](const Tensor& storage) {
      return storage->memory() == tensor->memory();
    });
  }

  std::vector<Tensor> tensors_, kept_;
};

void require_equal(const Machine& eager, const Machine& replayed, const std::string& when,
                   const graph::Graph& graph) {
  if (eager.bits() != replayed.bits())
    finding(when + "\n" + graph.describe(), "a replay left other bits than the operators");
}

std::shared_ptr<graph::Graph> record(Machine& machine, const Program& program,
                                     std::vector<infiniStatus_t>& answers) {
  context::startGraphRecording();
  answers = machine.run(program);
  return context::stopGraphRecording();
}

// A storage changes places with another, and one is new.
void check_rebound(Machine& eager, Machine& replayed, const Program& program, graph::Graph& graph) {
  const auto old = replayed.tensors();
  for (Machine* machine : {&eager, &replayed}) {
    std::swap(machine->tensors()[0], machine->tensors()[1]);
    machine->tensors()[2] = Machine::storage(program.dtype, 99);
  }
  try {
    graph.rebind({{old[0], old[1]}, {old[1], old[0]}, {old[2], replayed.tensors()[2]}});
  } catch (const Error&) {  // the program does not use all of them
    return;
  }
  eager.run(program);
  graph.run();
  require_equal(eager, replayed, "rebound", graph);
}

void run_one(Input& in) {
  Setting setting;
  setting.threads = 1 + in.below(2);
  setting.apply();
  const Program program = Writer(in).write();
  Machine eager(program.dtype, 1), replayed(program.dtype, 1);
  std::vector<infiniStatus_t> answers;
  const auto graph = record(replayed, program, answers);
  if (announces()) announce(graph->describe());
  for (const char* turn : {"first run", "second run"}) {
    if (eager.run(program) != answers)
      finding(graph->describe(), "recording and running answer differently");
    graph->run();
    require_equal(eager, replayed, turn, *graph);
  }
  if (program.rebinds) check_rebound(eager, replayed, program, *graph);
}

}  // namespace
}  // namespace infini::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  infini::fuzz::Input in(data, size);
  infini::fuzz::run_one(in);
  return 0;
}
