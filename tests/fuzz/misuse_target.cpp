// The C API in any order, with objects that live, are destroyed, are NULL or of another kind: what is wrong is answered by a
// status and words, what is right succeeds, and nothing is lost.
#include <cstring>
#include <string>
#include <vector>

#include "tests/fuzz/input.h"
#include "tests/fuzz/objects.h"
#include "tests/fuzz/setting.h"

namespace infini::fuzz {
namespace {

constexpr int most_calls = 40;
constexpr int64_t half = 1 << 15;

// Memory for all runs, which outlives every graph. Tensors here reach less than `half` bytes in both directions.
struct Buffers {
  alignas(64) char c[2 * half], a[2 * half], b[2 * half];
};
Buffers& buffers() {
  static auto* all = new Buffers();
  return *all;
}

enum Kind { handle, tensor, rearrange, batch, gemm, stream, event, graph, exec, kinds };
constexpr const char* kind_names[kinds] = {"handle", "tensor", "rearrange", "batch", "gemm",
                                           "stream", "event",  "graph",     "exec"};

struct Object {
  void* address;
  bool alive;
};

// An argument and whether it is one that the call may be given.
struct Argument {
  void* address;
  bool good;
};

class World {
 public:
  explicit World(Input& in) : in_(in) {}
  ~World() { end(); }

  Input& in() { return in_; }

  // Mostly a living object of the kind; now and then NULL, a dead one, or one of another kind.
  Argument choose(Kind kind, bool null_is_good = false) {
    const int choice = in_.byte();
    if (choice % 8 == 7) return {nullptr, null_is_good};
    const auto& list = objects_[choice % 8 == 6 ? choice / 8 % kinds : kind];
    if (list.empty()) return {nullptr, null_is_good};
    const Object& object = list[static_cast<size_t>(choice / 8) % list.size()];
    return {object.address, object.alive && &list == &objects_[kind]};
  }

  // By reference: `made` may be looked at only after the call that gave `status`.
  template <class T>
  void keep(Kind kind, infiniStatus_t status, T* const& made) {
    if (status == INFINI_STATUS_SUCCESS) objects_[kind].push_back({made, true});
  }

  void mark_destroyed(Kind kind, infiniStatus_t status, void* address) {
    if (status != INFINI_STATUS_SUCCESS) return;
    for (Object& object : objects_[kind])
      if (object.address == address) object.alive = false;
  }

  // Bad arguments must be refused, with words; good ones may be refused where the state of a capture forbids it.
  infiniStatus_t answered(const char* call, infiniStatus_t status, bool good,
                          bool must_succeed = true) {
    if (announces()) announce(std::string(call) + ": " + infiniStatusString(status));
    if (status == INFINI_STATUS_SUCCESS ? !good : good && must_succeed)
      finding(call, std::string(good ? "refused" : "accepted a bad argument") + ": " +
                        infiniStatusString(status) + ": " + infiniGetLastErrorString());
    if (status != INFINI_STATUS_SUCCESS && *infiniGetLastErrorString() == '\0')
      finding(call, "failed without a word");
    return status;
  }

 private:
  static infiniStatus_t destroy(int kind, void* object) {
    switch (kind) {
      case handle: return infiniopDestroyHandle(static_cast<infiniopHandle_t>(object));
      case tensor:
        return infiniopDestroyTensorDescriptor(static_cast<infiniopTensorDescriptor_t>(object));
      case rearrange:
        return infiniopDestroyRearrangeDescriptor(
            static_cast<infiniopRearrangeDescriptor_t>(object));
      case batch:
        return infiniopDestroyRearrangeBatchDescriptor(
            static_cast<infiniopRearrangeBatchDescriptor_t>(object));
      case gemm:
        return infiniopDestroyGemmDescriptor(static_cast<infiniopGemmDescriptor_t>(object));
      case stream: return infinirtStreamDestroy(static_cast<infinirtStream_t>(object));
      case event: return infinirtEventDestroy(static_cast<infinirtEvent_t>(object));
      case graph: return infinirtGraphDestroy(static_cast<infinirtGraph_t>(object));
      default: return infinirtGraphExecDestroy(static_cast<infinirtGraphExec_t>(object));
    }
  }

  void end() {
    for (int kind = kinds; kind-- > 0;)
      for (Object& object : objects_[kind])
        if (object.alive) destroy(kind, object.address);
  }

 public:
  void destroy_any() {
    const auto kind = static_cast<Kind>(in_.below(kinds));
    const Argument argument = choose(kind, true);  // destroying NULL succeeds
    const bool captured = kind == stream;          // may be in the middle of a capture
    const infiniStatus_t status =
        answered((std::string("destroy ") + kind_names[kind]).c_str(),
                 destroy(kind, argument.address), argument.good, !captured);
    mark_destroyed(kind, status, argument.address);
  }

 private:
  Input& in_;
  std::vector<Object> objects_[kinds];
};

template <class T>
T as(const Argument& argument) {
  return static_cast<T>(argument.address);
}

char* at(char* buffer) { return buffer + half; }

void create_handle(World& w) {
  infiniopHandle_t made = nullptr;
  const bool null = w.in().one_in(8);
  w.keep(handle, w.answered("CreateHandle", infiniopCreateHandle(null ? nullptr : &made), !null),
         made);
}

void create_tensor(World& w) {
  size_t shape[3];
  ptrdiff_t strides[3];
  const auto rank = static_cast<size_t>(w.in().below(4));
  for (size_t i = 0; i < rank; ++i) {
    shape[i] = static_cast<size_t>(w.in().below(5));
    strides[i] = static_cast<int8_t>(w.in().byte());
  }
  const int dtype = w.in().below(21);
  const int nulls = w.in().below(8);  // 1: no shape, 2: no strides, 3: nowhere to put it
  infiniopTensorDescriptor_t made = nullptr;
  const infiniStatus_t status = infiniopCreateTensorDescriptor(
      nulls == 3 ? nullptr : &made, rank, nulls == 1 ? nullptr : shape,
      nulls == 2 ? nullptr : strides, static_cast<infiniDtype_t>(dtype));
  const bool good = dtype >= 1 && dtype <= 19 && nulls != 3 && (nulls != 1 || rank == 0);
  w.keep(tensor, w.answered("CreateTensorDescriptor", status, good), made);
}

void create_rearrange(World& w) {
  const Argument h = w.choose(handle), dst = w.choose(tensor), src = w.choose(tensor);
  infiniopRearrangeDescriptor_t made = nullptr;
  const infiniStatus_t status = infiniopCreateRearrangeDescriptor(
      as<infiniopHandle_t>(h), &made, as<infiniopTensorDescriptor_t>(dst),
      as<infiniopTensorDescriptor_t>(src));
  w.keep(rearrange, w.answered("CreateRearrange", status, h.good && dst.good && src.good, false),
         made);
}

void create_batch(World& w) {
  const Argument h = w.choose(handle), dst = w.choose(tensor), src = w.choose(tensor);
  const infiniopTensorDescriptor_t to[] = {as<infiniopTensorDescriptor_t>(dst),
                                           as<infiniopTensorDescriptor_t>(dst)},
                                   from[] = {as<infiniopTensorDescriptor_t>(src),
                                             as<infiniopTensorDescriptor_t>(src)};
  const auto count = static_cast<size_t>(w.in().below(3));
  const int null = w.in().below(16);
  infiniopRearrangeBatchDescriptor_t made = nullptr;
  const infiniStatus_t status = infiniopCreateRearrangeBatchDescriptor(
      as<infiniopHandle_t>(h), &made, count, null == 1 ? nullptr : to, null == 2 ? nullptr : from);
  const bool good = h.good && dst.good && src.good && count > 0 && null != 1 && null != 2;
  w.keep(batch, w.answered("CreateRearrangeBatch", status, good, false), made);
}

void create_gemm(World& w) {
  const Argument h = w.choose(handle), c = w.choose(tensor), a = w.choose(tensor),
                 b = w.choose(tensor);
  infiniopGemmOptions_t options{};
  options.size = w.in().one_in(4) ? static_cast<size_t>(w.in().byte()) : sizeof options;
  infiniopGemmDescriptor_t made = nullptr;
  const infiniStatus_t status = infiniopCreateGemmDescriptorWithOptions(
      as<infiniopHandle_t>(h), &made, as<infiniopTensorDescriptor_t>(c),
      as<infiniopTensorDescriptor_t>(a), as<infiniopTensorDescriptor_t>(b),
      w.in().one_in(2) ? &options : nullptr);
  w.keep(gemm, w.answered("CreateGemm", status, h.good && c.good && a.good && b.good, false), made);
}

void run_rearrange(World& w) {
  const Argument desc = w.choose(rearrange), s = w.choose(stream, true);
  w.answered("Rearrange",
             infiniopRearrange(as<infiniopRearrangeDescriptor_t>(desc), at(buffers().c),
                               at(buffers().a), s.address),
             desc.good, s.good);
}

void run_batch(World& w) {
  const Argument desc = w.choose(batch), s = w.choose(stream, true);
  void* to[] = {at(buffers().c), at(buffers().b)};
  const void* from[] = {at(buffers().a), at(buffers().a)};
  const auto count = static_cast<size_t>(w.in().below(3));
  w.answered("RearrangeBatch",
             infiniopRearrangeBatch(as<infiniopRearrangeBatchDescriptor_t>(desc), count, to, from,
                                    s.address),
             desc.good, false);
}

void run_gemm(World& w) {
  const Argument desc = w.choose(gemm), s = w.choose(stream, true);
  size_t bytes = 0;
  if (w.answered("GetGemmWorkspaceSize",
                 infiniopGetGemmWorkspaceSize(as<infiniopGemmDescriptor_t>(desc), &bytes),
                 desc.good) != INFINI_STATUS_SUCCESS)
    return;
  static auto* workspace = new std::vector<char>(1 << 20);
  auto* aligned =
      reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(workspace->data()) + 63) / 64 * 64);
  if (bytes > workspace->size() - 64) return;
  const int odd =
      w.in().below(16);  // bytes that c is out of place, or what is wrong of the workspace
  const bool wrong = bytes > 0 && (odd == 13 || odd == 14 || odd == 15);
  w.answered("Gemm",
             infiniopGemm(as<infiniopGemmDescriptor_t>(desc),
                          odd == 13   ? nullptr
                          : odd == 14 ? aligned + 1
                                      : aligned,
                          odd == 15 ? bytes - 1 : bytes,
                          at(buffers().c) + (odd < 8    ? 0
                                             : odd < 13 ? odd - 8
                                                        : 0),
                          at(buffers().a), at(buffers().b), 1, 0.5f, s.address),
             !wrong, false);
}

void create_stream(World& w) {
  infinirtStream_t made = nullptr;
  w.keep(stream, w.answered("StreamCreate", infinirtStreamCreate(&made), true), made);
}

void create_event(World& w) {
  infinirtEvent_t made = nullptr;
  const auto flags = static_cast<uint32_t>(w.in().below(6));
  w.keep(event, w.answered("EventCreate", infinirtEventCreateWithFlags(&made, flags), flags < 4),
         made);
}

void record_event(World& w) {
  const Argument e = w.choose(event), s = w.choose(stream, true);
  w.answered("EventRecord", infinirtEventRecord(as<infinirtEvent_t>(e), as<infinirtStream_t>(s)),
             e.good && s.good, false);
}

void wait_event(World& w) {
  const Argument e = w.choose(event), s = w.choose(stream, true);
  w.answered("StreamWaitEvent",
             infinirtStreamWaitEvent(as<infinirtStream_t>(s), as<infinirtEvent_t>(e)),
             e.good && s.good, false);
}

void ask_event(World& w) {
  const Argument e = w.choose(event), other = w.choose(event);
  infinirtEventStatus_t state{};
  float milliseconds = 0;
  w.answered("EventQuery", infinirtEventQuery(as<infinirtEvent_t>(e), &state), e.good, false);
  w.answered("EventSynchronize", infinirtEventSynchronize(as<infinirtEvent_t>(e)), e.good, false);
  w.answered(
      "EventElapsedTime",
      infinirtEventElapsedTime(&milliseconds, as<infinirtEvent_t>(e), as<infinirtEvent_t>(other)),
      e.good && other.good, false);
}

void synchronize(World& w) {
  const Argument s = w.choose(stream, true);
  w.answered("StreamSynchronize", infinirtStreamSynchronize(as<infinirtStream_t>(s)), s.good,
             false);
}

void begin_capture(World& w) {
  const Argument s = w.choose(stream);
  const int mode = w.in().below(5);
  w.answered("StreamBeginCapture",
             infinirtStreamBeginCapture(as<infinirtStream_t>(s),
                                        static_cast<infinirtStreamCaptureMode_t>(mode)),
             s.good && mode < 3, false);
}

void end_capture(World& w) {
  const Argument s = w.choose(stream);
  infinirtGraph_t made = nullptr;
  w.keep(graph,
         w.answered("StreamEndCapture", infinirtStreamEndCapture(as<infinirtStream_t>(s), &made),
                    s.good, false),
         made);
}

void instantiate(World& w) {
  const Argument g = w.choose(graph);
  infinirtGraphExec_t made = nullptr;
  w.keep(exec,
         w.answered("GraphInstantiate",
                    infinirtGraphInstantiate(&made, as<infinirtGraph_t>(g), nullptr, nullptr, 0),
                    g.good),
         made);
}

void launch(World& w) {
  const Argument x = w.choose(exec), s = w.choose(stream, true);
  w.answered("GraphLaunch",
             infinirtGraphLaunch(as<infinirtGraphExec_t>(x), as<infinirtStream_t>(s)),
             x.good && s.good, false);
}

// Memory that is made and given back on streams, recorded or not; each block once.
void allocate(World& w) {
  const Argument s = w.choose(stream, true), other = w.choose(stream, true);
  void* block = nullptr;
  const auto bytes = 1 + static_cast<size_t>(w.in().byte());
  if (w.answered("MallocAsync", infinirtMallocAsync(&block, bytes, as<infinirtStream_t>(s)), s.good,
                 false) != INFINI_STATUS_SUCCESS)
    return;
  // What one stream records must not be freed by another that does not: the graph would write there.
  if (as<infinirtStream_t>(s) == as<infinirtStream_t>(other))
    w.answered("MemsetAsync", infinirtMemsetAsync(block, 1, bytes, as<infinirtStream_t>(s)), s.good,
               false);
  if (w.answered("FreeAsync", infinirtFreeAsync(block, as<infinirtStream_t>(other)), other.good,
                 false) != INFINI_STATUS_SUCCESS)
    w.answered("FreeAsync", infinirtFreeAsync(block, as<infinirtStream_t>(s)), s.good, false);
}

void describe(World& w) {
  const Argument desc = w.choose(w.in().one_in(2) ? gemm : rearrange);
  infiniDevice_t device{};
  int id = 0;
  const auto* any = as<const InfiniopDescriptor*>(desc);
  w.answered("GetDescriptorDeviceType", infiniopGetDescriptorDeviceType(any, &device), true, false);
  w.answered("GetDescriptorDeviceId", infiniopGetDescriptorDeviceId(any, &id), true, false);
}

void destroy(World& w) { w.destroy_any(); }

constexpr void (*calls[])(World&) = {
    create_handle, create_tensor, create_tensor, create_rearrange, create_batch, create_gemm,
    run_rearrange, run_batch,     run_gemm,      create_stream,    create_event, record_event,
    wait_event,    ask_event,     synchronize,   begin_capture,    end_capture,  instantiate,
    launch,        allocate,      describe,      destroy,          destroy,      destroy};

}  // namespace
}  // namespace infini::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace infini::fuzz;
  Input in(data, size);
  World world(in);
  for (int i = 0; i < most_calls && !in.empty(); ++i) in.one_of(calls)(world);
  return 0;
}
