// The tables, continued: elementwise and row operators, collectives, reshardings and products over ranks.
#include "tests/capi/capi_handle_tables.h"

namespace infini::test {
namespace {

infiniopHandle_t handle(void* p) { return static_cast<infiniopHandle_t>(p); }
infiniopTensorDescriptor_t tensor(void* p) { return static_cast<infiniopTensorDescriptor_t>(p); }
InfiniopDescriptor* op(void* p) { return static_cast<InfiniopDescriptor*>(p); }

}  // namespace

template <class Create, class Run>
void Tables::add_operator(const char* const (&names)[4], Create create,
                          infiniStatus_t (*workspace)(InfiniopDescriptor*, size_t*), Run run,
                          infiniStatus_t (*destroy)(InfiniopDescriptor*)) {
  InfiniopDescriptor *alive = nullptr, *dead = nullptr;
  EXPECT_OK(create(live.handle(), &alive, live.tensor())) << names[0];
  EXPECT_OK(create(live.handle(), &dead, live.tensor())) << names[0];
  EXPECT_OK(destroy(dead));
  further.push_back(alive);
  operators.insert(alive);
  further_destroyed.push_back(dead);
  ends_.push_back([=] { return destroy(alive); });
  const auto made = reinterpret_cast<InfiniopDescriptor**>(&out);
  add(names[0], {a_handle}, null,
      [=, this](void* p) { return create(handle(p), made, live.tensor()); });
  add(names[0], {a_tensor}, null,
      [=, this](void* p) { return create(live.handle(), made, tensor(p)); });
  add(names[1], {}, null, [=, this](void* p) { return workspace(op(p), &size); });
  rows.back().own = alive;
  add(names[2], {}, null, [=](void* p) { return run(op(p), nullptr); });
  rows.back().own = alive;
  add(names[2], {a_stream}, ok, [=](void* p) { return run(alive, p); });
  add(names[3], {}, ok, [=](void* p) { return destroy(op(p)); });
  rows.back().own = alive;
}

void Tables::add_elementwise() {
  const auto binary = [this](const char* const(&names)[4], auto create, auto workspace, auto run,
                             auto destroy) {
    const infiniopTensorDescriptor_t t = live.tensor();
    add_operator(
        names, [=](auto h, auto desc, auto tensor) { return create(h, desc, t, tensor, t); },
        workspace,
        [=, this](auto desc, void* stream) { return run(desc, nullptr, 0, z, x, y, stream); },
        destroy);
  };
  const auto unary = [this](const char* const(&names)[4], auto create, auto workspace, auto run,
                            auto destroy) {
    const infiniopTensorDescriptor_t t = live.tensor();
    add_operator(
        names, [=](auto h, auto desc, auto tensor) { return create(h, desc, t, tensor); },
        workspace,
        [=, this](auto desc, void* stream) { return run(desc, nullptr, 0, y, x, stream); },
        destroy);
  };
  binary({"infiniopCreateAddDescriptor", "infiniopGetAddWorkspaceSize", "infiniopAdd",
          "infiniopDestroyAddDescriptor"},
         infiniopCreateAddDescriptor, infiniopGetAddWorkspaceSize, infiniopAdd,
         infiniopDestroyAddDescriptor);
  binary({"infiniopCreateSubDescriptor", "infiniopGetSubWorkspaceSize", "infiniopSub",
          "infiniopDestroySubDescriptor"},
         infiniopCreateSubDescriptor, infiniopGetSubWorkspaceSize, infiniopSub,
         infiniopDestroySubDescriptor);
  binary({"infiniopCreateMulDescriptor", "infiniopGetMulWorkspaceSize", "infiniopMul",
          "infiniopDestroyMulDescriptor"},
         infiniopCreateMulDescriptor, infiniopGetMulWorkspaceSize, infiniopMul,
         infiniopDestroyMulDescriptor);
  binary({"infiniopCreateSwiGLUDescriptor", "infiniopGetSwiGLUWorkspaceSize", "infiniopSwiGLU",
          "infiniopDestroySwiGLUDescriptor"},
         infiniopCreateSwiGLUDescriptor, infiniopGetSwiGLUWorkspaceSize, infiniopSwiGLU,
         infiniopDestroySwiGLUDescriptor);
  unary({"infiniopCreateSiluDescriptor", "infiniopGetSiluWorkspaceSize", "infiniopSilu",
         "infiniopDestroySiluDescriptor"},
        infiniopCreateSiluDescriptor, infiniopGetSiluWorkspaceSize, infiniopSilu,
        infiniopDestroySiluDescriptor);
  unary({"infiniopCreateGeluDescriptor", "infiniopGetGeluWorkspaceSize", "infiniopGelu",
         "infiniopDestroyGeluDescriptor"},
        infiniopCreateGeluDescriptor, infiniopGetGeluWorkspaceSize, infiniopGelu,
        infiniopDestroyGeluDescriptor);
  unary({"infiniopCreateReluDescriptor", "infiniopGetReluWorkspaceSize", "infiniopRelu",
         "infiniopDestroyReluDescriptor"},
        infiniopCreateReluDescriptor, infiniopGetReluWorkspaceSize, infiniopRelu,
        infiniopDestroyReluDescriptor);
  unary({"infiniopCreateSigmoidDescriptor", "infiniopGetSigmoidWorkspaceSize", "infiniopSigmoid",
         "infiniopDestroySigmoidDescriptor"},
        infiniopCreateSigmoidDescriptor, infiniopGetSigmoidWorkspaceSize, infiniopSigmoid,
        infiniopDestroySigmoidDescriptor);
  unary({"infiniopCreateCastDescriptor", "infiniopGetCastWorkspaceSize", "infiniopCast",
         "infiniopDestroyCastDescriptor"},
        infiniopCreateCastDescriptor, infiniopGetCastWorkspaceSize, infiniopCast,
        infiniopDestroyCastDescriptor);
  const infiniopTensorDescriptor_t t = live.tensor();
  add_operator(
      {"infiniopCreateConvertDescriptor", "infiniopGetConvertWorkspaceSize", "infiniopConvert",
       "infiniopDestroyConvertDescriptor"},
      [=](auto h, auto desc, auto tensor) {
        return infiniopCreateConvertDescriptor(h, desc, t, tensor, nullptr, nullptr, nullptr);
      },
      infiniopGetConvertWorkspaceSize,
      [this](auto desc, void* stream) {
        return infiniopConvert(desc, nullptr, 0, y, x, nullptr, nullptr, stream);
      },
      infiniopDestroyConvertDescriptor);
  unary({"infiniopCreateCausalSoftmaxDescriptor", "infiniopGetCausalSoftmaxWorkspaceSize",
         "infiniopCausalSoftmax", "infiniopDestroyCausalSoftmaxDescriptor"},
        infiniopCreateCausalSoftmaxDescriptor, infiniopGetCausalSoftmaxWorkspaceSize,
        infiniopCausalSoftmax, infiniopDestroyCausalSoftmaxDescriptor);
}

void Tables::add_row_operators() {
  const infiniopTensorDescriptor_t t = live.tensor();
  add_operator(
      {"infiniopCreateRMSNormDescriptor", "infiniopGetRMSNormWorkspaceSize", "infiniopRMSNorm",
       "infiniopDestroyRMSNormDescriptor"},
      [=](auto h, auto desc, auto tensor) {
        const size_t shape[] = {2};
        infiniopTensorDescriptor_t w = nullptr;
        EXPECT_OK(infiniopCreateTensorDescriptor(&w, 1, shape, nullptr, INFINI_DTYPE_F32));
        const infiniStatus_t status = infiniopCreateRMSNormDescriptor(h, desc, t, tensor, w, 1e-5f);
        EXPECT_OK(infiniopDestroyTensorDescriptor(w));
        return status;
      },
      infiniopGetRMSNormWorkspaceSize,
      [this](auto desc, void* stream) {
        return infiniopRMSNorm(desc, nullptr, 0, y, x, z, stream);
      },
      infiniopDestroyRMSNormDescriptor);
  add_operator(
      {"infiniopCreateRoPEDescriptor", "infiniopGetRoPEWorkspaceSize", "infiniopRoPE",
       "infiniopDestroyRoPEDescriptor"},
      [](auto h, auto desc, auto tensor) {
        const Tensor y({2, 1, 2}), pos({2}, {}, INFINI_DTYPE_I32), table({2, 1});
        // The table of rows wants one open tensor of [2, 2]; what it is not is refused before its shape.
        size_t rank = 0;
        const infiniStatus_t known = infiniopGetTensorDescriptorRank(tensor, &rank);
        if (known != ok)
          return infiniopCreateRoPEDescriptor(h, desc, y.desc, tensor, pos.desc, table.desc,
                                              table.desc, INFINIOP_ROPE_ALGO_GPT_J);
        return infiniopCreateRoPEDescriptor(h, desc, y.desc, y.desc, pos.desc, table.desc,
                                            table.desc, INFINIOP_ROPE_ALGO_GPT_J);
      },
      infiniopGetRoPEWorkspaceSize,
      [this](auto desc, void* stream) {
        const int32_t positions[] = {0, 1};
        return infiniopRoPE(desc, nullptr, 0, y, x, positions, z, z, stream);
      },
      infiniopDestroyRoPEDescriptor);
  const auto sample = [](auto create) {
    return [=](auto h, auto desc, auto tensor) {
      const Tensor result({2}, {}, INFINI_DTYPE_I32);
      return create(h, desc, result.desc, tensor);
    };
  };
  const float zeros[] = {0, 0};
  const int ones[] = {1, 1};
  add_operator(
      {"infiniopCreateRandomSampleBatchDescriptor", "infiniopGetRandomSampleWorkspaceSize",
       "infiniopRandomSampleBatch", "infiniopDestroyRandomSampleDescriptor"},
      sample(infiniopCreateRandomSampleBatchDescriptor), infiniopGetRandomSampleWorkspaceSize,
      [=, this](auto desc, void* stream) {
        return infiniopRandomSampleBatch(desc, workspace, sizeof workspace, y, x, zeros, zeros,
                                         ones, zeros, 2, stream);
      },
      infiniopDestroyRandomSampleDescriptor);
  const auto made = reinterpret_cast<InfiniopDescriptor**>(&out);
  add("infiniopCreateRandomSampleDescriptor", {a_handle}, null, [=](void* p) {
    const Tensor result({}, {}, INFINI_DTYPE_I32), logits({4});
    return infiniopCreateRandomSampleDescriptor(handle(p), made, result.desc, logits.desc);
  });
  add("infiniopCreateRandomSampleDescriptor", {a_tensor}, null, [=, this](void* p) {
    const Tensor result({}, {}, INFINI_DTYPE_I32);
    return infiniopCreateRandomSampleDescriptor(live.handle(), made, result.desc, tensor(p));
  });
  add("infiniopRandomSample", {}, null, [this](void* p) {
    return infiniopRandomSample(op(p), workspace, sizeof workspace, y, x, 0, 0, 1, 0, nullptr);
  });
}

// They take every operator's descriptor that the functions above made.
void Tables::add_operators_by_name() {
  const infiniopTensorDescriptor_t t = live.tensor();
  const auto create = [=](infiniopHandle_t h, InfiniopDescriptor** desc,
                          infiniopTensorDescriptor_t tensor) {
    const infiniopTensorDescriptor_t operands[] = {t, tensor, t};
    return infiniopCreateOperatorDescriptor(h, desc, "mul", operands, 3, nullptr);
  };
  InfiniopDescriptor *alive = nullptr, *dead = nullptr;
  EXPECT_OK(create(live.handle(), &alive, t));
  EXPECT_OK(create(live.handle(), &dead, t));
  EXPECT_OK(infiniopDestroyOperatorDescriptor(dead));
  further_destroyed.push_back(dead);
  ends_.push_back([=] { return infiniopDestroyOperatorDescriptor(alive); });
  const auto made = reinterpret_cast<InfiniopDescriptor**>(&out);
  const auto any = [this](const char* name, infiniStatus_t of_null, auto call) {
    add(name, {}, of_null, call);
    rows.back().takes_operators = true;
  };
  const auto run = [this](InfiniopDescriptor* desc, void* stream) {
    void* const operands[] = {z, x, y};
    return infiniopRunOperator(desc, nullptr, 0, operands, 3, nullptr, stream);
  };
  add("infiniopCreateOperatorDescriptor", {a_handle}, null,
      [=](void* p) { return create(handle(p), made, t); });
  add("infiniopCreateOperatorDescriptor", {a_tensor}, null,
      [=, this](void* p) { return create(live.handle(), made, tensor(p)); });
  any("infiniopGetOperatorWorkspaceSize", null,
      [this](void* p) { return infiniopGetOperatorWorkspaceSize(op(p), &size); });
  any("infiniopRunOperator", null, [=](void* p) { return run(op(p), nullptr); });
  add("infiniopRunOperator", {a_stream}, ok, [=](void* p) { return run(alive, p); });
  any("infiniopDestroyOperatorDescriptor", ok,
      [](void* p) { return infiniopDestroyOperatorDescriptor(op(p)); });
}

void Tables::add_collectives() {
  const int id = 0;
  infinicclComm_t alive = nullptr, dead = nullptr;
  EXPECT_OK(infinicclCommInitAll(INFINI_DEVICE_CPU, &alive, 1, &id));
  EXPECT_OK(infinicclCommInitAll(INFINI_DEVICE_CPU, &dead, 1, &id));
  EXPECT_OK(infinicclCommDestroy(dead));
  further.push_back(alive);
  further_destroyed.push_back(dead);
  ends_.push_back([=] { return infinicclCommDestroy(alive); });
  const auto of = [](void* p) { return static_cast<infinicclComm_t>(p); };
  const auto with = [=, this](const char* name, infiniStatus_t of_null, auto call) {
    add(name, {}, of_null, [=](void* p) { return call(of(p), nullptr); });
    rows.back().own = alive;
  };
  const auto streamed = [=, this](const char* name, auto call) {
    with(name, null, call);
    add(name, {a_stream}, ok, [=](void* p) { return call(alive, p); });
  };
  constexpr auto f32 = INFINI_DTYPE_F32;
  with("infinicclCommDestroy", ok, [](auto c, void*) { return infinicclCommDestroy(c); });
  with("infinicclGroupStart", null, [](auto c, void*) { return infinicclGroupStart(c); });
  with("infinicclGroupEnd", null, [](auto c, void*) { return infinicclGroupEnd(c); });
  with("infinicclSend", null,
       [this](auto c, void* s) { return infinicclSend(x, 4, f32, 0, c, s); });
  with("infinicclRecv", null,
       [this](auto c, void* s) { return infinicclRecv(x, 4, f32, 0, c, s); });
  streamed("infinicclAllReduce", [this](auto c, void* s) {
    return infinicclAllReduce(x, y, 4, f32, INFINICCL_SUM, c, s);
  });
  streamed("infinicclBroadcast",
           [this](auto c, void* s) { return infinicclBroadcast(x, y, 4, f32, 0, c, s); });
  streamed("infinicclAllGather",
           [this](auto c, void* s) { return infinicclAllGather(x, y, 4, f32, c, s); });
  streamed("infinicclReduceScatter", [this](auto c, void* s) {
    return infinicclReduceScatter(x, y, 4, f32, INFINICCL_SUM, c, s);
  });
  static const size_t counts[] = {4};
  streamed("infinicclAllGatherV",
           [this](auto c, void* s) { return infinicclAllGatherV(x, y, counts, 1, f32, c, s); });
  streamed("infinicclReduceScatterV", [this](auto c, void* s) {
    return infinicclReduceScatterV(x, y, counts, 1, f32, INFINICCL_SUM, c, s);
  });
}

namespace {

// Of a rank that is alone and sends nothing.
infiniTransport_t one_rank() {
  infiniTransport_t alone{};
  alone.size = sizeof alone;
  alone.ranks = 1;
  alone.post_send = [](void*, int, int, const void*, size_t, void**) { return 1; };
  alone.post_receive = [](void*, int, int, void*, size_t, void**) { return 1; };
  alone.wait_any = [](void*, void**, int, double, int*, size_t*) { return 1; };
  return alone;
}

}  // namespace

void Tables::add_reshardings() {
  infiniReshardPlan_t alive = nullptr, dead = nullptr;
  const char* const text = "f32 4 (1: block) -> (1: block)";
  EXPECT_OK(infiniReshardCreatePlan(&alive, text));
  EXPECT_OK(infiniReshardCreatePlan(&dead, text));
  EXPECT_OK(infiniReshardDestroyPlan(dead));
  further.push_back(alive);
  further_destroyed.push_back(dead);
  ends_.push_back([=] { return infiniReshardDestroyPlan(alive); });
  const auto with = [=, this](const char* name, infiniStatus_t of_null, auto call) {
    add(name, {}, of_null, [=](void* p) { return call(static_cast<infiniReshardPlan_t>(p)); });
    rows.back().own = alive;
  };
  with("infiniReshardDestroyPlan", ok, [](auto p) { return infiniReshardDestroyPlan(p); });
  with("infiniReshardGetSize", null,
       [this](auto p) { return infiniReshardGetSize(p, &dtype, &size, nullptr); });
  with("infiniReshardGetShapes", null,
       [this](auto p) { return infiniReshardGetShapes(p, 0, numbers, nullptr); });
  with("infiniReshardGetParts", null,
       [this](auto p) { return infiniReshardGetParts(p, 0, &size, nullptr, nullptr); });
  with("infiniReshardGetTraffic", null, [this](auto p) {
    return infiniReshardGetTraffic(p, 0, &size, nullptr, nullptr, nullptr, nullptr);
  });
  with("infiniReshard", null, [this](auto p) {
    const infiniTransport_t alone = one_rank();
    return infiniReshard(p, x, nullptr, y, nullptr, &alone, nullptr);
  });
}

void Tables::add_products() {
  infiniProductPlan_t alive = nullptr, dead = nullptr;
  const char* const text =
      "f32 2x2 (1: block,replicate) * 2x2 (1: block,replicate) -> (1: block,replicate)";
  EXPECT_OK(infiniProductCreatePlan(&alive, text));
  EXPECT_OK(infiniProductCreatePlan(&dead, text));
  EXPECT_OK(infiniProductDestroyPlan(dead));
  further.push_back(alive);
  further_destroyed.push_back(dead);
  ends_.push_back([=] { return infiniProductDestroyPlan(alive); });
  const auto with = [=, this](const char* name, infiniStatus_t of_null, auto call) {
    add(name, {}, of_null, [=](void* p) { return call(static_cast<infiniProductPlan_t>(p)); });
    rows.back().own = alive;
  };
  with("infiniProductDestroyPlan", ok, [](auto p) { return infiniProductDestroyPlan(p); });
  with("infiniProductGetSize", null,
       [this](auto p) { return infiniProductGetSize(p, &dtype, nullptr, &size); });
  with("infiniProductGetShapes", null,
       [this](auto p) { return infiniProductGetShapes(p, 0, numbers, nullptr, nullptr); });
  with("infiniProductGetTraffic", null,
       [this](auto p) { return infiniProductGetTraffic(p, 0, &size, nullptr, nullptr, nullptr); });
  with("infiniProduct", null, [this](auto p) {
    const infiniTransport_t alone = one_rank();
    return infiniProduct(p, x, nullptr, y, nullptr, y, nullptr, 1, 0, &alone, nullptr);
  });
}

}  // namespace infini::test
