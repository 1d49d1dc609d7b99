// Settings: the library asks for its variables whenever it makes a kernel, and here it is us whom it asks.
#include "tests/fuzz/setting.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/environment.h"
#include "infinicore.h"

namespace infini::fuzz {
namespace {

Setting& current() {
  static Setting setting;
  return setting;
}

const char* value(const char* name) {
  if (std::strcmp(name, current().variable) == 0) return current().candidate;
  return std::strcmp(name, "INFINI_CPU_ISA") == 0 ? current().isa : nullptr;
}

std::string text_of(const cpu::Policy& p) {
  const auto part = [](const char* name, int64_t number) {
    return std::string(" ") + name + " " + std::to_string(number);
  };
  return " [policy:" + part("bytes_per_thread", p.bytes_per_thread) +
         part("streamed_bytes", p.streamed_bytes) + part("strip", p.strip) +
         part("chunk", p.chunk) + part("memory_bytes", p.memory_bytes) + part("pairs", p.pairs) +
         part("piece_bytes", p.piece_bytes) + "]";
}

}  // namespace

cpu::Policy choose_policy(Input& in, int threads) {
  static constexpr int64_t sizes[] = {0, 1, 64, 300, 1024, 4096, 20000, INT64_MAX / 64};
  static constexpr int64_t lengths[] = {64, 128, 256, 1024};
  const int from = in.byte(), shape = in.byte(), more = in.byte();
  cpu::Policy policy;
  policy.threads = threads;
  policy.bytes_per_thread = sizes[1 + more / 64];
  policy.streamed_bytes = sizes[from % 8];
  policy.memory_bytes = sizes[from / 8 % 8];
  policy.pairs = from / 64 % 2 != 0;
  policy.strip = lengths[shape % 4];
  policy.chunk = lengths[shape / 4 % 4];
  policy.piece_bytes = sizes[2 + more / 8 % 6];
  return policy;
}

std::string Setting::text() const {
  std::string text = "INFINI_NUM_THREADS=" + std::to_string(threads);
  if (isa != nullptr) text += std::string(" INFINI_CPU_ISA=") + isa;
  if (candidate != nullptr) text += std::string(" ") + variable + "=" + candidate;
  return text + (policy ? text_of(*policy) : "");
}

void Setting::apply() const {
  static const bool ours =
      (adopt_environment({value, [](const char*, const std::string&) {}}), true);
  static std::optional<cpu::ForcedPolicy> forced;
  static_cast<void>(ours);
  current() = *this;
  forced.reset();
  if (policy) forced.emplace(*policy);
  infiniSetNumThreads(threads);
}

void finding(const std::string& problem, const std::string& what) {
  std::fprintf(stderr, "FINDING: %s\n  in %s\n", what.c_str(), problem.c_str());
  std::abort();
}

bool announces() {
  static const bool wanted = std::getenv("INFINI_FUZZ_PRINT") != nullptr;
  return wanted;
}

void announce(const std::string& problem) { std::fprintf(stderr, "%s\n", problem.c_str()); }

}  // namespace infini::fuzz
