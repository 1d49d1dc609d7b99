// A client of the C++ layer as existing ones are written, in C++17 against the public headers alone: every name that they
// use, the operators, and an operator of its own that is planned, recorded, replayed and cached.
#include <gtest/gtest.h>
#include <infinicore/common/LRUCache.hpp>
#include <infinicore/common/hash.hpp>
#include <infinicore/device_event.hpp>
#include <infinicore/io.hpp>
#include <infinicore/ops.hpp>
#include <infinicore/ops/common/cache.hpp>
#include <infinicore/ops/common/dispatcher.hpp>
#include <infinicore/ops/common/op.hpp>
#include <infinicore/ops/linear.hpp>
#include <infinicore/ops/ones.hpp>
#include <infinicore/ops/zeros.hpp>

#include <cmath>
#include <cstring>
#include <sstream>

namespace infinicore::op {

// --- an operator of the client's own: y = factor · x, by the library's C API ---

INFINICORE_GRAPH_OP_CLASS(Scaled, Tensor, const Tensor&, float)

INFINICORE_GRAPH_OP_DISPATCHERS_IMPL(Scaled)

Scaled::Scaled(Tensor y, const Tensor& x, float factor) {
  INFINICORE_GRAPH_OP_DISPATCH(x->device().getType(), y, x, factor)
}
void Scaled::execute(Tensor y, const Tensor& x, float factor) {
  INFINICORE_GRAPH_OP_RECORD_OR_RUN(Scaled, y, x, factor)
}

namespace {

int plans = 0, runs = 0, cleanups = 0, descriptors = 0;

common::OpCache<size_t, std::shared_ptr<InfiniopDescriptor>>& descriptor_cache() {
  thread_local common::OpCache<size_t, std::shared_ptr<InfiniopDescriptor>> cache(100);
  return cache;
}

struct Planned {
  graph::GraphTensor y, x, factor;
  std::shared_ptr<InfiniopDescriptor> mul;
};

void* plan_scaled(Tensor y, const Tensor& x, float factor) {
  ++plans;
  Tensor one = Tensor::empty({1}, DataType::F32, Device::cpu());
  std::memcpy(one->data(), &factor, sizeof factor);
  auto& cache = descriptor_cache().getCache(x->device());
  const size_t key = hash_combine(y, x);
  auto mul = cache.get(key).value_or(nullptr);
  if (!mul) {
    infiniopMulDescriptor_t desc = nullptr;
    EXPECT_EQ(INFINI_STATUS_SUCCESS,
              infiniopCreateMulDescriptor(context::getInfiniopHandle(x->device()), &desc, y->desc(),
                                          x->desc(), one->desc()));
    mul = {desc, [](infiniopMulDescriptor_t d) { infiniopDestroyMulDescriptor(d); }};
    cache.put(key, mul);
    ++descriptors;
  }
  return new Planned{y, x, one, mul};
}
void run_scaled(void* planned) {
  ++runs;
  auto& p = *static_cast<Planned*>(planned);
  ASSERT_EQ(INFINI_STATUS_SUCCESS, infiniopMul(p.mul.get(), nullptr, 0, p.y->data(), p.x->data(),
                                               p.factor->data(), context::getStream()));
}
void cleanup_scaled(void** planned) {
  ++cleanups;
  delete static_cast<Planned*>(*planned);
  *planned = nullptr;
}
INFINICORE_GRAPH_OP_REGISTER_ALLDEVICE(Scaled, plan_scaled, run_scaled, cleanup_scaled)

}  // namespace
}  // namespace infinicore::op

namespace infinicore {
namespace {

const Device cpu = Device::cpu();

// As clients do: what a model owns is a tensor with a name.
class Parameter : public Tensor {
 public:
  Parameter(const Shape& shape, std::string name)
      : Tensor(std::make_shared<TensorImpl>(shape, DataType::F32)), name_(std::move(name)) {}
  void load(const Tensor& values) { impl_ = Parameter(values).impl_; }
  const std::string& name() const { return name_; }

 private:
  explicit Parameter(const Tensor& values) : Tensor(values) {}
  std::string name_;
};

Tensor make(const Shape& shape, const std::vector<float>& values) {
  Tensor t = Tensor::empty(shape, DataType::F32, cpu);
  std::memcpy(t->data(), values.data(), t->nbytes());
  return t;
}
std::vector<float> values_of(const Tensor& tensor) {
  const Tensor dense = op::cast(tensor, DataType::F32);
  std::vector<float> values(dense->numel());
  std::memcpy(values.data(), dense->data(), dense->nbytes());
  return values;
}
void expect_near(const Tensor& tensor, const std::vector<double>& wanted, double tolerance) {
  const auto values = values_of(tensor);
  ASSERT_EQ(wanted.size(), values.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(wanted[i], values[i], tolerance) << i;
}
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Client, TensorsAreHandles) {
  Tensor none;
  EXPECT_TRUE(none.empty());
  EXPECT_FALSE(none);
  EXPECT_EQ(0, none.use_count());
  Tensor t = make({2}, {1, 2});
  const Tensor same = t;
  const bool there = t;
  EXPECT_TRUE(there);
  EXPECT_EQ(2, t.use_count());
  t.reset();
  EXPECT_TRUE(t.empty());
  EXPECT_EQ(1, same.use_count());
}

TEST(Client, ParametersDeriveFromTensors) {
  Parameter weight({2, 3}, "weight");
  EXPECT_EQ((Shape{2, 3}), weight->shape());
  EXPECT_EQ(nullptr, weight->data());
  EXPECT_THROW(op::silu(weight), Error);  // no memory yet
  EXPECT_THROW(weight->contiguous()->to(cpu)->copy_from(make({2, 3}, {1, 2, 3, 4, 5, 6})), Error);
  weight.load(make({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ("weight", weight.name());
  EXPECT_EQ((std::vector<float>{1, 2, 3, 4, 5, 6}), values_of(weight));
  const auto strided = std::make_shared<TensorImpl>(Shape{2, 2}, Strides{1, 2}, DataType::F16);
  EXPECT_FALSE(strided->is_contiguous());
  EXPECT_THROW(TensorImpl({2}, Strides{1, 2}, DataType::F16), Error);
}

TEST(Client, BlobsBorrowMemory) {
  Tensor t = make({3}, {1, 2, 3});
  Tensor blob = t->to_blob_();
  EXPECT_EQ(t->data(), blob->data());
  const Tensor again = blob->resume_from_blob_();
  EXPECT_EQ(t->memory(), again->memory());
  EXPECT_EQ(again->memory(), again->resume_from_blob_()->memory());
  t.reset();
  EXPECT_EQ((std::vector<float>{1, 2, 3}), values_of(blob->resume_from_blob_()));
  Tensor gone = make({3}, {1, 2, 3})->to_blob_();
  EXPECT_THROW(gone->resume_from_blob_(), Error);
}

TEST(Client, MemoryOfItsOwn) {
  bool deleted = false;
  alignas(64) static std::byte bytes[64];
  {
    const Memory memory(
        bytes, sizeof bytes, cpu, [&](std::byte* p) { deleted = p == bytes; }, true);
    EXPECT_TRUE(memory.is_pinned());
    EXPECT_EQ(sizeof bytes, memory.size());
  }
  EXPECT_TRUE(deleted);
}

TEST(Client, Events) {
  DeviceEvent start, end(cpu, INFINIRT_EVENT_DEFAULT);
  EXPECT_EQ(cpu, start.device());
  EXPECT_FALSE(start.is_recorded());
  EXPECT_THROW(start.elapsed_time(end), Error);
  start.record();
  end.record(context::getStream());
  end.synchronize();
  EXPECT_TRUE(end.query());
  EXPECT_GE(start.elapsed_time(end), 0);
  end.wait();
  end.wait_on(cpu);
  const infinirtEvent_t raw = end.get();
  const DeviceEvent moved = std::move(end);
  EXPECT_EQ(raw, moved.get());
  EXPECT_TRUE(moved.is_recorded());
}

TEST(Client, PrintsAsItLikes) {
  std::vector<float> many(2000, 0.125f);
  const Tensor t = make({2000}, many), small = make({4}, {0.123456f, 2, 3, 4});
  std::ostringstream out;
  out << print_options::edge_items(1) << t;
  EXPECT_EQ("[0.125, ..., 0.125]", out.str());
  out.str("");
  out << print_options::precision(2) << print_options::sci_mode(0) << small;
  EXPECT_EQ("[0.12, 2.00, 3.00, 4.00]", out.str());
  out.str("");
  out << print_options::line_width(14) << small;
  EXPECT_EQ("[0.12, 2.00,\n 3.00, 4.00]", out.str());
  print_options::set_threshold(2);
  print_options::set_edge_items(1);
  print_options::set_precision(1);
  print_options::set_sci_mode(1);
  EXPECT_EQ("[1.2e-01, ..., 4.0e+00]", toString(small));
  print_options::set_threshold(1000);
  print_options::set_edge_items(3);
  print_options::set_precision(-1);
  print_options::set_sci_mode(-1);
  print_options::set_line_width(0);
  EXPECT_EQ("[0.123456, 2, 3, 4]", toString(small));
}

TEST(Client, CachesAndHashes) {
  int destroyed = 0;
  {
    common::LRUCache<std::string, int> cache(2, [&](int&) { ++destroyed; });
    cache.put("a", 1);
    cache.put("b", 2);
    EXPECT_EQ(1, cache.get("a").value_or(0));
    cache.put("c", 3);  // b was used longest ago
    EXPECT_FALSE(cache.exists("b"));
    EXPECT_EQ(std::nullopt, cache.get("b"));
    EXPECT_EQ(1, destroyed);
    cache.setCapacity(1);
    EXPECT_EQ(3, cache.get("c").value_or(0));
  }
  EXPECT_EQ(3, destroyed);
  const Tensor a = make({2, 3}, {1, 2, 3, 4, 5, 6}), b = make({2, 3}, {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(hash_combine(a, 1.5f), hash_combine(b, 1.5f));
  EXPECT_NE(hash_combine(a), hash_combine(a->permute({1, 0})));
  size_t seed = 0;
  hash_combine(seed, a, 1.5f, std::string("x"), Tensor());
  EXPECT_NE(0u, seed);
}

TEST(Client, ElementwiseOperators) {
  const Tensor a = make({2, 3}, {-2, -1, 0, 1, 2, 3}), b = make({3}, {1, 2, 4});
  expect_near(op::add(a, b), {-1, 1, 4, 2, 4, 7}, 0);
  expect_near(op::sub(a, b), {-3, -3, -4, 0, 0, -1}, 0);
  expect_near(op::mul(b, a), {-2, -2, 0, 1, 4, 12}, 0);
  expect_near(op::relu(a), {0, 0, 0, 1, 2, 3}, 0);
  std::vector<double> sigmoid, silu, gelu, swiglu;
  for (int i = 0; i < 6; ++i) {
    const double x = i - 2;
    sigmoid.push_back(logistic(x));
    silu.push_back(x * logistic(x));
    gelu.push_back(x / 2 * std::erfc(-x / std::sqrt(2.0)));
    swiglu.push_back((i % 3 == 2 ? 4 : i % 3 + 1) * x * logistic(x));
  }
  expect_near(op::sigmoid(a), sigmoid, 1e-6);
  expect_near(op::silu(a), silu, 1e-6);
  expect_near(op::gelu(a), gelu, 1e-6);
  expect_near(op::swiglu(b, a), swiglu, 1e-5);
  expect_near(op::elementwise("add", {a, b}), {-1, 1, 4, 2, 4, 7}, 0);
  EXPECT_EQ(DataType::I8, op::cast(a, DataType::I8)->dtype());
  Tensor c = Tensor::zeros({3, 2}, DataType::F32, cpu)->permute({1, 0});
  op::add_(c, a, b);
  op::mul_(c, c, c);  // in place
  expect_near(c, {1, 1, 16, 4, 16, 49}, 0);
  EXPECT_THROW(op::add(a, make({2}, {1, 2})), Error);
  EXPECT_THROW(op::add(a, Tensor()), Error);
  EXPECT_THROW(op::elementwise("nothing", {a}), Error);
  EXPECT_THROW(op::elementwise("rms_norm", {a, b}), Error);
  EXPECT_THROW(op::elementwise("add", {a}), Error);
  EXPECT_THROW(op::elementwise_("add", {}), Error);
}

TEST(Client, RowOperators) {
  const Tensor x = make({2, 2}, {3, 4, 6, 8}), w = make({2}, {1, 2});
  expect_near(op::rms_norm(x, w, 0), {0.848528, 2.262742, 0.848528, 2.262742}, 1e-5);
  expect_near(op::causal_softmax(x), {1, 0, 1 / (1 + std::exp(2.0)), logistic(2)}, 1e-6);
  const Tensor heads = make({1, 1, 4}, {1, 2, 3, 4}), sin = make({2, 2}, {0, 0, 1, 1}),
               cos = make({2, 2}, {1, 1, 0, 0});
  Tensor at = Tensor::ones({1}, DataType::I64, cpu);
  expect_near(op::rope(heads, at, sin, cos), {-2, 1, -4, 3}, 0);
  expect_near(op::rope(heads, at, sin, cos, INFINIOP_ROPE_ALGO_GPT_NEOX), {-3, -4, 1, 2}, 0);
  EXPECT_THROW(op::rope(heads, at, sin, cos, INFINIOP_ROPE_ALGO_COUNT), Error);
  const Tensor token = op::random_sample(make({4}, {0, 5, 1, 2}), 0, 1, 0, 1);
  EXPECT_EQ(DataType::I32, token->dtype());
  expect_near(token, {1}, 0);
  expect_near(op::random_sample(x, 0.5f, 1, 1, 1), {1, 1}, 0);
}

TEST(Client, LayersAndFills) {
  const Tensor x = make({2, 2}, {1, 2, 3, 4}), w = make({3, 2}, {1, 0, 0, 1, 1, 1}),
               bias = make({3}, {10, 20, 30});
  expect_near(op::linear(x, w), {1, 2, 3, 3, 4, 7}, 0);
  expect_near(op::linear(x, w, bias), {11, 22, 33, 13, 24, 37}, 0);
  expect_near(op::linear(x->view({1, 2, 2}), w, bias), {11, 22, 33, 13, 24, 37}, 0);
  expect_near(op::linear(make({2}, {1, 2}), w, bias), {11, 22, 33}, 0);
  Tensor y = Tensor::empty({3, 2}, DataType::F32, cpu)->permute({1, 0});
  op::linear_(y, x, w, bias);
  expect_near(y, {11, 22, 33, 13, 24, 37}, 0);
  op::zeros_(y);
  expect_near(y, {0, 0, 0, 0, 0, 0}, 0);
  op::ones_(y);
  expect_near(y, {1, 1, 1, 1, 1, 1}, 0);
  EXPECT_THROW(op::linear(x, make({2, 3}, {1, 2, 3, 4, 5, 6})), Error);
}

TEST(Client, OperatorsAreRecordedAndCached) {
  const Tensor x = make({2, 2}, {3, 4, 6, 8}), w = make({2}, {1, 2});
  context::clearOpCache();
  for (int i = 0; i < 3; ++i) op::rms_norm(x, w);
  EXPECT_EQ(1u, context::opCacheStats().misses);
  EXPECT_EQ(2u, context::opCacheStats().hits);
  op::rms_norm(x, w, 0.5f);  // another epsilon is another operator
  EXPECT_EQ(2u, context::opCacheStats().misses);

  context::startGraphRecording();
  const Tensor normed = op::rms_norm(x, w, 0), sum = op::add(normed, x);
  const Tensor token = op::random_sample(sum, 0, 1, 0, 1);
  const auto graph = context::stopGraphRecording();
  EXPECT_EQ(3u, graph->size());
  EXPECT_NE(std::string::npos, graph->describe().find("rms_norm"));
  for (const float first : {3.0f, 30.0f}) {
    std::memcpy(x->memory()->data(), &first, sizeof first);
    graph->run();
    const double rms = std::sqrt((first * first + 16) / 2);
    expect_near(sum, {first / rms + first, 8 / rms + 4, 6.848528, 10.262742}, 1e-4);
    expect_near(token, {first == 3 ? 1.0 : 0.0, 1}, 0);
  }
  context::startGraphRecording();
  EXPECT_THROW(op::add_(normed->narrow({{0, 0, 1}}), normed->narrow({{0, 1, 1}}),
                        normed->narrow({{1, 0, 1}})),
               Error);
  context::cancelGraphRecording();
}

TEST(Client, RegistersAnOperatorOfItsOwn) {
  using op::Scaled;
  op::plans = op::runs = op::cleanups = op::descriptors = 0;
  const Tensor x = make({3}, {1, 2, 3});
  Tensor y = Tensor::zeros({3}, DataType::F32, cpu), z = Tensor::zeros({3}, DataType::F32, cpu);
  Scaled::execute(y, x, 2);
  EXPECT_EQ((std::vector<float>{2, 4, 6}), values_of(y));
  {
    context::GraphRecording recording;
    Scaled::execute(y, x, 3);
    op::add_(z, y, x);
    const auto graph = recording.stop();
    EXPECT_EQ(1, op::runs);  // recorded, not run
    EXPECT_EQ(2u, graph->size());
    for (int i = 0; i < 2; ++i) graph->run();
    EXPECT_EQ((std::vector<float>{4, 8, 12}), values_of(z));
    EXPECT_EQ(3, op::runs);
    EXPECT_EQ(2, op::plans);
    EXPECT_EQ(1, op::descriptors);  // the second plan found it in the cache
    EXPECT_EQ(1, op::cleanups);
  }
  EXPECT_EQ(2, op::cleanups);
  EXPECT_NE(nullptr, Scaled::plan_dispatcher().lookup(Device::Type::NVIDIA));
  EXPECT_FALSE(Scaled(y, x, 1).is_device_graph_capture_safe());
  const graph::Graph nothing;
  nothing.run();
  EXPECT_EQ(0u, nothing.size());

  op::common::OpDispatcher<int (*)()> dispatcher;
  dispatcher.registerDevice({Device::Type::CPU, Device::Type::MOORE}, [] { return 1; });
  dispatcher.registerAll([] { return 2; }, false);
  EXPECT_EQ(1, dispatcher.lookup(Device::Type::CPU)());
  EXPECT_EQ(2, dispatcher.lookup(Device::Type::ASCEND)());
  EXPECT_EQ(nullptr, dispatcher.lookup(Device::Type::COUNT));
}

}  // namespace
}  // namespace infinicore
