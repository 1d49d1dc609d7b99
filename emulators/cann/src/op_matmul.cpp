// aclnnMatmul, aclnnMm, aclnnBatchMatMul and aclnnGemm. Operands that the matrix unit cannot read
// are made contiguous in the workspace, as on the chip; products accumulate in f32.
#include <algorithm>

#include "aclnnop/aclnn_batch_matmul.h"
#include "aclnnop/aclnn_gemm.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_mm.h"
#include "number.h"
#include "view.h"

namespace cann_emulator {
namespace {

const std::vector<aclDataType> matrix_dtypes = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};

size_t padded(const Tensor& t) {
  return (static_cast<size_t>(t.count()) * t.size_of_element() + 511) / 512 * 512;
}

// Dense, or dense with its last two dimensions swapped.
bool readable(const Tensor& t) {
  Tensor swapped = t;
  size_t r = t.dims.size();
  std::swap(swapped.dims[r - 1], swapped.dims[r - 2]);
  std::swap(swapped.strides[r - 1], swapped.strides[r - 2]);
  return t.contiguous() || swapped.contiguous();
}

struct Product {
  Tensor a, b, c, out;
  bool has_c = false;
  float alpha = 1, beta = 0;
  int8_t mode = 0;
  int device = 0;

  int64_t m() const { return out.dims[out.dims.size() - 2]; }
  int64_t n() const { return out.dims.back(); }
  int64_t k() const { return a.dims.back(); }
  size_t workspace() const {
    return (readable(a) ? 0 : padded(a)) + (readable(b) ? 0 : padded(b)) +
           (out.contiguous() ? 0 : padded(out));
  }

  Launch launch() const {
    Launch launch{{a.access(false), b.access(false), out.access(true)}, {}};
    if (has_c) launch.accesses.push_back(c.access(false));
    launch.run = [w = *this](State& s, unsigned char* workspace) { w.run(s, workspace); };
    return launch;
  }

  // The operand as the matrix unit sees it: itself, or a contiguous copy at the workspace's front.
  const unsigned char* operand(State& s, Tensor& t, unsigned char*& workspace) const {
    const unsigned char* bytes = device_bytes(s, t.first_byte(), t.span(), device);
    if (!bytes || readable(t)) return bytes;
    strided_copy(workspace, dense_strides(t.dims), bytes, t.strides, t.dims, t.size_of_element());
    const unsigned char* packed = workspace;
    workspace += padded(t);
    t.strides = dense_strides(t.dims);
    return packed;
  }

  // Offset in elements of batch `index` (counted over out's batch dimensions); a size-1 dimension
  // broadcasts.
  int64_t batch_offset(const Tensor& t, int64_t index) const {
    int64_t offset = 0;
    size_t batch_rank = out.dims.size() - 2, own = t.dims.size() - 2;
    for (size_t i = 0; i < batch_rank; ++i) {
      size_t d = batch_rank - 1 - i;
      int64_t at = index % out.dims[d];
      index /= out.dims[d];
      if (i < own && t.dims[own - 1 - i] != 1) offset += at * t.strides[own - 1 - i];
    }
    return offset;
  }

  std::vector<float> matrix(const unsigned char* bytes, const Tensor& t, int64_t batch,
                            int64_t rows, int64_t columns) const {
    std::vector<float> out_values(static_cast<size_t>(rows * columns));
    size_t r = t.dims.size();
    int64_t base = batch_offset(t, batch), row_stride = t.strides[r - 2],
            column_stride = t.strides[r - 1];
    int64_t element = static_cast<int64_t>(t.size_of_element());
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        out_values[static_cast<size_t>(i * columns + j)] =
            load_number(bytes + (base + i * row_stride + j * column_stride) * element, t.dtype);
    return out_values;
  }

  std::vector<float> multiply(std::vector<float> a_values, std::vector<float> b_values) const {
    for (float& x : a_values) x = math_mode(x, a.dtype, mode);
    for (float& x : b_values) x = math_mode(x, b.dtype, mode);
    std::vector<float> sums(static_cast<size_t>(m() * n()), 0.0f);
    for (int64_t i = 0; i < m(); ++i)
      for (int64_t p = 0; p < k(); ++p) {
        float x = a_values[static_cast<size_t>(i * k() + p)];
        const float* row = b_values.data() + p * n();
        float* sum = sums.data() + i * n();
        for (int64_t j = 0; j < n(); ++j) sum[j] += x * row[j];
      }
    return sums;
  }

  // aclnnGemm is a product rounded to out's type, then Axpy: the extra rounding is kept. beta == 0
  // never reads C.
  float combine(float product, float old) const {
    float scaled =
        round_to(alpha == 1 ? round_to(product, out.dtype) : alpha * round_to(product, out.dtype),
                 out.dtype);
    return has_c ? scaled + round_to(beta * old, out.dtype) : scaled;
  }

  void run(State& s, unsigned char* workspace) const {
    Tensor ta = a, tb = b, tout = out;
    const unsigned char* pa = operand(s, ta, workspace);
    const unsigned char* pb = operand(s, tb, workspace);
    const unsigned char* pc = has_c ? device_bytes(s, c.first_byte(), c.span(), device) : nullptr;
    unsigned char* target = device_bytes(s, out.first_byte(), out.span(), device);
    if ((k() && (!pa || !pb)) || !target || (has_c && !pc)) return;  // freed in flight: recorded
    unsigned char* result = out.contiguous() ? target : workspace;
    tout.strides = dense_strides(out.dims);
    size_t element = out.size_of_element();
    int64_t batches = out.count() / (m() * n());
    for (int64_t batch = 0; batch < batches; ++batch) {
      std::vector<float> sums =
          multiply(matrix(pa, ta, batch, m(), k()), matrix(pb, tb, batch, k(), n()));
      std::vector<float> old =
          has_c ? matrix(pc, c, batch, m(), n()) : std::vector<float>(sums.size(), 0.0f);
      for (size_t i = 0; i < sums.size(); ++i)
        store_number(result + (static_cast<size_t>(batch * m() * n()) + i) * element,
                     combine(sums[i], old[i]), out.dtype);
    }
    if (result != target)
      strided_copy(target, out.strides, result, tout.strides, out.dims, element);
  }
};

int check_shapes(Call& call, const Product& p, size_t rank_limit) {
  auto rank_fits = [&](const Tensor& t) {
    return t.dims.size() >= 2 && t.dims.size() <= rank_limit;
  };
  if (!rank_fits(p.a) || !rank_fits(p.b) || !rank_fits(p.out))
    return call.broken(Rule::shape, ACLNN_ERR_PARAM_INVALID, "ranks ", p.a.dims.size(), ", ",
                       p.b.dims.size(), ", ", p.out.dims.size());
  size_t ra = p.a.dims.size(), rb = p.b.dims.size(), ro = p.out.dims.size();
  if (p.a.dims[ra - 2] != p.m() || p.b.dims[rb - 1] != p.n() || p.b.dims[rb - 2] != p.k() ||
      std::max(ra, rb) != ro)
    return call.broken(Rule::shape, ACLNN_ERR_PARAM_INVALID, "the matrices do not fit together");
  for (size_t i = 2; i < ro; ++i) {
    int64_t want = p.out.dims[ro - 1 - i];
    int64_t da = i < ra ? p.a.dims[ra - 1 - i] : 1, db = i < rb ? p.b.dims[rb - 1 - i] : 1;
    if ((da != want && da != 1) || (db != want && db != 1) || (da != want && db != want))
      return call.broken(Rule::shape, ACLNN_ERR_PARAM_INVALID, "the batches do not fit together");
  }
  if (p.has_c && p.c.dims != p.out.dims)
    return call.broken(Rule::shape, ACLNN_ERR_PARAM_INVALID, "C and out differ in shape");
  return 0;
}

int check_types(Call& call, const Product& p) {
  if (p.a.dtype != p.b.dtype || p.a.dtype != p.out.dtype || (p.has_c && p.c.dtype != p.out.dtype))
    return call.broken(Rule::dtype, ACLNN_ERR_PARAM_INVALID, "the operands differ in data type");
  if (p.mode < 0 || p.mode > 4)
    return call.refused(ACLNN_ERR_PARAM_INVALID, "cubeMathType ", static_cast<int>(p.mode));
  return 0;
}

bool overlap(const Tensor& x, const Tensor& y) {
  return x.first_byte() < y.first_byte() + y.span() && y.first_byte() < x.first_byte() + x.span();
}

// out may be C itself, and nothing else may overlap out. Checked on ranges: stricter than the chip.
int check_aliasing(Call& call, const Product& p) {
  bool same_as_c =
      p.has_c && p.c.first_byte() == p.out.first_byte() && p.c.strides == p.out.strides;
  if (overlap(p.a, p.out) || overlap(p.b, p.out) || (p.has_c && !same_as_c && overlap(p.c, p.out)))
    return call.broken(Rule::aliasing, ACLNN_ERR_PARAM_INVALID, "out overlaps an operand");
  return 0;
}

struct Operands {
  const aclTensor *a, *b, *c, *out;
};

int load_operands(Call& call, const Operands& handles, Product& p) {
  int code = 0;
  auto load = [&](const aclTensor* handle, const char* name, Tensor& into) {
    Tensor* found = find_tensor(call, handle, name, code);
    if (!found) return code;
    into = *found;
    return check_tensor(call, into, name, matrix_dtypes);
  };
  if ((code = load(handles.a, "self", p.a)) || (code = load(handles.b, "mat2", p.b)) ||
      (code = load(handles.out, "out", p.out)))
    return code;
  return p.has_c ? load(handles.c, "C", p.c) : 0;
}

void swap_last(Tensor& t) {
  size_t r = t.dims.size();
  if (r < 2) return;
  std::swap(t.dims[r - 1], t.dims[r - 2]);
  std::swap(t.strides[r - 1], t.strides[r - 2]);
}

int matmul_first_phase(Call& call, const char* op, const Operands& handles, Product p,
                       size_t rank_limit, bool trans_a, bool trans_b, uint64_t* workspace_size,
                       aclOpExecutor** executor) {
  if (int code = call.require_context()) return code;
  if (!workspace_size || !executor)
    return call.refused(ACLNN_ERR_PARAM_NULLPTR, "workspaceSize or executor is NULL");
  if (int code = load_operands(call, handles, p)) return code;
  if (trans_a) swap_last(p.a);
  if (trans_b) swap_last(p.b);
  if (int code = check_shapes(call, p, rank_limit)) return code;
  if (int code = check_types(call, p)) return code;
  Executor e;
  e.op = op;
  e.tensors = {address_of(handles.a), address_of(handles.b), address_of(handles.out)};
  if (p.has_c) e.tensors.insert(e.tensors.begin() + 2, address_of(handles.c));
  if (p.out.count() == 0) return finish_first_phase(call, std::move(e), workspace_size, executor);
  if (int code = check_aliasing(call, p)) return code;
  p.device = current_device();
  e.workspace_size = p.workspace();
  for (const Tensor* t : {&p.a, &p.b})
    if (t->count()) count(call.s.counters, readable(*t) ? SourcePath::direct : classify_source(*t));
  count(call.s.counters, classify_target(p.out));
  ++call.s.counters.matmuls;
  e.bind = [p, ids = e.tensors]() mutable {
    p.a.address = meta().tensors[ids[0]].address;
    p.b.address = meta().tensors[ids[1]].address;
    if (p.has_c) p.c.address = meta().tensors[ids[2]].address;
    p.out.address = meta().tensors[ids.back()].address;
    return p.launch();
  };
  return finish_first_phase(call, std::move(e), workspace_size, executor);
}

}  // namespace
}  // namespace cann_emulator

using namespace cann_emulator;

extern "C" {

aclnnStatus aclnnMatmulGetWorkspaceSize(const aclTensor* self, const aclTensor* mat2,
                                        aclTensor* out, int8_t cube_math_type,
                                        uint64_t* workspace_size, aclOpExecutor** executor) {
  return answer("aclnnMatmulGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    Product p;
    p.mode = cube_math_type;
    return matmul_first_phase(call, "aclnnMatmul", {self, mat2, nullptr, out}, p, 6, false, false,
                              workspace_size, executor);
  });
}
aclnnStatus aclnnMatmul(void* workspace, uint64_t size, aclOpExecutor* executor,
                        aclrtStream stream) {
  return second_phase("aclnnMatmul", workspace, size, executor, stream);
}

aclnnStatus aclnnMmGetWorkspaceSize(const aclTensor* self, const aclTensor* mat2, aclTensor* out,
                                    int8_t cube_math_type, uint64_t* workspace_size,
                                    aclOpExecutor** executor) {
  return answer("aclnnMmGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    Product p;
    p.mode = cube_math_type;
    return matmul_first_phase(call, "aclnnMm", {self, mat2, nullptr, out}, p, 2, false, false,
                              workspace_size, executor);
  });
}
aclnnStatus aclnnMm(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream) {
  return second_phase("aclnnMm", workspace, size, executor, stream);
}

aclnnStatus aclnnBatchMatMulGetWorkspaceSize(const aclTensor* self, const aclTensor* mat2,
                                             aclTensor* out, int8_t cube_math_type,
                                             uint64_t* workspace_size, aclOpExecutor** executor) {
  return answer("aclnnBatchMatMulGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    Product p;
    p.mode = cube_math_type;
    return matmul_first_phase(call, "aclnnBatchMatMul", {self, mat2, nullptr, out}, p, 3, false,
                              false, workspace_size, executor);
  });
}
aclnnStatus aclnnBatchMatMul(void* workspace, uint64_t size, aclOpExecutor* executor,
                             aclrtStream stream) {
  return second_phase("aclnnBatchMatMul", workspace, size, executor, stream);
}

aclnnStatus aclnnGemmGetWorkspaceSize(const aclTensor* a, const aclTensor* b, const aclTensor* c,
                                      float alpha, float beta, int64_t trans_a, int64_t trans_b,
                                      aclTensor* out, int8_t cube_math_type,
                                      uint64_t* workspace_size, aclOpExecutor** executor) {
  return answer("aclnnGemmGetWorkspaceSize", ACLNN_ERR_INNER, [&](Call& call) -> int {
    if (!c) return call.refused(ACLNN_ERR_PARAM_NULLPTR, "C is NULL");
    Product p;
    p.mode = cube_math_type;
    p.alpha = alpha;
    p.beta = beta;
    p.has_c = beta != 0;
    return matmul_first_phase(call, "aclnnGemm", {a, b, c, out}, p, 2, trans_a != 0, trans_b != 0,
                              workspace_size, executor);
  });
}
aclnnStatus aclnnGemm(void* workspace, uint64_t size, aclOpExecutor* executor, aclrtStream stream) {
  return second_phase("aclnnGemm", workspace, size, executor, stream);
}

}  // extern "C"
