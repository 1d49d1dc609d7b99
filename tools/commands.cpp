// The table of commands, and their help in 80 columns.
#include "tools/commands.h"

#include <algorithm>

#include "base/error.h"
#include "harness/names.h"
#include "harness/operators/operators.h"
#include "harness/suggest.h"

namespace infini::tools {
namespace {

constexpr Option json = {"--json", "[FILE]",
                         "JSON with machine, threads, version and time; without\n"
                         "FILE, or with -, on standard output"};
constexpr Option device = {"--device", "NAME[:ID]",
                           "cpu (without it), nvidia, ascend, kunlun, ..."};
constexpr Option threads = {"--threads", "N", "CPU threads (also INFINI_NUM_THREADS)"};
constexpr Option op = {"--op", "NAME", "an operator; without it rearrange"};
constexpr Option seed = {"--seed", "N", "other random problems"};

constexpr Option devices_options[] = {json};
constexpr Option plan_options[] = {
    {"--verbose", "", "the loops in full and the kernel's schedule"},
    {"--all", "", "every kernel with the time it expects, or why it cannot"},
    json,
    device,
    threads};
constexpr Option check_options[] = {
    {"--curated", "", "shapes and strides that have broken others before"},
    {"--random", "N", "so many random problems"},
    {"--large", "", "beyond the caches, too"},
    seed,
    op,
    json,
    device,
    threads};
constexpr Option bench_options[] = {
    {"--list", "", "the suites and what is in them"},
    {"--suite", "NAME", "the same as NAME alone"},
    {"--filter", "TEXT", "only cases whose name has it"},
    {"--random", "N", "layouts or products that nobody chose"},
    {"--megabytes", "N", "the size of random layouts (50; 200 on accelerators)"},
    seed,
    {"--op", "NAME", "an operator; without it rearrange"},
    {"--milliseconds", "N", "measuring time of a case (300)"},
    {"--no-verify", "", "skip the comparison with the naive reference"},
    {"--scaling", "", "rearrange on the CPU: also on one thread"},
    {"--regret", "", "run every candidate that can: what does the choice cost?"},
    {"--peer", "NAME", "none; torch or torch-compiled (with --json FILE)"},
    {"--report", "FILE", "a page with charts, added to those that are there"},
    json,
    device,
    threads};

constexpr Option machine_options[] = {
    {"--measure", "", "measure them now, about a second, and keep them"}, json, threads};

constexpr Option reshard_options[] = {{"--explain", "", "the messages of one rank"},
                                      {"--rank", "N", "which one (0)"},
                                      {"--simulate", "",
                                       "the time on a network, of which latency=2us\n"
                                       "bandwidth=10GB/s node=N inner_latency=500ns\n"
                                       "inner_bandwidth=50GB/s memory=0 may be said"},
                                      json};

constexpr Option info_options[] = {{"--all", "", "a line for every tensor"},
                                   {"--json", "", "JSON with places and sizes"}};
constexpr Option memory = {"--memory", "BYTES", "for buffers, such as 512M (1G)"};
constexpr Option replace = {"--replace", "", "write OUT anew where it exists"};
constexpr Option glob = {"--tensor", "GLOB", "only these; all others are copied as they are"};
constexpr Option to_dtype = {"--dtype", "NAME", "of those tensors in OUT: bf16, f8_e4m3, ..."};
constexpr Option where = {"--device", "NAME[:ID]", "rearranges and converts; cpu without it"};
constexpr Option file_options[] = {glob, to_dtype, where, memory, replace, threads};
constexpr Option dim = {"--dim", "N", "the dim that is cut (0); -1 is the last one"};
constexpr Option shard_options[] = {
    {"--tp", "N", "so many shards"}, dim, glob, to_dtype, where, memory, replace, threads};
constexpr Option unshard_options[] = {dim, glob, to_dtype, where, memory, replace, threads};

constexpr Command table[] = {
    {"devices", run_devices, "what this machine has, and for what it has not, why",
     "infini devices\n", devices_options},
    {"plan", run_plan, "how a problem is understood, and what would run it",
     R"(infini plan "PROBLEM"...

What moves where, what that takes, and which kernel would do it. Nothing runs.
  infini plan "rearrange f32 512x512x512 perm=2,0,1"
  infini plan "gemm bf16 m=64 n=96 k=128 batch=32" --all
)",
     plan_options},
    {"check", run_check, "run a problem and compare every byte with a naive reference",
     R"(infini check "PROBLEM"... | --random N | --curated

Runs on a device and compares every byte with the naive reference; gemm is held
against its error bound. A failure prints the command that reproduces it.
  infini check "rearrange f16 8x64x32x128 dst=262144,128,8192,1"
  infini check --random 1000 --large --device ascend
  infini check --curated --op gemm
)",
     check_options},
    {"bench", run_bench, "measure against a copy of the same bytes or the limits here",
     R"(infini bench [SUITE | "PROBLEM"...] | --random N | --list

Rearrange is measured against a copy of the same bytes in the same run; the
suites cpu, cpu_medium and cpu_small also against NumPy and PyTorch, where
python3 has them. Products are measured against the machine's limits and, on the
CPU, whichever of OpenBLAS, BLIS, MKL and oneDNN 3 the loader finds, in turns.
The share behind a ratio is how far a turn usually is from it. Ctrl-C prints and
keeps what was measured.
  infini bench cpu --json results.json
  infini bench --random 40 --op gemm
  infini bench quick --report out.html
  infini bench pages --device nvidia
  infini bench transfer --device nvidia
)",
     bench_options},
    {"machine", run_machine, "the facts about this CPU by which kernels are chosen",
     R"(infini machine

What caches hold and how fast bytes move: assumed, or measured and kept in
$XDG_CACHE_HOME/infini or ~/.cache/infini, where every process finds them.
  infini machine --measure
)",
     machine_options},
    {"reshard", run_reshard, "what moves when a tensor changes its distribution over ranks",
     R"-(infini reshard "DTYPE SHAPE (MESH: DIMS) -> [perm=AXES] (MESH: DIMS)"...

A mesh is 8, 2x4, ...; DIMS says for each dim how it is cut over the mesh:
replicate (not at all), block, balanced, cyclic:BLOCK or sizes:A/B/C. Cut dims
take the mesh's axes in order, or name them: block@1, cyclic:2@0+2. With perm,
dim i of the destination is dim AXES[i] of the source. (4 ranks 8: ...) counts
its ranks from 8. Nothing moves.
  infini reshard "f16 64x4096 (2x4: block,cyclic:128) -> (8: replicate,block)"
  infini reshard "f32 512x512x512 (64: block,replicate,replicate)
                  -> (8x8: replicate,block,block)" --simulate latency=2us
A product over ranks is A * B -> where C is; panel=K may follow:
  infini reshard "f32 512x512 (2x2: block,block) * 512x512 (2x2: block,block)
                  -> (2x2: block,block)" --explain
)-",
     reshard_options},
    {"info", run_info, "the tensors of a file", R"(infini info FILE...

Of .npy, .npz, .safetensors and .safetensors.index.json; no element is read.
Tensors that differ in a number of their names alone share a line, with the
bytes of all.
)",
     info_options},
    {"convert", run_convert, "a file in another format, or with other element types",
     R"(infini convert IN OUT

OUT is a .npy (of one tensor) or .safetensors file; it appears when it is whole.
  infini convert weights.npz weights.safetensors --dtype bf16
)",
     file_options},
    {"rearrange", run_rearrange, "the tensors of a file with their axes in another order",
     R"(infini rearrange IN OUT "PATTERN" [AXIS=SIZE]...

  infini rearrange a.npy b.npy "r c -> c r" --memory 512M
  infini rearrange in.safetensors out.safetensors "(h d) k -> h d k" h=32
                   --tensor "*.q_proj.weight" --dtype bf16
)",
     file_options},
    {"slice", run_slice, "parts of the tensors of a file",
     R"(infini slice IN OUT "RANGES"

Ranges as Python writes them, one for each dim: first:end:step, or ... for many.
  infini slice a.npy b.npy "0:100, ::2, ::-1"
)",
     file_options},
    {"shard", run_shard, "one file for each rank of a tensor-parallel model",
     R"(infini shard IN OUT --tp N --dim D

OUT.safetensors becomes OUT-rank-0-of-N.safetensors and so on. Tensors that are
not meant are in every file.
  infini shard model.safetensors out.safetensors --tp 8 --dim 1
               --tensor "*.o_proj*"
)",
     shard_options},
    {"unshard", run_unshard, "one file of the shards of all ranks",
     R"(infini unshard SHARD... OUT --dim D

Shards named as `infini shard` does are taken by rank, and all have to be there;
others in the given order.
  infini unshard out-rank-*-of-8.safetensors model.safetensors --dim 1
)",
     unshard_options}};

constexpr const char* problems = R"(A problem is a line of text, in quotes or not.

rearrange DTYPE SHAPE [dst=STRIDES] [src=STRIDES] [perm=AXES]
          [PATTERN [AXIS=SIZE]...] [dst_at=BYTES] [src_at=BYTES]
    Every element of src moves to the same index in dst. Strides count elements;
    a side without them is row-major. With perm, SHAPE is the contiguous
    source's and AXES the order of its axes in the result; with a
    pattern SHAPE and src are the source's, dst is the result's. A base pointer
    lies BYTES past an aligned address.
      rearrange f32 512x512x512 perm=2,0,1
      rearrange f16 8x3x32x32 'n c h w -> n h w c'
      rearrange bf16 2x64x512 'b s (h d) -> b h s d' h=8
      rearrange f16 8x2048x32x128 dst=8388608,128,262144,1
      rearrange u8 3x600x600 src=0,600,1          the first axis is broadcast

gemm DTYPE m=M n=N k=K [batch=B] [a_batch=1] [b_batch=1] [out=DTYPE]
     [a=STRIDES|t] [b=STRIDES|t] [c=STRIDES|t] [alpha=X] [beta=X]
     [a_at=BYTES] [b_at=BYTES] [c_at=BYTES]
    c = alpha a b + beta c. `t` is the transposed contiguous matrix; with a
    batch, strides are those of batch, row and column.
      gemm bf16 m=64 n=96 k=128 batch=32
      gemm f16 m=7 n=9 k=33 out=f32 a=t b=40,2 alpha=0.5 beta=1

NAME DTYPE SHAPE [X=STRIDES] [X_shape=SHAPE] [X_dtype=DTYPE] [X_at=BYTES]
     [in_place=X]
    X is an operand by its name. DTYPE and SHAPE are the result's (of
    random_sample the logits'); the others follow unless they are said. Sources
    of elementwise operators repeat dims of size 1.
      add f32 64x128 b_shape=1x128
      rms_norm bf16 8192x4096 w_dtype=f32 epsilon=1e-5
      rope f16 7x4x64 algo=neox in_place=x
      random_sample f16 128000 topk=50 topp=0.8 temperature=0.7 random_val=0.3
    NAME is one of:
)";

constexpr const char* environment_help =
    R"(Read once, when the library is loaded; not at all in setuid programs. What is
not understood is told by `infini devices`, and by `infini plan` of a problem
that asks for it.

  INFINI_NUM_THREADS=N          CPU threads
  INFINI_BACKEND_PATH=DIR[:DIR] absolute folders in which modules are looked for
  INFINI_VERBOSE=1|FILE         a line for every call: operator, layouts,
                                kernel, microseconds; 1 is standard error
  INFINI_<DEVICE>_<OPERATOR>=NAME
                                the kernel to take wherever it can, as in
                                INFINI_CPU_REARRANGE=tiles
  INFINI_CPU_ISA=NAME           less than the CPU has: portable, avx2, avx512,
                                neon
  INFINI_TUNE=0|1|FILE          the CPU as assumed; measured now; or as kept
                                by `infini machine --measure` in FILE
  INFINI_ALLOW_TF32=1           f32 products on tensor cores in TF32
  INFINI_IO_URING=0             files are read by plain reads
  INFINI_READ_THROUGH=0         recorded graphs run every copy and read it
  INFINI_TRANSFER=NAME          strided copies between host and device: runs,
                                rows, mapped, span or pack
  INFINI_CCL_TIMEOUT=SECONDS    how long a collective waits for other ranks
)";

std::string problems_help() {
  std::string text = problems;
  for (const auto& row : harness::operators())
    if (row.name != "rearrange" && row.name != "gemm")
      text += "      " + row.name + std::string(17 - row.name.size(), ' ') + row.about + "\n";
  return text;
}

std::string dtypes_help() {
  std::string text = "Element types of problems:\n";
  for (const auto& line : harness::dtype_lines()) text += "  " + line + "\n";
  return text + "gemm multiplies f16, bf16, f32 and f64.\n";
}

std::string option_lines(std::span<const Option> options) {
  std::string text;
  for (const Option& option : options) {
    std::string line = std::string("  ") + option.name + (*option.value ? " " : "") + option.value;
    line += line.size() < 23 ? std::string(23 - line.size(), ' ') : " ";
    for (const char* c = option.about; *c != 0; ++c)
      line += *c == '\n' ? "\n" + std::string(23, ' ') : std::string(1, *c);
    text += line + "\n";
  }
  return text;
}

std::string command_help(const Command& command) {
  const bool takes_problems = std::string(command.usage).find("PROBLEM") != std::string::npos;
  return command.usage + std::string("\nOptions:\n") + option_lines(command.options) +
         (takes_problems ? "\n`infini help problems` tells how a problem is written.\n" : "");
}

}  // namespace

std::span<const Command> commands() { return table; }

const Command* find_command(const std::string& name) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [&](const Command& command) { return name == command.name; });
  return found == std::end(table) ? nullptr : &*found;
}

std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names = {"--help"};
  for (const Option& option : command.options) names.emplace_back(option.name);
  return names;
}

std::string help_text() {
  std::string text = std::string("infini ") + infiniVersionString() +
                     ": moving and multiplying tensors on any chip.\n\n";
  for (const Command& command : table) {
    const std::string name = command.name;
    text += "  infini " + name + std::string(10 - name.size(), ' ') + command.summary + "\n";
  }
  return text + R"(  infini help      a command, problems, dtypes or environment: infini help plan

A problem is a line of text:
  infini plan "rearrange f32 512x512x512 perm=2,0,1"   axes in another order
  infini plan "gemm bf16 m=64 n=96 k=128 batch=32"     a product of matrices
Try also:
  infini check --random 1000
  infini bench quick
)";
}

std::string help_text(const std::string& topic) {
  if (topic == "problem" || topic == "problems") return problems_help();
  if (topic == "dtype" || topic == "dtypes") return dtypes_help();
  if (topic == "environment") return environment_help;
  if (const Command* command = find_command(topic)) return command_help(*command);
  std::vector<std::string> known = {"problems", "dtypes", "environment"};
  for (const Command& command : table) known.emplace_back(command.name);
  fail(INFINI_STATUS_BAD_PARAM, "there is no help for \"", topic, "\"",
       harness::did_you_mean(topic, known), "; see `infini help`");
}

}  // namespace infini::tools
