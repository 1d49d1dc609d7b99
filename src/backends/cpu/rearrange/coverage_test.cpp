// Every kernel at every alignment of base, columns and batches, by thresholds on both sides of every problem's size: drawn at
// random, compared with the reference, counted, and complete, or the test fails.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <sstream>

#include "backends/cpu/rearrange/trial_test.h"
#include "base/threads/thread_count.h"
#include "harness/rearrange/check.h"
#include "harness/rearrange/padded_problems.h"

namespace infini::cpu {
namespace {

using harness::Structure;

// How an address or a step lies to the words that are moved: at single bytes, at units of 4 bytes of larger words, at whole words,
// at whole lines. No step: there is no such loop.
enum Lie { at_bytes, at_units, at_words, at_lines, no_step };

Lie lie_of(int64_t bytes, int64_t word) {
  if (bytes % line_bytes == 0) return at_lines;
  if (!is_word(word)) return at_bytes;
  if (bytes % word == 0) return at_words;
  return word > 4 && bytes % 4 == 0 ? at_units : at_bytes;
}

// The alignments in this lie, as bytes.
std::vector<int64_t> alignments_in(Lie lie, int64_t word) {
  std::vector<int64_t> found;
  for (int64_t bytes = 1; bytes <= line_bytes; bytes *= 2)
    if (lie_of(bytes, word) == lie) found.push_back(bytes);
  return found;
}

// Of dst: its base; its columns, which are nearest to each other in src outside of dst's innermost loop; all other loops outside
// of its runs.
using Place = std::array<Lie, 3>;

std::string to_string(const Place& place) {
  static constexpr const char* names[] = {"byte", "unit", "word", "line", "-"};
  return std::string(names[place[0]]) + "/" + names[place[1]] + "/" + names[place[2]];
}

Place place_of(const RearrangePlan& plan, const char* dst) {
  const int64_t word = plan.atom_bytes;
  const auto far = [](const Loop& loop) {
    return loop.src_step == 0 ? INT64_MAX : std::abs(loop.src_step);
  };
  const Loop *const end = plan.loops + plan.depth, *inner = end;
  if (plan.depth > 0 && end[-1].dst_step == word) --inner;
  const Loop* const columns = std::min_element(
      plan.loops, inner, [&](const Loop& a, const Loop& b) { return far(a) < far(b); });
  int64_t run = inner == end ? word : word * inner->extent, others = 0;
  for (const Loop* loop = inner; loop-- > plan.loops;) {
    if (loop == columns) continue;
    if (loop->dst_step == run)
      run *= loop->extent;
    else
      others = std::gcd(others, loop->dst_step);
  }
  const auto base = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst)) + plan.dst_offset;
  return {lie_of(base, word), columns == inner ? no_step : lie_of(columns->dst_step, word),
          others == 0 ? no_step : lie_of(others, word)};
}

// Kernels that must be met, in problems of this structure, for each of the words (12: atoms that are none).
struct Wanted {
  // Of all three lies; units: and not lines everywhere; steps: lines, only the base is none.
  enum Needs { anything, lines, units, steps };
  // What is told apart. What spreads or weaves has columns of its own, what joins has none.
  enum Told { all, not_outer, not_columns, base };
  std::vector<Isa> levels;
  const char *candidate, *way;
  Structure structure;
  std::vector<int64_t> words;
  Needs needs = anything;
  Told told = all;
  int64_t least_side = 2;

  bool tells_columns() const { return told == all || told == not_outer; }
  bool tells_outer() const { return told == all || told == not_columns; }
  Place counted(const Place& place) const {
    return {place[0], tells_columns() ? place[1] : no_step, tells_outer() ? place[2] : no_step};
  }
  bool wants(const Place& place, int64_t word) const {
    if (place != counted(place) || (tells_columns() && place[1] == no_step)) return false;
    const Lie outer = place[2] == no_step ? at_lines : place[2],
              worst = std::min(place[1], outer);  // of the steps
    if (needs == lines) return std::min(place[0], worst) == at_lines;
    if (needs == steps) return place[0] == at_words && worst == at_lines;
    const Lie least = needs == anything ? at_bytes : word > 4 ? at_units : at_words;
    const Lie whole = std::min(place[0], worst);
    return whole >= least && (needs == anything || whole != at_lines);
  }
};

const std::vector<Isa> all_levels{Isa::portable, Isa::neon, Isa::avx2, Isa::avx512},
    vectors{Isa::neon, Isa::avx2, Isa::avx512}, x86{Isa::avx2, Isa::avx512}, widest{Isa::avx512};
const std::vector<int64_t> words{1, 2, 4, 8, 16}, bytes{1}, woven_words{1, 2, 4}, short_words{2, 4},
    long_words{8, 16}, atoms{12};
using W = Wanted;

const Wanted all_wanted[] = {
    {all_levels, "tiles", "small", Structure::transpose, words},
    {all_levels, "tiles", "cached", Structure::transpose, words},
    {x86, "tiles", "uniform", Structure::transpose, words, W::anything, W::all, 64},
    {all_levels, "tiles", "streamed", Structure::transpose, words, W::lines},
    {x86, "tiles", "paired", Structure::transpose, words, W::lines, W::all, 128},
    {x86, "tiles", "skewed", Structure::transpose, words, W::units},
    // Of bytes only where the steps allow pairs of lines and the base is what does not.
    {x86, "tiles", "skewed in pairs", Structure::transpose, bytes, W::steps, W::all, 128},
    {x86, "tiles", "skewed in pairs", Structure::transpose, short_words, W::units, W::all, 256},
    {x86, "tiles", "skewed in pairs", Structure::transpose, long_words, W::units, W::all, 64},
    {x86, "buffered", "cached", Structure::transpose, words},
    {x86, "buffered", "streamed", Structure::transpose, words, W::lines},
    {all_levels, "blocks", "words", Structure::transpose, words},
    {all_levels, "blocks", "atoms", Structure::transpose, atoms},
    {all_levels, "nest", "plain", Structure::transpose, words},
    {all_levels, "nest", "plain", Structure::transpose, atoms},
    {all_levels, "runs", "copy cached", Structure::copy, atoms},
    {all_levels, "runs", "copy streamed", Structure::copy, atoms},
    {all_levels, "runs", "copy joined", Structure::copy, atoms, W::anything, W::base},
    {all_levels, "runs", "fill cached", Structure::fill, words},
    {all_levels, "runs", "fill streamed", Structure::fill, words},
    {all_levels, "runs", "fill joined", Structure::fill, words, W::anything, W::base},
    {all_levels, "runs", "flip cached", Structure::flip, words},
    {all_levels, "runs", "flip streamed", Structure::flip, words},
    {all_levels, "runs", "flip joined", Structure::flip, words, W::anything, W::base},
    {all_levels, "runs", "step cached", Structure::step, words},
    {all_levels, "runs", "step streamed", Structure::step, words},
    {all_levels, "runs", "step joined", Structure::unweave, words, W::anything, W::base},
    {all_levels, "runs", "spread cached", Structure::spread, words, W::anything, W::not_columns},
    {all_levels, "runs", "spread streamed", Structure::spread, words, W::anything, W::not_columns},
    {all_levels, "runs", "weave cached", Structure::weave, woven_words, W::anything,
     W::not_columns},
    {all_levels, "runs", "weave streamed", Structure::weave, woven_words, W::anything,
     W::not_columns},
    {all_levels, "runs", "weave joined", Structure::weave, woven_words, W::anything, W::base},
    {vectors, "shuffle", "cached", Structure::block, words, W::anything, W::not_outer},
    {vectors, "shuffle", "streamed", Structure::block, words, W::anything, W::not_outer},
    {vectors, "shuffle", "cached", Structure::block, atoms},
    {vectors, "shuffle", "streamed", Structure::block, atoms},
    {widest, "shuffle", "gapped", Structure::block, words, W::anything, W::not_outer},
    {widest, "shuffle", "gapped", Structure::block, atoms},
    {widest, "shuffle", "side by side", Structure::transpose, atoms, W::anything, W::all, 64},
    {all_levels, "repeated", "", Structure::repeat, words, W::anything, W::base},
};

// Where output goes, if what is looked for needs the one or the other.
enum class Output { any, cached, streamed };

// Thresholds on both sides of the problem's own sizes.
NamedPolicy random_policy(harness::Random& random, int64_t bytes, Output output) {
  const auto around = [&](int64_t value) {
    const int64_t kind = random.between(0, 2);
    if (kind == 0) return int64_t{1};
    return kind == 1 ? std::max<int64_t>(1, value + random.between(-1, 1)) : int64_t{1} << 30;
  };
  Policy policy;
  policy.threads = random.one_in(40) ? 3 : 1;  // which spin, on busy machines for long
  policy.bytes_per_thread = around(bytes / 2);
  policy.streamed_bytes = output == Output::streamed ? 0
                          : output == Output::cached ? 1 << 30
                                                     : around(bytes);
  policy.strip = int64_t{64} << random.between(0, 4);
  policy.chunk = int64_t{128} << random.between(0, 3);
  policy.memory_bytes = around(bytes / 4);
  policy.pairs = random.one_in(2);
  policy.piece_bytes = int64_t{1} << random.between(9, 18);
  policy.tile_streamed_bytes = random.one_in(2) ? 0 : policy.streamed_bytes;
  policy.copy_places = random.one_in(2) ? 1 : 4;
  policy.copy_ahead = 1024;
  policy.followed_rows = random.one_in(3) ? 64 : 16;
  policy.prefetched_strip = random.one_in(2) ? 1 << 20 : 2048;
  policy.buffer_bytes = max_buffer >> random.between(0, 5);
  policy.near_bytes = random.one_in(2) ? 1 : 1 << 20;
  std::ostringstream name;
  name << policy.threads << " threads, " << policy.bytes_per_thread << " each, streamed from "
       << policy.streamed_bytes << ", strip " << policy.strip << ", chunk " << policy.chunk
       << ", memory " << policy.memory_bytes << (policy.pairs ? ", pairs" : "") << ", piece "
       << policy.piece_bytes << ", tiles " << policy.tile_streamed_bytes << ", places "
       << policy.copy_places << ", followed " << policy.followed_rows << ", prefetched "
       << policy.prefetched_strip << ", buffer " << policy.buffer_bytes << ", near "
       << policy.near_bytes;
  return {name.str(), policy};
}

// How often each kernel was met at each place.
class Met {
 public:
  void add(Isa level, const Kernel& kernel, const RearrangePlan& plan, const char* dst) {
    const Place place = place_of(plan, dst);
    const int64_t word = is_word(plan.atom_bytes) ? plan.atom_bytes : atoms[0];
    for (const Wanted& wanted : all_wanted) {
      const bool same = std::string_view(wanted.candidate) == kernel.candidate() &&
                        (*wanted.way == 0 || kernel.way(dst) == wanted.way);
      if (same) ++counts_[{&wanted, level, word}][wanted.counted(place)];
    }
  }
  int count(const Wanted& wanted, Isa level, int64_t word, const Place& place) const {
    const auto of_kernel = counts_.find({&wanted, level, word});
    if (of_kernel == counts_.end()) return 0;
    const auto found = of_kernel->second.find(place);
    return found == of_kernel->second.end() ? 0 : found->second;
  }

 private:
  std::map<std::tuple<const Wanted*, Isa, int64_t>, std::map<Place, int>> counts_;
};

// Calls body(place) for all places that a kernel is wanted at.
template <class Body>
void for_places(const Wanted& wanted, int64_t word, Body body) {
  for (const Lie base : {at_bytes, at_units, at_words, at_lines})
    for (const Lie columns : {at_bytes, at_units, at_words, at_lines, no_step})
      for (const Lie outer : {at_bytes, at_units, at_words, at_lines, no_step}) {
        const Place place{base, columns, outer};
        const bool possible = std::all_of(place.begin(), place.end(), [&](Lie lie) {
          return lie == no_step || !alignments_in(lie, word).empty();
        });
        if (possible && wanted.wants(place, word)) body(place);
      }
}

class CpuRearrangeCoverage : public testing::Test {
 protected:
  void SetUp() override { set_thread_count(3); }
  void TearDown() override { set_thread_count(0); }

  void run(const harness::RearrangeProblem& problem, Output output) {
    Trial trial(problem, static_cast<Edge>(random_.between(0, 2)));
    const NamedPolicy policy = random_policy(random_, moved_bytes(trial.plan()), output);
    for (const Isa level : offered_levels())
      for (const auto& make : makes)
        ASSERT_NO_FATAL_FAILURE(trial.expect_same(make, policy, level, [&](const Kernel& kernel) {
          met_.add(level, kernel, trial.plan(), trial.dst());
        }));
  }
  harness::PaddedShape shape_of(const Wanted& wanted, int64_t word, const Place& place) {
    const auto any = [&](Lie lie) -> int64_t {
      if (lie == no_step) return 0;
      const auto all = alignments_in(lie, word);
      return all[static_cast<size_t>(random_.between(0, static_cast<int64_t>(all.size()) - 1))];
    };
    const int64_t bytes = int64_t{1} << random_.between(9, 17);
    const bool alone = wanted.tells_outer() && place[2] == no_step;
    static constexpr int64_t some_atoms[] = {12, 20, 24, 32, 48};
    return {bytes,
            wanted.structure,
            is_word(word) ? word : some_atoms[random_.between(0, 4)],
            any(place[0]),
            any(place[1]),
            alone ? -1 : any(place[2]),
            wanted.least_side};
  }
  bool is_met(const Wanted& wanted, int64_t word, const Place& place) const {
    for (const Isa level : wanted.levels)
      if (offers(level) && met_.count(wanted, level, word, place) == 0) return false;
    return true;
  }
  // Draws for every place that has not been met; false: there is none.
  bool draw_missing() {
    bool any = false;
    for (const Wanted& wanted : all_wanted)
      for (const int64_t word : wanted.words)
        for_places(wanted, word, [&](const Place& place) {
          if (HasFatalFailure() || is_met(wanted, word, place)) return;
          any = true;
          const std::string_view way = wanted.way;
          const bool cached = way.ends_with("cached") || way == "small" || way == "uniform";
          run(harness::random_padded_problem(random_, shape_of(wanted, word, place)),
              random_.one_in(3) ? Output::any
              : cached          ? Output::cached
                                : Output::streamed);
        });
    return any;
  }
  // The counts for people, and what is missing.
  std::string report() const {
    std::ostringstream missing;
    for (const Wanted& wanted : all_wanted)
      for (const int64_t word : wanted.words)
        for (const Isa level : wanted.levels) {
          if (!offers(level)) continue;
          std::ostringstream name;
          name << isa_name(level) << " " << wanted.candidate << " " << wanted.way << " " << word;
          std::printf("%-32s", name.str().c_str());
          for_places(wanted, word, [&](const Place& place) {
            const int count = met_.count(wanted, level, word, place);
            std::printf(" %s %d", to_string(place).c_str(), count);
            if (count == 0) missing << name.str() << " at " << to_string(place) << "\n";
          });
          std::printf("\n");
        }
    return missing.str();
  }

  // Other problems with --gtest_shuffle --gtest_repeat=N, each time. (Without, gtest's own seed is the time.)
  harness::Random random_{
      20250101 + static_cast<uint64_t>(testing::GTEST_FLAG(shuffle)
                                           ? testing::UnitTest::GetInstance()->random_seed()
                                           : testing::GTEST_FLAG(random_seed))};
  Met met_;
};

TEST_F(CpuRearrangeCoverage, EveryKernelAtEveryAlignment) {
  constexpr int most_rounds = 4000, undirected = 1000;  // a late round draws for few places
  for (int i = 0; i < undirected; ++i)
    ASSERT_NO_FATAL_FAILURE(
        run(harness::random_mixed_problem(random_, 1 << 8, 1 << 17), Output::any));
  for (int round = 0; round < most_rounds && draw_missing(); ++round) ASSERT_FALSE(HasFailure());
  EXPECT_EQ("", report()) << "were never drawn";
}

// The same problems by each candidate that takes them, and through the C API by the one that is chosen. INFINI_TEST_RANDOM asks for
// another number of them.
TEST_F(CpuRearrangeCoverage, AnyProblemByAnyThresholds) {
  const char* wanted = std::getenv("INFINI_TEST_RANDOM");
  const int count = wanted ? std::atoi(wanted) : 1500;
  ASSERT_GT(count, 0);
  for (int i = 0; i < count; ++i) {
    const auto problem = random_.one_in(4) ? harness::random_deep_problem(random_)
                                           : harness::random_mixed_problem(random_, 16, 1 << 16);
    ASSERT_NO_FATAL_FAILURE(run(problem, Output::any));
    const RearrangePlan plan = make_rearrange_plan(problem.dst, problem.src);
    const NamedPolicy policy = random_policy(random_, moved_bytes(plan), Output::any);
    const ForcedPolicy forced(policy.policy);
    const auto verdict = harness::check(problem, static_cast<uint64_t>(i));
    ASSERT_TRUE(verdict.passed) << verdict.message << "\n" << policy.name;
  }
}

}  // namespace
}  // namespace infini::cpu
