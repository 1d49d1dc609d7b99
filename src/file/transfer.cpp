// Running transfers: read a block, put it in order, write it, the next one being read meanwhile.
#include "file/transfer.h"

#include <algorithm>
#include <cstdlib>
#include <future>

#include "base/checked.h"
#include "base/dtype.h"
#include "base/error.h"
#include "file/order.h"
#include "file/requests/requests.h"
#include "runtime/registry.h"

namespace infini::file {
namespace {

using Files = std::vector<const Descriptor*>;

constexpr int64_t request_bytes = 8 << 20;  // longer runs are cut, so that several are on their way

// A run at an address of a side's space.
void add_piece(std::vector<Piece>& pieces, const Files& files, int64_t address, int64_t bytes,
               char* memory) {
  const Descriptor* const file = files[static_cast<size_t>(address / file_step)];
  for (int64_t done = 0; done < bytes; done += request_bytes)
    pieces.push_back(
        {file, address % file_step + done, std::min(request_bytes, bytes - done), memory + done});
}

// A block: where it begins in dims, and how far it reaches.
struct Block {
  std::vector<int64_t> first, extents;
};

class Mover {
 public:
  Mover(const Transfer& transfer, int64_t memory, const Files& src, Device& device)
      : transfer_(transfer),
        plan_(make_transfer_plan(transfer, memory)),
        src_(src),
        order_(device, transfer.dst_e5m2, transfer.src_e5m2),
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
    std::vector<Piece> pieces;
    std::vector<int64_t> index(outer.size());
    for (char* to = raw;;) {
      add_piece(pieces, src_, lowest, span, to);
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
    read_pieces(pieces);
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
    order_.run(out, y, raw + where.first, x);
  }

  // Whether the raw bytes are what is written.
  bool is_ordered(const Block& block, const Raw& where) const {
    int64_t step = src_bytes_;
    for (size_t i = plan_.dims.size(); i-- > 0;) {
      if (block.extents[i] > 1 && where.steps[i] != step) return false;
      step *= block.extents[i];
    }
    return !order_.converts(transfer_.dst_dtype, transfer_.src_dtype);
  }

  void write(const Block& block, const char* out, const Files& dst) const {
    std::vector<Piece> pieces;
    int64_t run = dst_bytes_, address = plan_.dst_offset;
    size_t inner = plan_.dims.size();
    for (size_t i = 0; i < plan_.dims.size(); ++i)
      address += block.first[i] * plan_.dims[i].dst_step;
    while (inner > 0 && plan_.dims[inner - 1].dst_step == run) run *= block.extents[--inner];
    std::vector<int64_t> index(inner);
    for (char* from = const_cast<char*>(out);;) {
      add_piece(pieces, dst, address, run, from);
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
    write_pieces(pieces);
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
  Order order_;
  int64_t src_bytes_, dst_bytes_;
};

bool is_empty(const Transfer& transfer) {
  return std::any_of(transfer.dims.begin(), transfer.dims.end(),
                     [](const TransferDim& d) { return d.extent == 0; });
}

// use(block, raw, where) for all blocks, the next one being read meanwhile.
template <class Use>
void for_blocks(const Mover& mover, Device& device, const Use& use) {
  const TransferPlan& plan = mover.plan();
  const HostBuffer raw[2] = {HostBuffer(device, plan.raw_bytes),
                             HostBuffer(device, plan.blocks > 1 ? plan.raw_bytes : 1)};
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
                  Device& device, const Progress& progress) {
  if (is_empty(transfer)) return;
  const Mover mover(transfer, memory, src, device);
  const HostBuffer out(device, mover.plan().out_bytes);
  int64_t written = 0;
  for_blocks(mover, device, [&](const Block& block, const char* raw, const Mover::Raw& where) {
    const bool ordered = mover.is_ordered(block, where);
    if (!ordered) mover.order(block, where, raw, out.get(), true);
    mover.write(block, ordered ? raw : out.get(), dst);
    written += mover.bytes_of(block);
    if (progress) progress(written);
  });
}

void read_transfer(const Transfer& transfer, char* to, const Files& src, int64_t memory) {
  if (is_empty(transfer)) return;
  Device& cpu = open_device(INFINI_DEVICE_CPU, 0);
  const Mover mover(transfer, memory, src, cpu);
  for_blocks(mover, cpu, [&](const Block& block, const char* raw, const Mover::Raw& where) {
    char* at = to + transfer.dst_offset;
    for (size_t i = 0; i < block.first.size(); ++i)
      at += block.first[i] * mover.plan().dims[i].dst_step;
    mover.order(block, where, raw, at, false);
  });
}

}  // namespace infini::file
