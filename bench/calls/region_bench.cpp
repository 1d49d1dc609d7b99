// What threads cost: parallel regions, and small operators beside busy neighbours.
//   region_bench [--load N] [--seconds S] [--threads T] [--operators] [--executor FILE]
// N processes spin meanwhile; FILE is a shared library whose `infini_executor` is an infiniExecutor_t to be used.
#include <dlfcn.h>
#include <infiniop.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "backends/cpu/runtime/parallel.h"
#include "base/threads/thread_count.h"

namespace {

using namespace infini;

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A fixed amount of arithmetic, so that a thread that loses its processor takes longer.
void work(int64_t rounds) {
  double x = 1;
  for (int64_t i = 0; i < rounds; ++i) x = x * 0.999 + 1;
  [[maybe_unused]] const volatile double kept = x;
}

double rounds_per_us() {
  double best = 1e9;
  for (int i = 0; i < 50; ++i) {
    const double start = now_us();
    work(100000);
    best = std::min(best, now_us() - start);
  }
  return 100000 / best;
}

struct Times {
  double median, p95, mean;
};

Times measure(double seconds, double gap_us, const std::function<void()>& body) {
  std::vector<double> samples;
  for (int i = 0; i < 20; ++i) body();
  for (const double end = now_us() + seconds * 1e6; now_us() < end;) {
    if (gap_us >= 1000) usleep(static_cast<unsigned>(gap_us));
    for (const double until = now_us() + gap_us; gap_us < 1000 && now_us() < until;) {
    }
    const double start = now_us();
    body();
    samples.push_back(now_us() - start);
  }
  std::sort(samples.begin(), samples.end());
  double sum = 0;
  for (double sample : samples) sum += sample;
  return {samples[samples.size() / 2], samples[samples.size() * 95 / 100],
          sum / static_cast<double>(samples.size())};
}

void print(const char* name, const Times& t) {
  std::printf("%-44s median %10.2f us   95%% %10.2f   mean %10.2f\n", name, t.median, t.p95,
              t.mean);
  std::fflush(stdout);
}

void regions(double seconds, int threads) {
  const double rate = rounds_per_us();
  print("empty region",
        measure(seconds, 0, [&] { cpu::parallel_for(threads, threads, [](int64_t, int64_t) {}); }));
  for (const double share_us : {2.0, 10.0, 50.0})
    for (const double gap_us : {0.0, 20.0, 200.0, 2000.0, 20000.0}) {
      const auto rounds = static_cast<int64_t>(share_us * rate);
      char name[80];
      std::snprintf(name, sizeof name, "shares of %g us, %g us apart", share_us, gap_us);
      print(name, measure(seconds, gap_us, [&] {
              cpu::parallel_for(threads, threads, [&](int64_t first, int64_t last) {
                work(rounds * (last - first));
              });
            }));
    }
}

struct Rearrange {
  Rearrange(size_t n, infiniDtype_t dtype, size_t bytes) : x(n * n * bytes), y(n * n * bytes) {
    const size_t shape[] = {n, n};
    const ptrdiff_t transposed[] = {1, static_cast<ptrdiff_t>(n)};
    infiniopHandle_t handle;
    infiniopTensorDescriptor_t dst, src;
    infiniopCreateHandle(&handle);
    infiniopCreateTensorDescriptor(&src, 2, shape, nullptr, dtype);
    infiniopCreateTensorDescriptor(&dst, 2, shape, transposed, dtype);
    infiniopCreateRearrangeDescriptor(handle, &op, dst, src);
  }
  void run() { infiniopRearrange(op, y.data(), x.data(), nullptr); }
  infiniopRearrangeDescriptor_t op;
  std::vector<char> x, y;
};

struct Gemm {
  Gemm(size_t n, infiniDtype_t dtype, size_t bytes)
      : a(n * n * bytes), b(n * n * bytes), c(n * n * bytes) {
    const size_t shape[] = {n, n};
    infiniopHandle_t handle;
    infiniopTensorDescriptor_t square;
    infiniopCreateHandle(&handle);
    infiniopCreateTensorDescriptor(&square, 2, shape, nullptr, dtype);
    infiniopCreateGemmDescriptor(handle, &op, square, square, square);
    size_t size = 0;
    infiniopGetGemmWorkspaceSize(op, &size);
    workspace.resize(size + 64);
  }
  void run() {
    const auto at = reinterpret_cast<uintptr_t>(workspace.data());
    infiniopGemm(op, workspace.data() + (64 - at % 64), workspace.size() - 64, c.data(), a.data(),
                 b.data(), 1, 0, nullptr);
  }
  infiniopGemmDescriptor_t op;
  std::vector<char> a, b, c, workspace;
};

void operators(double seconds, int threads) {
  for (const int count : {1, threads}) {
    infiniSetNumThreads(count);
    std::printf("operators on %d thread%s\n", count, count == 1 ? "" : "s");
    Rearrange small(256, INFINI_DTYPE_F16, 2), medium(512, INFINI_DTYPE_F32, 4);
    Gemm half(256, INFINI_DTYPE_F16, 2), single(256, INFINI_DTYPE_F32, 4);
    const auto hundred = [](auto& op) {
      return [&op] {
        for (int i = 0; i < 100; ++i) op.run();
      };
    };
    print("rearrange f32 512x512 transposed", measure(seconds, 0, [&] { medium.run(); }));
    print("the same, 200 us apart", measure(seconds, 200, [&] { medium.run(); }));
    print("100 rearranges f16 256x256", measure(seconds, 0, hundred(small)));
    print("100 gemms f16 256x256x256", measure(seconds, 0, hundred(half)));
    print("gemm f32 256x256x256", measure(seconds, 0, [&] { single.run(); }));
    print("the same, 200 us apart", measure(seconds, 200, [&] { single.run(); }));
  }
}

void use_executor(const char* file) {
  void* const library = dlopen(file, RTLD_NOW);
  void* const executor = library == nullptr ? nullptr : dlsym(library, "infini_executor");
  if (executor == nullptr ||
      infiniSetExecutor(static_cast<const infiniExecutor_t*>(executor)) != INFINI_STATUS_SUCCESS) {
    std::fprintf(stderr, "%s: no executor\n", file);
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int load = 0, threads = thread_count();
  double seconds = 0.3;
  bool only_operators = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--operators") == 0) only_operators = true;
    if (i + 1 == argc) break;
    if (std::strcmp(argv[i], "--load") == 0) load = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--threads") == 0) threads = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--executor") == 0) use_executor(argv[i + 1]);
    if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::atof(argv[i + 1]);
  }
  std::vector<pid_t> neighbours;
  for (int i = 0; i < load; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      while (getppid() != 1) work(1000000);
      _exit(0);
    }
    neighbours.push_back(child);
  }
  infiniSetNumThreads(threads);
  std::printf("%d threads, %d busy neighbours\n", threads, load);
  if (!only_operators) regions(seconds, threads);
  operators(seconds, threads);
  for (pid_t child : neighbours) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}
