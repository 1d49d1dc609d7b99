// The command line tool: look at devices and plans, check problems, measure.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "bench/interrupt.h"
#include "tools/arguments.h"

namespace infini::tools {
namespace {

struct Command {
  const char* name;
  int (*run)(Arguments&);
  const char* help;
};

constexpr Command commands[] = {{"devices", run_devices, R"(
  infini devices
      what this machine has, and for what it has not, why
)"},
                                {"plan", run_plan, R"(
  infini plan "rearrange f32 512x512x512 perm=2,0,1" "gemm bf16 m=64 n=96 k=128 batch=32"
      how a problem is understood: the loops, the chosen candidate, the bytes moved
  infini plan --all "PROBLEM"
      every candidate with the time that it expects, or why it cannot
)"},
                                {"check", run_check, R"(
  infini check "rearrange f16 8x64x32x128 dst=262144,128,8192,1"
  infini check --random 1000 [--large] [--seed 7] [--op gemm] [--device ascend]
  infini check --curated [--op gemm] [--device ascend]
      run on a device and compare every byte with the naive reference (gemm: with its error bound)
)"},
                                {"bench", run_bench, R"(
  infini bench [SUITE | "PROBLEM"...]    (a suite also as --suite SUITE)
      measure against a copy of the same bytes in the same run; the suites cpu, cpu_medium and
      cpu_small also against NumPy and PyTorch, where python3 has them
  infini bench --op gemm [SUITE | "PROBLEM"...]
      measure against the machine's own limits and, on the CPU, whichever of OpenBLAS, BLIS, MKL and
      oneDNN 3 the loader finds, in turns
  infini bench --random 40 [--seed 7] [--megabytes 50] [--op gemm]
      layouts or products that nobody chose; a row says where whole lines of memory allow less than a copy
  infini bench --regret [SUITE | "PROBLEM"... | --random 40] [--op gemm]
      run every candidate that can: how much slower is the chosen one than the best, how far are
      the expected times from the measured ones
  infini bench --list
      the suites and what is in them
  Options: --filter TEXT (cases whose name has it), --json FILE (write the results, too),
  --peer torch or torch-compiled (needs --json; cuBLAS or CUDA copies on NVIDIA) or none,
  --scaling (rearrange on the CPU: also on one thread, and what the others add),
  --milliseconds N (per case, 300), --no-verify (skip the comparison with the reference)
)"}};

constexpr const char* problems = R"(
Options of plan, check and bench:
  --device NAME[:ID]   cpu (default), nvidia, ascend, kunlun, ...
  --threads N          CPU threads (also INFINI_NUM_THREADS)

A problem is "rearrange DTYPE SHAPE [dst=STRIDES] [src=STRIDES] [perm=AXES] [dst_at=BYTES]
[src_at=BYTES]": strides count elements, a side without them is row-major; with perm SHAPE is the
contiguous source's and AXES the order of its axes in the contiguous result; a base pointer lies BYTES
past an aligned address.
Or "gemm DTYPE m=M n=N k=K [batch=B] [a_batch=1] [b_batch=1] [out=DTYPE] [a=STRIDES|t] [b=STRIDES|t]
[c=STRIDES|t] [alpha=X] [beta=X] [a_at=BYTES] [b_at=BYTES] [c_at=BYTES]": `t` is the transposed
contiguous matrix.
)";

bool asks_for_help(const char* word) {
  return !std::strcmp(word, "--help") || !std::strcmp(word, "-h") || !std::strcmp(word, "help");
}

void print_help() {
  std::printf("infini %s: moving and multiplying tensors on any chip.\n", infiniVersionString());
  for (const Command& command : commands) std::fputs(command.help, stdout);
  std::fputs(problems, stdout);
}

int run(const Command& command, int count, char** values) {
  if (count > 0 && asks_for_help(values[0])) {
    std::printf("%s%s", command.help + 1, problems);
    return 0;
  }
  Arguments arguments(count, values);
  const auto threads = arguments.take_integer("--threads", 0, 0, 1024);
  if (threads != 0) require_success(infiniSetNumThreads(static_cast<int>(threads)));
  return command.run(arguments);
}

int dispatch(int count, char** values) {
  if (count < 2 || asks_for_help(values[1])) {
    print_help();
    return count < 2 ? 2 : 0;
  }
  if (!std::strcmp(values[1], "--version")) {
    std::printf("infini %s\n", infiniVersionString());
    return 0;
  }
  for (const Command& command : commands)
    if (!std::strcmp(values[1], command.name)) return run(command, count - 2, values + 2);
  std::fprintf(stderr, "infini: \"%s\" is not a command; see `infini --help`\n", values[1]);
  return 2;
}

// A standard file that is closed would be the next one that is opened, and what is printed would land in it.
// In its place stands one that takes nothing, so that printing fails as it should.
void occupy_standard_files() {
  for (int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(file, F_GETFD) < 0) static_cast<void>(open("/dev/null", O_RDONLY));
}

int dispatch_or_say_why_not(int count, char** values) {
  try {
    return dispatch(count, values);
  } catch (const std::exception& error) {
    std::fflush(stdout);  // first what was said before it
    std::fprintf(stderr, "infini: %s\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace infini::tools

int main(int count, char** values) {
  infini::tools::occupy_standard_files();
  const int status = infini::tools::dispatch_or_say_why_not(count, values);
  const bool failed_before = std::ferror(stdout) != 0;
  const bool written = std::fflush(stdout) == 0 && !failed_before;
  infini::bench::end_as_interrupted();
  if (written) return status;
  std::fprintf(stderr, "infini: cannot write standard output%s%s\n", failed_before ? "" : ": ",
               failed_before ? "" : std::strerror(errno));
  return status == 0 ? 2 : status;
}
