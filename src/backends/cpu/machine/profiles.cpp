// What a process assumes before anything was measured on its processor.
//
// zen4 and zen5 were measured (`infini machine --measure`, two threads). The two Intel ones follow from what copies, transpositions
// and kernels reached there (docs/benchmarks-rearrange-cpu.md) and from the constants that were fitted to them.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "backends/cpu/machine/machine.h"
#include "base/threads/thread_count.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace infini::cpu {
namespace {

constexpr const char* names[] = {"ice_lake", "sapphire_rapids", "zen4", "zen5", "generic"};

Machine generic() {
  Machine m;
  m.threads = 2;
  m.l2_load = {40, 80}, m.l2_store = {30, 60}, m.l2_copy = {27, 54};
  m.l3_load = {14, 28}, m.l3_store = {9, 18}, m.l3_copy = {11, 22};
  m.memory_load = {12, 24}, m.memory_store = {6, 12}, m.memory_copy = {8, 15};
  m.streamed_store = {12, 24}, m.streamed_copy = {12, 23};
  return m;
}

Machine ice_lake() {
  Machine m = generic();
  m.l1_bytes = 48 << 10, m.l2_bytes = 1280 << 10, m.l3_bytes = 48 << 20;
  m.clock_ghz = 2.6, m.fma_bytes = 128;
  return m;
}

// Lines that lie pages apart are stored at half the speed of pairs of them.
Machine sapphire_rapids() {
  Machine m = generic();
  m.l1_bytes = 48 << 10, m.l2_bytes = 2 << 20, m.l3_bytes = 105 << 20;
  m.memory_load = {10, 18}, m.streamed_copy = {10, 17}, m.streamed_store = {10, 18};
  m.far_line_ns = 6, m.far_pair_ns = 4;
  m.clock_ghz = 2.2, m.fma_bytes = 128, m.pair_rate = 0.5, m.tile_ns = 24;
  m.near_piece_ns = 2.6, m.near_row_ns = 3;
  return m;
}

// The last cache is as fast as the second one of others, stores past the caches are held up by the core, and rows are
// followed in any number while prefetches help all of them.
Machine zen4() {
  Machine m = generic();
  m.l1_bytes = 32 << 10, m.l2_bytes = 1 << 20, m.l3_bytes = 32 << 20;
  m.l2_load = {65, 129}, m.l2_store = {114, 222}, m.l2_copy = {57, 114};
  m.l3_load = {64, 126}, m.l3_store = {100, 196}, m.l3_copy = {48, 95};
  m.memory_load = {32, 42}, m.memory_store = {30, 32}, m.memory_copy = {14, 18};
  m.streamed_store = {28, 40}, m.streamed_copy = {25, 30};
  m.copy_places = 1, m.copy_ahead = 1024;
  m.far_line_ns = 2.25, m.far_pair_ns = 2.25, m.store_pages = 4096;
  m.followed_rows = 64, m.prefetched_strip = 1 << 20, m.crowded_line_ns = 2.8;
  m.vector_ns = 0.71, m.shuffle_ns = 0.7, m.exchange_ns = 0.7 / 3, m.pick_ns = 0.56,
  m.call_ns = 2.8, m.element_ns = 0.32;
  m.region_ns = 600;
  m.clock_ghz = 3.7, m.fma_bytes = 64, m.near_piece_ns = 1, m.far_piece_ns = 4.5, m.near_row_ns = 1,
  m.far_row_ns = 9;
  m.pair_rate = 2;
  return m;
}

// As Zen 4, with twice as wide vectors in all of the core, and memory that one thread nearly takes to itself.
Machine zen5() {
  Machine m = zen4();
  m.l1_bytes = 48 << 10;
  m.l2_load = {74, 146}, m.l2_store = {203, 343}, m.l2_copy = {119, 230};
  m.l3_load = {64, 135}, m.l3_store = {100, 187}, m.l3_copy = {50, 95};
  m.memory_load = {38, 50}, m.memory_store = {35, 36}, m.memory_copy = {20, 21};
  m.streamed_store = {41, 42}, m.streamed_copy = {26, 29};
  m.far_line_ns = 7, m.far_pair_ns = 5.2, m.crowded_line_ns = 8;
  m.vector_ns = 0.42, m.shuffle_ns = 0.1, m.exchange_ns = 0.15, m.pick_ns = 0.42, m.call_ns = 1.6;
  m.region_ns = 300;
  m.clock_ghz = 4.2, m.fma_bytes = 128, m.near_piece_ns = 0.9, m.far_piece_ns = 4.3,
  m.near_row_ns = 0.8, m.far_row_ns = 3.2;
  m.products = &zen5_products;
  return m;
}

// Of a cache of this level that the first processor uses; 0: unknown. Containers may hide /sys, then the C library knows
// what the processor itself says.
struct Cache {
  int64_t bytes = 0;
  int sharing = 1;  // processors that have it together
};

int count_processors(const std::string& list) {
  int count = 0, first = 0, last = 0, used = 0;
  for (const char* at = list.c_str(); *at != 0;) {
    const int read = std::sscanf(at, "%d-%d%n", &first, &last, &used);
    if (read < 1) break;
    if (read == 1) last = first, std::sscanf(at, "%d%n", &first, &used);
    count += std::max(1, last - first + 1);
    at += used;
    if (*at == ',') ++at;
  }
  return std::max(count, 1);
}

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

Cache cache_of_level(int level, int name) {
  Cache cache{std::max<int64_t>(0, sysconf(name)), 1};
  for (int i = 0; i < 8; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    if (first_line(folder + "level") != std::to_string(level) ||
        first_line(folder + "type") == "Instruction")
      continue;
    long size = 0;
    char unit = 'K';
    if (std::sscanf(first_line(folder + "size").c_str(), "%ld%c", &size, &unit) >= 1)
      cache.bytes = size << (unit == 'M' ? 20 : 10);
    cache.sharing = count_processors(first_line(folder + "shared_cpu_list"));
  }
  return cache;
}

void take_caches(Machine& m) {
  const Cache l1 = cache_of_level(1, _SC_LEVEL1_DCACHE_SIZE);
  const Cache l2 = cache_of_level(2, _SC_LEVEL2_CACHE_SIZE);
  const Cache l3 = cache_of_level(3, _SC_LEVEL3_CACHE_SIZE);
  const int threads = std::max(1, thread_count());
  if (l1.bytes > 0) m.l1_bytes = static_cast<double>(l1.bytes);
  if (l2.bytes > 0) m.l2_bytes = static_cast<double>(std::max<int64_t>(l2.bytes, 256 << 10));
  if (l3.bytes > 0)  // as many of them as the threads lie in
    m.l3_bytes = static_cast<double>(l3.bytes * ((threads + l3.sharing - 1) / l3.sharing));
  m.l3_bytes = std::max(m.l3_bytes, m.l2_bytes * threads);
}

#if defined(__x86_64__)

struct Processor {
  char vendor[13] = {};
  unsigned family = 0, model = 0;
  std::string brand;
};

Processor this_processor() {
  Processor p;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d)) {
    std::memcpy(p.vendor, &b, 4), std::memcpy(p.vendor + 4, &d, 4),
        std::memcpy(p.vendor + 8, &c, 4);
  }
  if (__get_cpuid(1, &a, &b, &c, &d)) {
    p.family = a >> 8 & 15, p.model = (a >> 4 & 15) | (a >> 12 & 0xf0);
    if (p.family == 15) p.family += a >> 20 & 255;
  }
  char brand[49] = {};
  for (unsigned i = 0; i < 3; ++i)
    if (__get_cpuid(0x80000002 + i, &a, &b, &c, &d)) {
      const unsigned words[] = {a, b, c, d};
      std::memcpy(brand + 16 * i, words, 16);
    }
  p.brand = brand;
  const size_t first = p.brand.find_first_not_of(' '), last = p.brand.find_last_not_of(' ');
  p.brand = first == std::string::npos ? p.vendor : p.brand.substr(first, last - first + 1);
  return p;
}

const char* profile_for(const Processor& p) {
  const bool intel = std::strcmp(p.vendor, "GenuineIntel") == 0 && p.family == 6;
  const bool amd = std::strcmp(p.vendor, "AuthenticAMD") == 0;
  if (intel && (p.model == 0x6a || p.model == 0x6c)) return "ice_lake";
  if (intel && (p.model == 0x8f || p.model == 0xcf)) return "sapphire_rapids";
  const bool zen4_model = (p.model >= 0x10 && p.model <= 0x1f) ||
                          (p.model >= 0x60 && p.model <= 0x7f) ||
                          (p.model >= 0xa0 && p.model <= 0xaf);
  if (amd && p.family == 0x1a) return "zen5";
  return amd && p.family == 0x19 && zen4_model ? "zen4" : "generic";
}

#endif

}  // namespace

std::span<const char* const> profile_names() { return names; }

Machine profile(const std::string& name) {
  Machine m = name == "ice_lake"          ? ice_lake()
              : name == "sapphire_rapids" ? sapphire_rapids()
              : name == "zen4"            ? zen4()
              : name == "zen5"            ? zen5()
                                          : generic();
  m.name = m.kind = m.origin = name;
  return m;
}

Machine profile_of_this_processor() {
#if defined(__x86_64__)
  const Processor p = this_processor();
  Machine m = profile(profile_for(p));
  m.name =
      p.brand + " (family " + std::to_string(p.family) + ", model " + std::to_string(p.model) + ")";
#else
  Machine m = profile("generic");
#endif
  m.origin = "assumed: " + m.origin;
  take_caches(m);
  return m;
}

}  // namespace infini::cpu
