// Recording by stream capture, reading the graph's nodes, and launching them.
#include "backends/nvidia/gemm/lt/recorded_call.h"

#include <cstring>

#include "backends/nvidia/gemm/driver_entry.h"

namespace infini::nvidia {

#if CUDA_VERSION >= 12040
namespace {

constexpr size_t most_arguments = 4096;  // bytes; what every driver takes
constexpr size_t most_steps = 4;

// What a kernel's launch may depend on, and the first generation of chips that knows it: asked for it, the driver of an
// older one reports an error. A kernel's priority and order are the stream's that it is launched on.
struct KeptAttribute {
  CUlaunchAttributeID id;
  int since;
};
constexpr KeptAttribute kept_attributes[] = {
    {CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 0},
    {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, 9},
    {CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 9},
#if CUDA_VERSION >= 12080
    {CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, 10},
    {CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 0},
#endif
};

int current_generation() {
  int device = 0, major = 0;
  const bool known =
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess;
  return known ? major : 0;
}

// The driver's functions with the signatures that they had in the versions asked for.
struct GraphEntries {
  CUresult (*nodes)(CUgraph, CUgraphNode*,
                    size_t*) = driver_entry<decltype(nodes)>("cuGraphGetNodes", 10000);
  CUresult (*edges)(CUgraph, CUgraphNode*, CUgraphNode*, CUgraphEdgeData*,
                    size_t*) = driver_entry<decltype(edges)>("cuGraphGetEdges", 12030);
  CUresult (*type)(CUgraphNode,
                   CUgraphNodeType*) = driver_entry<decltype(type)>("cuGraphNodeGetType", 10000);
  CUresult (*kernel)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*) =
      driver_entry<decltype(kernel)>("cuGraphKernelNodeGetParams", 12000);
  CUresult (*attribute)(CUgraphNode, CUlaunchAttributeID, CUlaunchAttributeValue*) =
      driver_entry<decltype(attribute)>("cuGraphKernelNodeGetAttribute", 11080);
  CUresult (*fill)(CUgraphNode, CUDA_MEMSET_NODE_PARAMS*) =
      driver_entry<decltype(fill)>("cuGraphMemsetNodeGetParams", 10000);
  CUresult (*parameter)(CUfunction, size_t, size_t*,
                        size_t*) = driver_entry<decltype(parameter)>("cuFuncGetParamInfo", 12040);

  bool complete() const {
    return nodes && edges && type && kernel && attribute && fill && parameter;
  }
};

const GraphEntries& entries() {
  static const GraphEntries found;
  return found;
}

// What a call would launch; null when it or the recording fails. Calls that a recording forbids, such as loading the
// library's kernels, are allowed meanwhile, whatever other threads record.
CUgraph capture(const RecordedCall::Call& call, const Addresses& addresses) {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  bool good = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
  if (good && cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess) {
    good = call(addresses, stream);
    good = cudaStreamEndCapture(stream, &graph) == cudaSuccess && good;
  }
  if (stream != nullptr) cudaStreamDestroy(stream);
  cudaThreadExchangeStreamCaptureMode(&mode);
  if (!good || graph == nullptr) cudaGetLastError();
  if (!good && graph != nullptr) cudaGraphDestroy(graph);
  return good ? graph : nullptr;
}

}  // namespace

// Reads the nodes of a graph into steps; false when there is one that we cannot launch.
class RecordedCall::Reader {
 public:
  explicit Reader(CUgraph graph) : graph_(graph), generation_(current_generation()) {}

  bool read(std::vector<Step>& steps) const {
    size_t count = most_steps;
    CUgraphNode nodes[most_steps];
    if (entries().nodes(graph_, nullptr, &count) != CUDA_SUCCESS || count == 0 ||
        count > most_steps)
      return false;
    if (entries().nodes(graph_, nodes, &count) != CUDA_SUCCESS || !is_chain(nodes, count))
      return false;
    for (size_t i = 0; i < count; ++i) {
      CUgraphNodeType type{};
      if (entries().type(nodes[i], &type) != CUDA_SUCCESS) return false;
      Step step;
      const bool readable = type == CU_GRAPH_NODE_TYPE_KERNEL   ? read_kernel(nodes[i], step)
                            : type == CU_GRAPH_NODE_TYPE_MEMSET ? read_fill(nodes[i], step)
                                                                : false;
      if (!readable) return false;
      steps.push_back(std::move(step));
    }
    return true;
  }

 private:
  // Each depends on the one before it and on nothing else. How early it may begin does not matter: in a stream it waits.
  bool is_chain(const CUgraphNode* nodes, size_t count) const {
    CUgraphNode from[most_steps], to[most_steps];
    CUgraphEdgeData data[most_steps];
    size_t edges = 0;
    if (entries().edges(graph_, nullptr, nullptr, nullptr, &edges) != CUDA_SUCCESS ||
        edges != count - 1)
      return false;
    if (edges > 0 && entries().edges(graph_, from, to, data, &edges) != CUDA_SUCCESS) return false;
    for (size_t i = 0; i < edges; ++i)
      if (from[i] != nodes[i] || to[i] != nodes[i + 1]) return false;
    return true;
  }

  bool read_kernel(CUgraphNode node, Step& step) const {
    CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
    if (entries().kernel(node, &kernel) != CUDA_SUCCESS || kernel.func == nullptr) return false;
    step.function = kernel.func;
    step.config.gridDimX = kernel.gridDimX, step.config.gridDimY = kernel.gridDimY,
    step.config.gridDimZ = kernel.gridDimZ;
    step.config.blockDimX = kernel.blockDimX, step.config.blockDimY = kernel.blockDimY,
    step.config.blockDimZ = kernel.blockDimZ;
    step.config.sharedMemBytes = kernel.sharedMemBytes;
    for (const KeptAttribute& attribute : kept_attributes)
      if (generation_ >= attribute.since) read_attribute(node, attribute.id, step);
    const bool listed = kernel.kernelParams != nullptr;
    return listed ? read_list(kernel.kernelParams, step)
                  : kernel.extra != nullptr && read_buffer(kernel.extra, step);
  }

  static void read_attribute(CUgraphNode node, CUlaunchAttributeID id, Step& step) {
    constexpr CUlaunchAttributeValue unset{};
    CUlaunchAttribute attribute{};
    attribute.id = id;
    if (entries().attribute(node, id, &attribute.value) != CUDA_SUCCESS) return;
    if (std::memcmp(&attribute.value, &unset, sizeof unset) != 0)
      step.attributes.push_back(attribute);
  }

  // One pointer for each argument, which the function says the sizes of.
  static bool read_list(void** list, Step& step) {
    size_t offset = 0, bytes = 0;
    for (size_t i = 0; entries().parameter(step.function, i, &offset, &bytes) == CUDA_SUCCESS;
         ++i) {
      if (offset + bytes > most_arguments) return false;
      step.arguments.resize(offset + bytes);
      std::memcpy(step.arguments.data() + offset, list[i], bytes);
    }
    return true;
  }

  // All arguments as they lie in memory.
  static bool read_buffer(void** extra, Step& step) {
    const void* buffer = nullptr;
    size_t bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
      if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
      if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<const size_t*>(extra[1]);
    }
    if (buffer == nullptr || bytes > most_arguments) return false;
    step.arguments.resize(bytes);
    std::memcpy(step.arguments.data(), buffer, bytes);
    return true;
  }

  static bool read_fill(CUgraphNode node, Step& step) {
    CUDA_MEMSET_NODE_PARAMS fill{};
    if (entries().fill(node, &fill) != CUDA_SUCCESS || fill.elementSize != 1 || fill.height != 1)
      return false;
    step.value = static_cast<int>(fill.value);
    step.bytes = fill.width;
    step.arguments.resize(sizeof fill.dst);
    std::memcpy(step.arguments.data(), &fill.dst, sizeof fill.dst);
    return true;
  }

  CUgraph graph_;
  int generation_;
};

std::shared_ptr<const RecordedCall> RecordedCall::record(const Call& call) {
  if (!entries().complete()) return nullptr;
  std::vector<Step> read[2];
  for (const bool other : {false, true}) {
    const CUgraph graph = capture(call, other ? other_addresses : made_up_addresses);
    if (graph == nullptr) return nullptr;
    const bool readable = Reader(graph).read(read[other]);
    cudaGraphDestroy(graph);
    if (!readable) return nullptr;
  }
  auto& [steps, others] = read;
  if (steps.size() != others.size()) return nullptr;
  for (size_t i = 0; i < steps.size(); ++i) {
    auto places = find_places(steps[i].arguments, others[i].arguments);
    const bool same = steps[i].function == others[i].function &&
                      steps[i].bytes == others[i].bytes && steps[i].value == others[i].value &&
                      std::memcmp(&steps[i].config, &others[i].config, sizeof(CUlaunchConfig)) == 0;
    if (!places || !same) return nullptr;
    steps[i].places = std::move(*places);
  }
  auto recorded = std::make_shared<RecordedCall>();
  recorded->steps_ = std::move(steps);
  return recorded;
}

gpu::Status RecordedCall::launch(const Addresses& addresses, gpu::Stream stream) const {
  static const auto start = driver_entry<decltype(&cuLaunchKernelEx)>("cuLaunchKernelEx", 11080);
  if (start == nullptr) return cudaErrorNotSupported;
  for (const Step& step : steps_) {
    alignas(64) std::byte arguments[most_arguments];
    size_t bytes = step.arguments.size();
    std::memcpy(arguments, step.arguments.data(), bytes);
    fill_in(step.places, addresses, arguments);
    gpu::Status status{};
    if (step.function == nullptr) {
      void* dst = nullptr;
      std::memcpy(&dst, arguments, sizeof dst);
      status = cudaMemsetAsync(dst, step.value, step.bytes, stream);
    } else {
      CUlaunchConfig config = step.config;
      config.hStream = stream;
      config.attrs = const_cast<CUlaunchAttribute*>(step.attributes.data());
      config.numAttrs = static_cast<unsigned>(step.attributes.size());
      void* buffer[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments, CU_LAUNCH_PARAM_BUFFER_SIZE,
                        &bytes, CU_LAUNCH_PARAM_END};
      status = static_cast<gpu::Status>(start(&config, step.function, nullptr, buffer));
    }
    if (status != gpu::success) return status;
  }
  return gpu::success;
}

#else  // Drivers' headers before 12.4 do not tell the sizes of arguments.

std::shared_ptr<const RecordedCall> RecordedCall::record(const Call&) { return nullptr; }
gpu::Status RecordedCall::launch(const Addresses&, gpu::Stream) const {
  return cudaErrorNotSupported;
}

#endif

}  // namespace infini::nvidia
