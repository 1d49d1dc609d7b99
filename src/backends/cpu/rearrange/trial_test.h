// What tests of CPU rearrangements run: one problem in guarded memory, by any candidate, policy and level of instructions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/machine/isa.h"
#include "backends/cpu/rearrange/blocks/schedule.h"
#include "backends/cpu/rearrange/buffered/schedule.h"
#include "backends/cpu/rearrange/kernel.h"
#include "backends/cpu/rearrange/nest/schedule.h"
#include "backends/cpu/rearrange/repeated/schedule.h"
#include "backends/cpu/rearrange/runs/schedule.h"
#include "backends/cpu/rearrange/shuffle/kernels.h"
#include "backends/cpu/rearrange/shuffle/schedule.h"
#include "backends/cpu/rearrange/tiles/schedule.h"
#include "base/environment.h"
#include "harness/rearrange/problem.h"
#include "harness/rearrange/random_problems.h"
#include "harness/rearrange/reference.h"
#include "tests/guarded_pages.h"

namespace infini::cpu {

using Make = std::unique_ptr<RearrangeKernel> (*)(const RearrangePlan&, const Policy&);

using Kernels = std::unique_ptr<RearrangeKernel>;

// Of a schedule, where there is one.
template <class Schedule, class MakeKernel>
Kernels made_of(std::optional<Schedule> schedule, MakeKernel make, const RearrangePlan& plan,
                const Policy& policy) {
  return schedule ? make(std::move(*schedule), plan, policy) : nullptr;
}

inline Kernels try_nest(const RearrangePlan& plan, const Policy& policy) {
  return make_nest(make_nest_schedule(plan), plan, policy);
}
inline Kernels try_runs(const RearrangePlan& plan, const Policy& policy) {
  return made_of(make_run_schedule(plan, policy), make_runs, plan, policy);
}
inline Kernels try_tiles(const RearrangePlan& plan, const Policy& policy) {
  return made_of(make_tile_schedule(plan, policy), make_tiles, plan, policy);
}
inline Kernels try_buffered(const RearrangePlan& plan, const Policy& policy) {
  if (is_word(plan.atom_bytes) &&
      panel_kernels(isa(), static_cast<int>(plan.atom_bytes)).buffered == nullptr)
    return nullptr;
  return made_of(make_buffered_schedule(plan, policy), make_buffered, plan, policy);
}
inline Kernels try_blocks(const RearrangePlan& plan, const Policy& policy) {
  return made_of(make_block_schedule(plan), make_blocks, plan, policy);
}
inline Kernels try_shuffle(const RearrangePlan& plan, const Policy& policy) {
  const int width = shuffle_width(isa());
  if (width == 0) return nullptr;
  return made_of(make_shuffle_schedule(plan, policy, width), make_shuffle, plan, policy);
}
inline Kernels try_repeated(const RearrangePlan& plan, const Policy& policy) {
  const auto schedule = make_repeated_schedule(plan);
  if (!schedule) return nullptr;
  const auto part = [&](const RearrangePlan& of) {
    auto runs = try_runs(of, policy);
    return runs ? std::move(runs) : try_nest(of, policy);
  };
  return make_repeated(plan, part(schedule->parts.once), part(schedule->parts.again));
}

struct NamedMake {
  const char* name;
  Make make;
};
inline constexpr NamedMake makes[] = {{"repeated", try_repeated}, {"shuffle", try_shuffle},
                                      {"runs", try_runs},         {"blocks", try_blocks},
                                      {"tiles", try_tiles},       {"nest", try_nest},
                                      {"buffered", try_buffered}};

struct NamedPolicy {
  std::string name;
  Policy policy;
};

inline std::vector<Isa> offered_levels() {
  std::vector<Isa> levels;
  for (const Isa level : {Isa::portable, Isa::neon, Isa::avx2, Isa::avx512})
    if (offers(level)) levels.push_back(level);
  return levels;
}

// Forces a level for as long as it lives.
struct ForcedIsa {
  explicit ForcedIsa(Isa level) {
    setenv("INFINI_CPU_ISA", isa_name(level), 1);
    reread_environment();
  }
  ~ForcedIsa() {
    unsetenv("INFINI_CPU_ISA");
    reread_environment();
  }
};

constexpr int64_t guard = 256;

// Where a tensor lies in its memory: with bytes of others on both sides and its base `at` bytes past a whole line, or with its
// first or last byte next to a page that nobody may touch, so that to read before or behind it is a fault.
enum class Edge { none, begin, end };

struct Memory {
  Memory(const Layout& layout, int64_t at, uint64_t seed, Edge edge)
      : Memory(byte_range(layout), at, seed, edge) {}
  char* data() { return bytes.data() + base; }
  test::GuardedPages bytes;
  int64_t base;

 private:
  Memory(const ByteRange& range, int64_t at, uint64_t seed, Edge edge)
      : bytes(static_cast<size_t>(range.end - range.begin + (edge == Edge::none ? 2 * guard : 0)),
              edge == Edge::begin) {
    harness::Random random(seed);
    for (char* p = bytes.begin(); p < bytes.end(); p += 8) {
      const uint64_t some = random.next();
      std::memcpy(p, &some, std::min<size_t>(8, static_cast<size_t>(bytes.end() - p)));
    }
    base = -range.begin;
    if (edge != Edge::none) return;
    const auto first = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data()) % 64);
    base += guard + (at - first + 128) % 64 - 64;
  }
};

// One problem with its memory and the bytes that must come out of it, guards included.
class Trial {
 public:
  explicit Trial(const harness::RearrangeProblem& problem, Edge src_edge = Edge::end)
      : problem_(problem),
        plan_(make_rearrange_plan(problem.dst, problem.src)),
        src_(problem.src, problem.src_at, 7, src_edge),
        dst_(problem.dst, problem.dst_at, 9, Edge::none),
        src_before_(src_.bytes.begin(), src_.bytes.end()),
        dst_before_(dst_.bytes.begin(), dst_.bytes.end()) {
    harness::naive_rearrange(dst_.data(), problem.dst, src_.data(), problem.src);
    expected_.assign(dst_.bytes.begin(), dst_.bytes.end());
  }

  // Calls meet(kernel) before it is run, if there is one.
  template <class Meet>
  void expect_same(const NamedMake& make, const NamedPolicy& policy, Isa level, Meet meet) {
    const ForcedIsa forced(level);
    if (plan_.atom_bytes == 0) return;
    const auto kernel = make.make(plan_, policy.policy);
    if (kernel == nullptr) return;
    meet(static_cast<const Kernel&>(*kernel));
    std::memcpy(dst_.bytes.data(), dst_before_.data(), dst_before_.size());
    kernel->run(dst_.data(), src_.data(), nullptr);
    ASSERT_TRUE(dst_.bytes.equals(expected_) && src_.bytes.equals(src_before_))
        << harness::to_text(problem_) << "\n"
        << make.name << ", " << policy.name << ", " << isa_name(level) << "\n"
        << kernel->schedule();
  }
  void expect_same(const NamedMake& make, const NamedPolicy& policy, Isa level) {
    expect_same(make, policy, level, [](const Kernel&) {});
  }

  const RearrangePlan& plan() const { return plan_; }
  char* dst() { return dst_.data(); }
  char* src() { return src_.data(); }

 private:
  harness::RearrangeProblem problem_;
  RearrangePlan plan_;
  Memory src_, dst_;
  std::vector<char> src_before_, dst_before_, expected_;
};

}  // namespace infini::cpu
