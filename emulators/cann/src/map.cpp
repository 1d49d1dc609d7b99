// Running functions of whole tensors.
#include "map.h"

#include <algorithm>

#include "view.h"

namespace cann_emulator {
namespace {

size_t padded(size_t bytes) { return (bytes + 511) / 512 * 512; }

// Strides of dims of size 1 mean nothing.
bool same_places(const Tensor& a, const Tensor& b) {
  bool same = a.first_byte() == b.first_byte() && a.dims == b.dims &&
              a.size_of_element() == b.size_of_element();
  for (size_t i = 0; same && i < a.dims.size(); ++i)
    same = a.dims[i] == 1 || a.strides[i] == b.strides[i];
  return same;
}

// The input as a view of the result's shape.
bool broadcast(Tensor& t, const std::vector<int64_t>& dims) {
  if (t.dims.size() > dims.size()) return false;
  std::vector<int64_t> strides(dims.size(), 0);
  const size_t lead = dims.size() - t.dims.size();
  for (size_t i = 0; i < t.dims.size(); ++i) {
    if (t.dims[i] != 1 && t.dims[i] != dims[lead + i]) return false;
    if (t.dims[i] != 1) strides[lead + i] = t.strides[i];
  }
  t.dims = dims;
  t.strides = strides;
  return true;
}

struct MapWork {
  std::vector<Tensor> inputs, outputs;
  Compute compute;
  int device;

  Launch launch() const {
    std::vector<Access> accesses;
    for (const Tensor& t : inputs)
      if (t.count()) accesses.push_back(t.access(false));
    for (const Tensor& t : outputs)
      if (t.count()) accesses.push_back(t.access(true));
    return {accesses, [w = *this](State& s, unsigned char* workspace) { w.run(s, workspace); }};
  }

  Values fetch(State& s, const Tensor& t, unsigned char*& workspace, bool& lost) const {
    Values values(static_cast<size_t>(t.count()));
    if (values.empty()) return values;
    const unsigned char* from = device_bytes(s, t.first_byte(), t.span(), device);
    if (!from) lost = true;  // freed in flight: recorded
    if (lost) return values;
    const size_t element = t.size_of_element();
    if (!t.contiguous()) {
      strided_copy(workspace, dense_strides(t.dims), from, t.strides, t.dims, element);
      from = workspace;
      workspace += padded(values.size() * element);
    }
    for (size_t i = 0; i < values.size(); ++i) values[i] = load_value(from + i * element, t.dtype);
    return values;
  }

  void write(State& s, const Tensor& t, const Values& values, unsigned char*& workspace) const {
    if (values.empty()) return;
    unsigned char* to = device_bytes(s, t.first_byte(), t.span(), device);
    if (!to) return;
    const size_t element = t.size_of_element();
    unsigned char* const dense = t.contiguous() ? to : workspace;
    for (size_t i = 0; i < values.size(); ++i)
      store_value(dense + i * element, values[i], t.dtype, element);
    if (t.contiguous()) return;
    strided_copy(to, t.strides, dense, dense_strides(t.dims), t.dims, element);
    workspace += padded(values.size() * element);
  }

  void run(State& s, unsigned char* workspace) const {
    bool lost = false;
    std::vector<Values> in, out;
    for (const Tensor& t : inputs) in.push_back(fetch(s, t, workspace, lost));
    if (lost) return;
    for (const Tensor& t : outputs) out.emplace_back(static_cast<size_t>(t.count()));
    compute(in, out);
    for (size_t i = 0; i < outputs.size(); ++i) write(s, outputs[i], out[i], workspace);
  }
};

int check_aliases(Call& call, const MapWork& work) {
  for (const Tensor& in : work.inputs)
    for (size_t i = 0; i < work.outputs.size(); ++i) {
      const Tensor& out = work.outputs[i];
      if (!in.count() || !out.count() || !share_bytes(out, in)) continue;
      if (i != 0 || !same_places(in, out))
        return call.broken(Rule::aliasing, ACLNN_ERR_PARAM_INVALID,
                           "an input and an output share memory and are not the same tensor");
    }
  return 0;
}

int take_tensor(Call& call, const aclTensor* handle, const char* argument, const Dtypes& dtypes,
                bool contiguous, std::vector<Tensor>& all) {
  int code = 0;
  Tensor* const tensor = find_tensor(call, handle, argument, code);
  if (!tensor) return code;
  if ((code = check_tensor(call, *tensor, argument, dtypes))) return code;
  if (contiguous && !tensor->contiguous())
    return call.broken(Rule::tensor_layout, ACLNN_ERR_PARAM_INVALID, argument,
                       " is not contiguous, which is not documented to work");
  all.push_back(*tensor);
  return 0;
}

int take_all(Call& call, const std::vector<Input>& inputs, const std::vector<Output>& outputs,
             const Fits& fits, MapWork& work) {
  for (const Input& i : inputs)
    if (int code =
            take_tensor(call, i.handle, i.argument, i.dtypes, i.must_be_contiguous, work.inputs))
      return code;
  for (const Output& o : outputs)
    if (int code =
            take_tensor(call, o.handle, o.argument, o.dtypes, o.must_be_contiguous, work.outputs))
      return code;
  if (const char* wrong = fits ? fits(work.inputs, work.outputs) : nullptr)
    return call.broken(Rule::shape, ACLNN_ERR_PARAM_INVALID, wrong);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].broadcasts && !broadcast(work.inputs[i], work.outputs[0].dims))
      return call.broken(Rule::shape, ACLNN_ERR_PARAM_INVALID, inputs[i].argument,
                         "'s shape does not broadcast to the result's");
  return check_aliases(call, work);
}

}  // namespace

int map_first_phase(Call& call, const char* op, const std::vector<Input>& inputs,
                    const std::vector<Output>& outputs, const Fits& fits, Compute compute,
                    uint64_t* workspace_size, aclOpExecutor** executor) {
  if (int code = call.require_context()) return code;
  if (!workspace_size || !executor)
    return call.refused(ACLNN_ERR_PARAM_NULLPTR, "workspaceSize or executor is NULL");
  MapWork work;
  if (int code = take_all(call, inputs, outputs, fits, work)) return code;
  Executor e;
  e.op = op;
  e.may_repeat = false;  // addresses are bound here
  for (const Input& i : inputs) e.tensors.push_back(address_of(i.handle));
  for (const Output& o : outputs) e.tensors.push_back(address_of(o.handle));
  if (work.outputs[0].count() == 0)
    return finish_first_phase(call, std::move(e), workspace_size, executor);
  for (const auto* list : {&work.inputs, &work.outputs})
    for (const Tensor& t : *list)
      if (!t.contiguous())
        e.workspace_size += padded(static_cast<size_t>(t.count()) * t.size_of_element());
  work.compute = std::move(compute);
  work.device = current_device();
  e.bind = [work] { return work.launch(); };
  return finish_first_phase(call, std::move(e), workspace_size, executor);
}

}  // namespace cann_emulator
