// Problem texts: every text is understood or refused with words, and what is understood means the same when it is
// written and read again.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"
#include "harness/gemm/gemm_problem.h"
#include "harness/rearrange/problem.h"
#include "tests/fuzz/setting.h"

namespace infini::fuzz {
namespace {

bool equal(const Layout& a, const Layout& b) {
  if (a.dtype != b.dtype || !same_shape(a, b)) return false;
  for (int i = 0; i < a.rank; ++i)  // strides of dims of one element, or of nothing, mean nothing
    if (a.shape[i] > 1 && element_count(a) > 0 && a.strides[i] != b.strides[i]) return false;
  return true;
}

// As factors: -0 takes away as much as 0 does.
bool equal(double a, double b) { return a == b || (a != a && b != b); }

bool equal(const harness::RearrangeProblem& a, const harness::RearrangeProblem& b) {
  return equal(a.dst, b.dst) && equal(a.src, b.src) && a.dst_at == b.dst_at && a.src_at == b.src_at;
}

bool equal(const harness::GemmProblem& a, const harness::GemmProblem& b) {
  return equal(a.c, b.c) && equal(a.a, b.a) && equal(a.b, b.b) && equal(a.alpha, b.alpha) &&
         equal(a.beta, b.beta) && a.c_at == b.c_at && a.a_at == b.a_at && a.b_at == b.b_at;
}

template <class Problem>
void check(std::string_view text, Problem (*parse)(std::string_view)) {
  std::string written;
  try {
    const Problem problem = parse(text);
    written = to_text(problem);
    if (!equal(parse(written), problem))
      finding(written, "another problem than " + std::string(text));
  } catch (const Error& error) {
    if (!written.empty()) finding(written, std::string("not understood: ") + error.what());
    if (*error.what() == '\0') finding(std::string(text), "refused without a word");
  }
}

}  // namespace
}  // namespace infini::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace infini;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (harness::is_gemm(text))
    fuzz::check(text, harness::parse_gemm);
  else
    fuzz::check(text, harness::parse_rearrange);
  return 0;
}
