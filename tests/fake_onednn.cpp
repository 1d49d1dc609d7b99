// A stand-in for oneDNN: it is of the version that a test wants, and remembers what it was asked.
#include <cstdint>

extern "C" {
#pragma GCC visibility push(default)

struct FakeVersion {  // dnnl_version_t
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

FakeVersion fake_version{3, 2, 0, "", 1, 0};
int fake_answer = 0;               // to dnnl_set_max_cpu_isa
int fake_cap = -1, fake_caps = 0;  // what it was asked for last, and how often
char fake_letters[3] = {};         // of the last product: is A, is B transposed

#if !defined(WITHOUT_OPENMP)
thread_local int fake_threads = 4;
int omp_get_max_threads() { return fake_threads; }
void omp_set_num_threads(int count) { fake_threads = count; }
#endif

const FakeVersion* dnnl_version() { return &fake_version; }

int dnnl_set_max_cpu_isa(int isa) {
  fake_cap = isa;
  ++fake_caps;
  return fake_answer;
}

int dnnl_sgemm(char a, char b, int64_t m, int64_t n, int64_t, float, const float*, int64_t,
               const float*, int64_t, float, float* c, int64_t c_row) {
  fake_letters[0] = a, fake_letters[1] = b;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) c[i * c_row + j] = 7;
  return 0;
}

#pragma GCC visibility pop
}
