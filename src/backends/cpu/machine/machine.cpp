// This process's machine, and the table of facts.
#include "backends/cpu/machine/machine.h"

#include <cstring>
#include <sstream>

#include "base/environment.h"

namespace infini::cpu {
namespace {

constexpr Fact table[] = {
    {"threads", "", &Machine::threads, nullptr, "that the rates together were measured with"},
    {"l1_bytes", "bytes", &Machine::l1_bytes, nullptr, "first cache of a thread"},
    {"l2_bytes", "bytes", &Machine::l2_bytes, nullptr, "second cache of a thread"},
    {"l3_bytes", "bytes", &Machine::l3_bytes, nullptr, "last cache, of all threads"},
    {"l2_load", "bytes/ns", nullptr, &Machine::l2_load, "loads from L2"},
    {"l2_store", "bytes/ns", nullptr, &Machine::l2_store, "stores to L2"},
    {"l2_copy", "bytes/ns", nullptr, &Machine::l2_copy, "memcpy within L2"},
    {"l3_load", "bytes/ns", nullptr, &Machine::l3_load, "loads from L3"},
    {"l3_store", "bytes/ns", nullptr, &Machine::l3_store, "stores to L3"},
    {"l3_copy", "bytes/ns", nullptr, &Machine::l3_copy, "memcpy within L3"},
    {"memory_load", "bytes/ns", nullptr, &Machine::memory_load, "loads from memory"},
    {"memory_store", "bytes/ns", nullptr, &Machine::memory_store, "stores to memory"},
    {"memory_copy", "bytes/ns", nullptr, &Machine::memory_copy, "memcpy in memory"},
    {"streamed_store", "bytes/ns", nullptr, &Machine::streamed_store, "non-temporal stores"},
    {"streamed_copy", "bytes/ns", nullptr, &Machine::streamed_copy,
     "the best copy with non-temporal stores"},
    {"copy_places", "", &Machine::copy_places, nullptr, "streams that such a copy interleaves"},
    {"copy_ahead", "bytes", &Machine::copy_ahead, nullptr, "prefetch distance of such a copy"},
    {"far_line_ns", "ns", &Machine::far_line_ns, nullptr, "transposing a line, memory to memory"},
    {"far_pair_ns", "ns", &Machine::far_pair_ns, nullptr, "the same, two lines side by side"},
    {"store_pages", "", &Machine::store_pages, nullptr, "pages stored to in turns at full speed"},
    {"followed_rows", "", &Machine::followed_rows, nullptr, "row streams that hardware prefetches"},
    {"prefetched_strip", "bytes", &Machine::prefetched_strip, nullptr,
     "of such rows to prefetch by software"},
    {"crowded_line_ns", "ns", &Machine::crowded_line_ns, nullptr,
     "wait for a place in a crowded set of L1"},
    {"vector_ns", "ns", &Machine::vector_ns, nullptr, "moving 64 bytes in L1"},
    {"shuffle_ns", "ns", &Machine::shuffle_ns, nullptr, "loading and shuffling a vector"},
    {"exchange_ns", "ns", &Machine::exchange_ns, nullptr, "an exchange between two registers"},
    {"pick_ns", "ns", &Machine::pick_ns, nullptr, "a window of a shuffle program"},
    {"call_ns", "ns", &Machine::call_ns, nullptr, "a call that moves a row or a panel"},
    {"element_ns", "ns", &Machine::element_ns, nullptr, "moving an element by itself"},
    {"region_ns", "ns", &Machine::region_ns, nullptr, "a parallel region's start and end"},
    {"clock_ghz", "GHz", &Machine::clock_ghz, nullptr, "clock of a core"},
    {"fma_bytes", "bytes", &Machine::fma_bytes, nullptr,
     "of vectors multiplied and added in a cycle"},
    {"near_piece_ns", "ns", &Machine::near_piece_ns, nullptr,
     "a line of short row pieces, last cache"},
    {"far_piece_ns", "ns", &Machine::far_piece_ns, nullptr, "the same, from memory"},
    {"near_row_ns", "ns", &Machine::near_row_ns, nullptr,
     "a line of many rows in turns, last cache"},
    {"far_row_ns", "ns", &Machine::far_row_ns, nullptr, "the same, from memory"},
    {"pair_rate", "", &Machine::pair_rate, nullptr, "bf16 products in pairs per f32 product"},
    {"tile_ns", "ns", &Machine::tile_ns, nullptr, "a product of two AMX tiles"},
    {"onednn_rate", "products/ns", &Machine::onednn_rate, nullptr,
     "multiply-adds of a thread by oneDNN"},
    {"openblas_rate", "products/ns", &Machine::openblas_rate, nullptr,
     "multiply-adds of a thread by OpenBLAS"},
};

struct Found {
  Machine machine;
  std::string remark;
};

// A file that was named is looked into alone, the usual one only where there is one.
Found find_machine() {
  Found found{profile_of_this_processor(), {}};
  const char* const tune = environment("INFINI_TUNE");
  if (tune != nullptr && std::strcmp(tune, "0") == 0) return found;
  if (tune != nullptr && std::strcmp(tune, "1") == 0) {
    found.machine = measure_machine(found.machine);
    return found;
  }
  const bool named = tune != nullptr && *tune != 0;
  const std::string path = named ? tune : machine_file();
  std::string why_not;
  if (path.empty() || read_machine(path, found.machine, why_not)) return found;
  if (named)
    tell_not_understood("INFINI_TUNE",
                        "0, 1 or a file that `infini machine --measure` wrote: " + why_not);
  else if (!why_not.empty())
    found.remark = path + ": " + why_not;
  return found;
}

// Never destroyed: static destructors may still make kernels.
const Found& found() {
  static const Found& of_process = *new Found(find_machine());
  return of_process;
}

}  // namespace

std::span<const Fact> facts() { return table; }

const Machine& machine() { return found().machine; }

std::string machine_remark() { return found().remark; }

std::string to_string(const Machine& machine) {
  std::ostringstream text;
  text.precision(4);
  text << machine.name << " (" << machine.origin << ")\n";
  for (const Fact& fact : table) {
    text << "  " << fact.name << std::string(18 - std::strlen(fact.name), ' ');
    if (fact.number != nullptr)
      text << machine.*fact.number;
    else
      text << (machine.*fact.rate).one << " one thread, " << (machine.*fact.rate).all
           << " together";
    text << (*fact.unit ? " " : "") << fact.unit << "\n";
  }
  return text.str();
}

}  // namespace infini::cpu
