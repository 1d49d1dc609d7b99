// This process's machine, and the table of facts.
#include "backends/cpu/machine/machine.h"

#include <cstring>
#include <sstream>

#include "base/environment.h"

namespace infini::cpu {
namespace {

constexpr Fact table[] = {
    {"threads", "", &Machine::threads, nullptr},
    {"l1_bytes", "bytes", &Machine::l1_bytes, nullptr},
    {"l2_bytes", "bytes", &Machine::l2_bytes, nullptr},
    {"l3_bytes", "bytes", &Machine::l3_bytes, nullptr},
    {"l2_load", "bytes/ns", nullptr, &Machine::l2_load},
    {"l2_store", "bytes/ns", nullptr, &Machine::l2_store},
    {"l2_copy", "bytes/ns", nullptr, &Machine::l2_copy},
    {"l3_load", "bytes/ns", nullptr, &Machine::l3_load},
    {"l3_store", "bytes/ns", nullptr, &Machine::l3_store},
    {"l3_copy", "bytes/ns", nullptr, &Machine::l3_copy},
    {"memory_load", "bytes/ns", nullptr, &Machine::memory_load},
    {"memory_store", "bytes/ns", nullptr, &Machine::memory_store},
    {"memory_copy", "bytes/ns", nullptr, &Machine::memory_copy},
    {"streamed_store", "bytes/ns", nullptr, &Machine::streamed_store},
    {"streamed_copy", "bytes/ns", nullptr, &Machine::streamed_copy},
    {"copy_places", "", &Machine::copy_places, nullptr},
    {"copy_ahead", "bytes", &Machine::copy_ahead, nullptr},
    {"far_line_ns", "ns", &Machine::far_line_ns, nullptr},
    {"far_pair_ns", "ns", &Machine::far_pair_ns, nullptr},
    {"store_pages", "", &Machine::store_pages, nullptr},
    {"followed_rows", "", &Machine::followed_rows, nullptr},
    {"prefetched_strip", "bytes", &Machine::prefetched_strip, nullptr},
    {"crowded_line_ns", "ns", &Machine::crowded_line_ns, nullptr},
    {"vector_ns", "ns", &Machine::vector_ns, nullptr},
    {"shuffle_ns", "ns", &Machine::shuffle_ns, nullptr},
    {"exchange_ns", "ns", &Machine::exchange_ns, nullptr},
    {"pick_ns", "ns", &Machine::pick_ns, nullptr},
    {"call_ns", "ns", &Machine::call_ns, nullptr},
    {"element_ns", "ns", &Machine::element_ns, nullptr},
    {"region_ns", "ns", &Machine::region_ns, nullptr},
    {"clock_ghz", "GHz", &Machine::clock_ghz, nullptr},
    {"fma_bytes", "bytes", &Machine::fma_bytes, nullptr},
    {"near_piece_ns", "ns", &Machine::near_piece_ns, nullptr},
    {"far_piece_ns", "ns", &Machine::far_piece_ns, nullptr},
    {"near_row_ns", "ns", &Machine::near_row_ns, nullptr},
    {"far_row_ns", "ns", &Machine::far_row_ns, nullptr},
    {"pair_rate", "", &Machine::pair_rate, nullptr},
    {"tile_ns", "ns", &Machine::tile_ns, nullptr},
    {"onednn_rate", "products/ns", &Machine::onednn_rate, nullptr},
    {"openblas_rate", "products/ns", &Machine::openblas_rate, nullptr},
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
