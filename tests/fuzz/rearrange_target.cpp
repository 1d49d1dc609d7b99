// Rearrangements through the C API: any layouts, any place in memory, every candidate; compared with the naive reference
// byte for byte. dst and src end at pages that nobody may touch.
#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "harness/rearrange/problem.h"
#include "harness/rearrange/reference.h"
#include "tests/fuzz/arena.h"
#include "tests/fuzz/layouts.h"
#include "tests/fuzz/objects.h"
#include "tests/fuzz/setting.h"

namespace infini::fuzz {
namespace {

using harness::RearrangeProblem;

constexpr const char* variable = "INFINI_CPU_REARRANGE";
constexpr const char* candidates[] = {nullptr,  "repeated", "shuffle", "runs",
                                      "blocks", "tiles",    "nest"};
constexpr int64_t arena_bytes = 1 << 20;

struct Arenas {
  Arena dst{arena_bytes}, src{arena_bytes};
};
Arenas& arenas(size_t index) {
  static std::deque<Arenas> all;
  while (all.size() <= index) all.emplace_back();
  return all[index];
}

// A copy, where it stands, and what it must leave.
struct Copy {
  RearrangeProblem problem;
  bool nested = true;  // no two elements of dst can share a byte
  Arena *to = nullptr, *from = nullptr;
  char* dst = nullptr;
  const char* src = nullptr;
  std::vector<char> expected;

  std::string text() const {
    RearrangeProblem placed = problem;
    placed.dst_at = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst) % 64);
    placed.src_at = static_cast<int64_t>(reinterpret_cast<uintptr_t>(src) % 64);
    return "\"" + to_text(placed) + "\"";
  }
};

RearrangeProblem choose_problem(Input& in, bool& nested) {
  const auto dtype = static_cast<infiniDtype_t>(1 + in.below(dtype_count - 1));
  const Extents shape = choose_extents(in, in.one_in(16) ? 1 << 15 : 1500);
  const int64_t bytes = dtype_bytes(dtype);
  nested = !in.one_in(8);
  const Strides dst = nested ? choose_nested_strides(in, shape, bytes, false)
                             : choose_any_strides(in, shape.size());
  const Strides src = in.one_in(8) ? choose_any_strides(in, shape.size())
                                   : choose_nested_strides(in, shape, bytes, true);
  return {make_layout(dtype, shape.size(), shape.data(), dst.data()),
          make_layout(dtype, shape.size(), shape.data(), src.data())};
}

bool fits(const ByteRange& range) { return range.end - range.begin < arena_bytes - 512; }

// dst and src in memory of their own. False where that is too little.
bool lay_apart(Input& in, Copy& copy, size_t index) {
  const ByteRange to = byte_range(copy.problem.dst), from = byte_range(copy.problem.src);
  if (!fits(to) || !fits(from)) return false;
  copy.to = &arenas(index).dst;
  copy.from = &arenas(index).src;
  copy.dst = copy.to->put(to, choose_place(in, 1), 17 * index);
  copy.src = copy.from->put(from, choose_place(in, 1), 17 * index + 9);
  copy.expected.assign(copy.to->first(), copy.to->first() + copy.to->size());
  harness::naive_rearrange(copy.expected.data() - to.begin, copy.problem.dst, copy.src,
                           copy.problem.src);
  return true;
}

// Both in the same memory, src so many bytes behind dst: as if src had been read before.
bool lay_together(Input& in, Copy& copy) {
  const ByteRange to = byte_range(copy.problem.dst), from = byte_range(copy.problem.src);
  const int64_t shift = in.one_in(4) ? in.number(2) : in.number(1);
  if (!fits(to) || !fits(from)) return false;
  const ByteRange both{std::min(to.begin, from.begin + shift), std::max(to.end, from.end + shift)};
  if (!fits(both)) return false;
  copy.to = &arenas(0).dst;
  copy.dst = copy.to->put(both, choose_place(in, 1), 5);
  copy.src = copy.dst + shift;
  const std::vector<char> before(copy.to->first(), copy.to->first() + copy.to->size());
  copy.expected = before;
  harness::naive_rearrange(copy.expected.data() - both.begin, copy.problem.dst,
                           before.data() - both.begin + shift, copy.problem.src);
  return true;
}

void require_result(const Copy& copy, const std::string& who) {
  copy.to->open();
  const int64_t at = copy.to->difference(copy.expected.data());
  if (at != Arena::none)
    finding(who + copy.text(), "dst differs " + std::to_string(copy.to->first() + at - copy.dst) +
                                   " bytes from its base");
  if (copy.from == nullptr) return;
  copy.from->open();
  if (copy.from->difference(nullptr) != Arena::none) finding(who + copy.text(), "src was changed");
}

void require_untouched(const Copy& copy, const std::string& who) {
  copy.to->open();
  if (copy.to->difference(nullptr) != Arena::none)
    finding(who + copy.text(), "dst was written while the stream records");
}

// What creating must answer; true where there is something to run.
bool judge_creation(infiniStatus_t status, const Copy& copy, const std::string& who) {
  if (status == INFINI_STATUS_SUCCESS) {
    if (!copy.nested && has_collisions(copy.problem.dst))
      finding(who + copy.text(), "a dst that overlaps itself was accepted");
    return true;
  }
  const std::string why = infiniGetLastErrorString();
  const bool gave_up = why.find("not decided") != std::string::npos;
  if (status != INFINI_STATUS_BAD_TENSOR_STRIDES || copy.nested ||
      !(gave_up || has_collisions(copy.problem.dst)))
    finding(who + copy.text(), std::string("refused: ") + infiniStatusString(status) + ": " + why);
  return false;
}

void run_one(Input& in, How how, bool together, const std::string& who) {
  Copy copy;
  copy.problem = choose_problem(in, copy.nested);
  if (!(together ? lay_together(in, copy) : lay_apart(in, copy, 0))) return;
  if (announces()) announce(who + copy.text() + (together ? " in the same memory" : ""));
  TensorDescriptor dst, src;
  RearrangeDescriptor desc;
  expect_success(create(dst, copy.problem.dst), "infiniopCreateTensorDescriptor");
  expect_success(create(src, copy.problem.src), "infiniopCreateTensorDescriptor");
  if (!judge_creation(infiniopCreateRearrangeDescriptor(cpu_handle(), desc.out(), dst, src), copy,
                      who))
    return;
  Queue queue(together && how == How::recorded ? How::at_once : how);  // twice would move it twice
  expect_success(infiniopRearrange(desc, copy.dst, copy.src, queue.stream()), "infiniopRearrange");
  if (queue.records()) require_untouched(copy, who);
  queue.finish();
  require_result(copy, who);
}

void run_batch(Input& in, How how, const std::string& who) {
  const size_t count = 1 + static_cast<size_t>(in.below(4));
  const bool one_layout = in.one_in(3);
  std::vector<Copy> copies(count);
  std::deque<TensorDescriptor> descs;
  std::vector<infiniopTensorDescriptor_t> dst, src;
  std::vector<void*> to;
  std::vector<const void*> from;
  for (size_t i = 0; i < count; ++i) {
    copies[i].problem =
        i > 0 && one_layout ? copies[0].problem : choose_problem(in, copies[i].nested);
    if (!copies[i].nested || !lay_apart(in, copies[i], i)) return;
    if (announces()) announce(who + "batch " + copies[i].text());
    to.push_back(copies[i].dst);
    from.push_back(copies[i].src);
    if (i > 0 && one_layout) continue;
    expect_success(create(descs.emplace_back(), copies[i].problem.dst), "create dst");
    dst.push_back(descs.back());
    expect_success(create(descs.emplace_back(), copies[i].problem.src), "create src");
    src.push_back(descs.back());
  }
  RearrangeBatchDescriptor desc;
  expect_success(infiniopCreateRearrangeBatchDescriptor(cpu_handle(), desc.out(), dst.size(),
                                                        dst.data(), src.data()),
                 "infiniopCreateRearrangeBatchDescriptor");
  Queue queue(how);
  expect_success(infiniopRearrangeBatch(desc, count, to.data(), from.data(), queue.stream()),
                 "infiniopRearrangeBatch");
  if (queue.records()) require_untouched(copies[0], who);
  queue.finish();
  for (const Copy& copy : copies) require_result(copy, who + "batch ");
}

}  // namespace
}  // namespace infini::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace infini::fuzz;
  Input in(data, size);
  Setting setting = choose_setting(in, variable, candidates);
  if (in.one_in(2)) setting.policy = choose_policy(in, setting.threads);
  setting.apply();
  const int mode = in.byte();
  const How how = mode % 16 == 15   ? How::recorded
                  : mode % 16 == 14 ? How::on_a_stream
                                    : How::at_once;
  const std::string who = setting.text() + " infini check ";
  if (mode / 16 >= 14)
    run_batch(in, how, who);
  else
    run_one(in, how, mode / 16 == 13, who);
  return 0;
}
