// Running transfers: read a block, put it in order, write it, the next one being read meanwhile.
#include "file/transfer.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <thread>

#include "base/checked.h"
#include "base/dtype.h"
#include "base/error.h"
#include "ops/operator.h"
#include "ops/rearrange.h"
#include "plan/operators/convert_plan.h"
#include "runtime/registry.h"

namespace infini::file {
namespace {

constexpr int requests_in_flight = 4;
constexpr int64_t request_bytes = 8 << 20;  // longer runs are cut, so that several are on their way

using Files = std::vector<const Descriptor*>;

// One contiguous piece of a file and of memory.
struct Run {
  int64_t address, bytes;
  char* memory;
};

// Does all of them, several at a time; the first error is thrown.
template <class Body>
void run_all(const std::vector<Run>& runs, const Body& body) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < runs.size();) body(runs[i]);
  };
  const size_t threads = std::min<size_t>(requests_in_flight, runs.size());
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, work));
  std::exception_ptr error;
  try {
    work();
  } catch (...) {
    error = std::current_exception();
    next = runs.size();
  }
  for (auto& other : others) try {
      other.get();
    } catch (...) {
      if (!error) error = std::current_exception();
      next = runs.size();
    }
  if (error) std::rethrow_exception(error);
}

void add_run(std::vector<Run>& runs, int64_t address, int64_t bytes, char* memory) {
  for (int64_t done = 0; done < bytes; done += request_bytes)
    runs.push_back({address + done, std::min(request_bytes, bytes - done), memory + done});
}

// A block: where it begins in dims, and how far it reaches.
struct Block {
  std::vector<int64_t> first, extents;
};

class Mover {
 public:
  Mover(const Transfer& transfer, int64_t memory, const Files& src)
      : transfer_(transfer),
        plan_(make_transfer_plan(transfer, memory)),
        src_(src),
        src_bytes_(dtype_bytes(transfer.src_dtype)),
        dst_bytes_(dtype_bytes(transfer.dst_dtype)) {}

  const TransferPlan& plan() const { return plan_; }

  Block block(int64_t number) const {
    Block made;
    made.first.resize(plan_.dims.size());
    made.extents.resize(plan_.dims.size());
    for (size_t i = plan_.dims.size(); i-- > 0;) {
      const int64_t count = ceil_div(plan_.dims[i].extent, plan_.block[i]);
      made.first[i] = number % count * plan_.block[i];
      made.extents[i] = std::min(plan_.block[i], plan_.dims[i].extent - made.first[i]);
      number /= count;
    }
    return made;
  }

  // The block's spans, one after the other. Steps of the dims in `raw`, and where its first element lies.
  struct Raw {
    std::vector<int64_t> steps;
    int64_t first = 0;
  };
  Raw read(const Block& block, char* raw) const {
    Raw where;
    where.steps.assign(plan_.dims.size(), 0);
    int64_t lowest = plan_.src_offset, span = src_bytes_;
    for (size_t i = 0; i < plan_.dims.size(); ++i) {
      const int64_t step = plan_.dims[i].src_step;
      lowest += block.first[i] * step + (step < 0 ? (block.extents[i] - 1) * step : 0);
    }
    for (const size_t i : plan_.span_dims) {
      where.steps[i] = plan_.dims[i].src_step;
      span += (block.extents[i] - 1) * std::abs(plan_.dims[i].src_step);
    }
    std::vector<size_t> outer;
    int64_t stride = span;
    for (size_t i = plan_.dims.size(); i-- > 0;) {
      const bool inside =
          std::find(plan_.span_dims.begin(), plan_.span_dims.end(), i) != plan_.span_dims.end();
      const int64_t step = plan_.dims[i].src_step;
      if (inside || step == 0 || block.extents[i] == 1) continue;
      outer.push_back(i);
      where.steps[i] = step < 0 ? -stride : stride;
      stride *= block.extents[i];
    }
    for (size_t i = 0; i < plan_.dims.size(); ++i)
      if (where.steps[i] < 0) where.first -= (block.extents[i] - 1) * where.steps[i];
    std::vector<Run> runs;
    std::vector<int64_t> index(outer.size());
    for (char* to = raw;;) {
      add_run(runs, lowest, span, to);
      to += span;
      size_t k = 0;
      for (; k < outer.size(); ++k) {
        const int64_t step = std::abs(plan_.dims[outer[k]].src_step);
        lowest += step;
        if (++index[k] < block.extents[outer[k]]) break;
        lowest -= index[k] * step;
        index[k] = 0;
      }
      if (k == outer.size()) break;
    }
    run_all(runs, [&](const Run& run) {
      const Descriptor& file = *src_[static_cast<size_t>(run.address / file_step)];
      file.read(run.memory, run.bytes, run.address % file_step);
    });
    return where;
  }

  // From raw bytes to the dst's order: packed (`steps` empty), or with the steps of the destination.
  void order(const Block& block, const Raw& where, const char* raw, char* out, bool packed) const {
    size_t shape[max_rank];
    ptrdiff_t from[max_rank], to[max_rank];
    size_t rank = 0;
    for (size_t i = 0; i < plan_.dims.size(); ++i) {
      if (block.extents[i] == 1) continue;
      shape[rank] = static_cast<size_t>(block.extents[i]);
      from[rank] = where.steps[i] / src_bytes_;
      to[rank++] = plan_.dims[i].dst_step / dst_bytes_;
    }
    const Layout y = make_layout(transfer_.dst_dtype, rank, shape, packed ? nullptr : to),
                 x = make_layout(transfer_.src_dtype, rank, shape, from);
    Device& cpu = open_device(INFINI_DEVICE_CPU, 0);
    const char* const source = raw + where.first;
    if (!converts()) return Rearrange(cpu, y, x).run(out, source, nullptr);
    OperatorRun run;
    run.operands[0] = out;
    run.operands[1] = const_cast<char*>(source);
    const Layout* const sources[] = {&x};
    const bool cast =
        format_of(y.dtype, false) == format_count || format_of(x.dtype, false) == format_count;
    Conversion conversion;
    conversion.e5m2[0] = transfer_.dst_e5m2;
    conversion.e5m2[1] = transfer_.src_e5m2;
    Operator(cpu, cast ? make_map_plan(Function::cast, y, sources)
                       : make_convert_plan(y, x, nullptr, nullptr, conversion))
        .run(run, 0);
  }

  // Whether the raw bytes are what is written.
  bool is_ordered(const Block& block, const Raw& where) const {
    int64_t step = src_bytes_;
    for (size_t i = plan_.dims.size(); i-- > 0;) {
      if (block.extents[i] > 1 && where.steps[i] != step) return false;
      step *= block.extents[i];
    }
    return !converts();
  }
  bool converts() const {
    return transfer_.dst_dtype != transfer_.src_dtype || transfer_.dst_e5m2 != transfer_.src_e5m2;
  }

  void write(const Block& block, const char* out, const Files& dst) const {
    std::vector<Run> runs;
    int64_t run = dst_bytes_, address = plan_.dst_offset;
    size_t inner = plan_.dims.size();
    for (size_t i = 0; i < plan_.dims.size(); ++i)
      address += block.first[i] * plan_.dims[i].dst_step;
    while (inner > 0 && plan_.dims[inner - 1].dst_step == run) run *= block.extents[--inner];
    std::vector<int64_t> index(inner);
    for (char* from = const_cast<char*>(out);;) {
      add_run(runs, address, run, from);
      from += run;
      size_t i = inner;
      for (; i > 0; --i) {
        address += plan_.dims[i - 1].dst_step;
        if (++index[i - 1] < block.extents[i - 1]) break;
        address -= index[i - 1] * plan_.dims[i - 1].dst_step;
        index[i - 1] = 0;
      }
      if (i == 0) break;
    }
    run_all(runs, [&](const Run& r) {
      dst[static_cast<size_t>(r.address / file_step)]->write(r.memory, r.bytes,
                                                             r.address % file_step);
    });
  }

  int64_t bytes_of(const Block& block) const {
    int64_t bytes = dst_bytes_;
    for (const int64_t extent : block.extents) bytes *= extent;
    return bytes;
  }

 private:
  const Transfer& transfer_;
  TransferPlan plan_;
  const Files& src_;
  int64_t src_bytes_, dst_bytes_;
};

using Buffer = std::unique_ptr<char, decltype(&std::free)>;
Buffer allocate(int64_t bytes) {
  Buffer buffer(static_cast<char*>(std::aligned_alloc(
                    4096, static_cast<size_t>(round_up(std::max<int64_t>(bytes, 1), 4096)))),
                &std::free);
  require(buffer != nullptr, INFINI_STATUS_OUT_OF_MEMORY, "no memory for ", bytes, " bytes");
  madvise(buffer.get(), static_cast<size_t>(bytes),
          MADV_HUGEPAGE);  // where it is refused: small pages
  return buffer;
}

bool is_empty(const Transfer& transfer) {
  return std::any_of(transfer.dims.begin(), transfer.dims.end(),
                     [](const TransferDim& d) { return d.extent == 0; });
}

// use(block, raw, where) for all blocks, the next one being read meanwhile.
template <class Use>
void for_blocks(const Mover& mover, const Use& use) {
  const TransferPlan& plan = mover.plan();
  Buffer raw[2] = {allocate(plan.raw_bytes), allocate(plan.blocks > 1 ? plan.raw_bytes : 1)};
  const auto read = [&](int64_t number) {
    const Block block = mover.block(number);
    return std::pair(block, mover.read(block, raw[number % 2].get()));
  };
  auto next = std::async(std::launch::async, read, int64_t{0});
  for (int64_t i = 0; i < plan.blocks; ++i) {
    const auto [block, where] = next.get();
    if (i + 1 < plan.blocks) next = std::async(std::launch::async, read, i + 1);
    use(block, raw[i % 2].get(), where);
  }
}

}  // namespace

void run_transfer(const Transfer& transfer, const Files& dst, const Files& src, int64_t memory,
                  const Progress& progress) {
  if (is_empty(transfer)) return;
  const Mover mover(transfer, memory, src);
  Buffer out = allocate(mover.plan().out_bytes);
  int64_t written = 0;
  for_blocks(mover, [&](const Block& block, const char* raw, const Mover::Raw& where) {
    const bool ordered = mover.is_ordered(block, where);
    if (!ordered) mover.order(block, where, raw, out.get(), true);
    mover.write(block, ordered ? raw : out.get(), dst);
    written += mover.bytes_of(block);
    if (progress) progress(written);
  });
}

void read_transfer(const Transfer& transfer, char* to, const Files& src, int64_t memory) {
  if (is_empty(transfer)) return;
  const Mover mover(transfer, memory, src);
  for_blocks(mover, [&](const Block& block, const char* raw, const Mover::Raw& where) {
    char* at = to + transfer.dst_offset;
    for (size_t i = 0; i < block.first.size(); ++i)
      at += block.first[i] * mover.plan().dims[i].dst_step;
    mover.order(block, where, raw, at, false);
  });
}

}  // namespace infini::file
