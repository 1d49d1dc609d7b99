// Gemm measurements: ours and the peers in turns, and how near both limits that is.
#include "bench/products/gemm_bench.h"

#include <algorithm>
#include <cstdio>

#include "base/device_kind.h"
#include "base/dtype.h"
#include "base/error.h"
#include "bench/measure.h"
#include "bench/peers/gemm_peer.h"
#include "harness/gemm/gemm_check.h"
#include "harness/gemm/gemm_reference.h"
#include "harness/json.h"
#include "ops/gemm.h"
#include "runtime/current_device.h"

namespace infini::bench {
namespace {

constexpr double threads_calm_down =
    0.03;  // seconds after which a library's threads no longer spin
constexpr double threads_wake_up =
    0.008;  // and after which ours are all at work again, at full speed
constexpr int64_t beyond_caches = int64_t{256} << 20;  // operands are rotated through this much
constexpr int64_t in_caches = 1 << 20;                 // of these bytes memory is not the limit

// Copies of an operand one after another, so that a weight matrix comes from memory, as in use.
class Rotation {
 public:
  Rotation(Device& device, const Layout& layout, int64_t copies)
      : bytes_((byte_range(layout).end - byte_range(layout).begin + 319) / 64 * 64),
        begin_(byte_range(layout).begin),
        copies_(copies),
        memory_(device, static_cast<size_t>(bytes_ * copies)) {}
  char* next() {
    if (++at_ >= copies_) at_ = 0;
    return memory_.get() + at_ * bytes_ - begin_ / 64 * 64 + (begin_ ? 64 : 0);
  }
  int64_t bytes() const { return bytes_; }

  // Numbers like those of real tensors: zeros and repeated bytes can be faster.
  void fill(Device& device, infiniDtype_t dtype) {
    std::vector<char> host(static_cast<size_t>(bytes_));
    harness::Random random(1);
    const int64_t size = dtype_bytes(dtype);
    for (int64_t i = 0; i + size <= bytes_; i += size)
      harness::write_element(dtype, host.data() + i,
                             static_cast<double>(random.between(-1000, 1000)) * 1e-3);
    for (int64_t i = 0; i < copies_; ++i)
      device.copy(memory_.get() + i * bytes_, host.data(), host.size(), INFINIRT_MEMCPY_H2D);
  }

 private:
  int64_t bytes_, begin_, copies_, at_ = 0;
  Memory memory_;
};

std::string verify(const harness::GemmProblem& problem) {
  return harness::check(problem, harness::GemmValues::random).message;
}

void print_header(const GemmLimits& limits, infiniDtype_t dtype, size_t label_width) {
  std::printf("\n%s: at most %.4g GFLOP/s and %.4g GB/s here\n", dtype_name(dtype),
              limits.flops_per_second * 1e-9, limits.bytes_per_second * 1e-9);
  std::printf("%-*s %-20s %8s %4s  %-10s %8s %5s  %s\n", static_cast<int>(label_width), "", "case",
              "GFLOP/s", "", "of limit", "peer", "ratio", "candidate");
}

void print_row(const GemmRow& row, const std::string& label) {
  std::printf("%s %s %8.1f %5s  %4.2f %-5s ", label.c_str(),
              in_column(row.name, label.size(), 20).c_str(), row.flops / row.seconds * 1e-9,
              spread_text(row.spread).c_str(), row.limit_seconds / row.seconds,
              row.byte_bound ? "bytes" : "flops");
  if (const PeerTime* best = row.best_peer())
    std::printf("%8.1f %5.2f  ", row.flops / best->seconds * 1e-9, best->ratio);
  else
    std::printf("%8s %5s  ", "-", "-");
  std::printf("%s%s\n", row.candidate.c_str(), row.verified ? "" : "  WRONG RESULT");
  if (!row.peers.empty()) std::printf("%*s peers:", static_cast<int>(label.size()), "");
  for (const PeerTime& peer : row.peers)
    std::printf(" %s %.1f", peer.name.c_str(), row.flops / peer.seconds * 1e-9);
  if (!row.peers.empty()) std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

const GemmLimits& GemmBench::limits_for(infiniDtype_t dtype, size_t label_width) {
  const auto [place, fresh] = limits_.try_emplace(dtype);
  if (fresh) {
    place->second = measure_gemm_limits(current_device(), dtype);
    print_header(place->second, dtype, label_width);
  }
  return place->second;
}

void GemmBench::measure(const std::string& name, const std::string& text, const std::string& label,
                        const std::function<void()>& before_printing) {
  const auto problem = harness::parse_gemm(text);
  Device& device = current_device();
  const Gemm op(device, problem.c, problem.a, problem.b);
  require(op.kernel() != nullptr, INFINI_STATUS_BAD_PARAM, name, ": nothing to measure");
  if (!limits_.contains(problem.a.dtype)) before_printing();
  const GemmLimits& limits = limits_for(problem.a.dtype, label.size());
  GemmRow row{.name = name,
              .problem = text,
              .device = device_kind_name(device.kind()),
              .candidate = op.kernel()->candidate(),
              .flops = harness::flops(problem),
              .bytes = harness::compulsory_bytes(problem)};
  if (options_.verify) {
    const std::string wrong = verify(problem);
    row.verified = wrong.empty();
    if (!wrong.empty()) std::printf("%s\n", wrong.c_str());
  }
  // A large b that is used once per call is a weight: it must come from memory.
  const auto b_bytes = byte_range(problem.b).end - byte_range(problem.b).begin;
  const bool rotates =
      row.bytes / limits.bytes_per_second > 0.3 * row.flops / limits.flops_per_second &&
      b_bytes > in_caches;
  const int64_t copies = rotates ? std::max<int64_t>(1, beyond_caches / b_bytes) : 1;
  Rotation a(device, problem.a, 1), b(device, problem.b, copies), c(device, problem.c, 1);
  a.fill(device, problem.a.dtype);
  b.fill(device, problem.b.dtype);
  c.fill(device, problem.c.dtype);
  const size_t bytes = op.workspace_bytes();
  const Memory workspace(device, bytes + 1);
  std::vector<Side> sides;
  sides.push_back({[&] {
    op.run(workspace.get(), bytes, c.next(), a.next(), b.next(), problem.alpha, problem.beta,
           nullptr);
  }});
  std::vector<std::unique_ptr<GemmPeer>> peers;
  if (device.kind() == INFINI_DEVICE_CPU) peers = gemm_peers(problem);
  for (const auto& peer : peers)
    sides.push_back({[&] { peer->run(c.next(), a.next(), b.next()); }});
  if (peers.empty())
    bench::measure(device, sides, options_.seconds);
  else
    bench::measure(device, sides, options_.seconds, threads_wake_up, threads_calm_down);
  row.seconds = sides[0].median();
  row.spread = spread_of(sides[0].samples);
  for (size_t i = 0; i < peers.size(); ++i) {
    const Side& side = sides[i + 1];
    row.peers.push_back({peers[i]->name(), side.median(), times_as_long(side, sides[0])});
  }
  const double arithmetic = row.flops / limits.flops_per_second,
               memory = row.bytes / limits.bytes_per_second;
  row.byte_bound =
      memory > arithmetic && rotates;  // what stays in the caches is not bound by memory
  row.limit_seconds = row.byte_bound ? memory : arithmetic;
  row.peak_flops_per_second = limits.flops_per_second;
  row.peak_bytes_per_second = limits.bytes_per_second;
  before_printing();
  print_row(row, label);
  rows_.push_back(std::move(row));
}

const PeerTime* GemmRow::best_peer() const {
  const auto faster = [](const PeerTime& x, const PeerTime& y) { return x.ratio < y.ratio; };
  return peers.empty() ? nullptr : &*std::min_element(peers.begin(), peers.end(), faster);
}

bool GemmBench::all_verified() const {
  return std::all_of(rows_.begin(), rows_.end(), [](const GemmRow& row) { return row.verified; });
}

std::string GemmBench::rows_json() const {
  std::vector<std::string> rows;
  for (const GemmRow& row : rows_) {
    harness::JsonObject peers;
    for (const PeerTime& peer : row.peers) peers.add(peer.name, peer.seconds);
    rows.push_back(harness::JsonObject()
                       .add("name", row.name)
                       .add("problem", row.problem)
                       .add("device", row.device)
                       .add("candidate", row.candidate)
                       .add("bytes", row.bytes)
                       .add("gflops", row.flops / row.seconds * 1e-9)
                       .add("seconds", row.seconds)
                       .add("spread", row.spread)
                       .add_json("peer_seconds", peers.text())
                       .add("of_limit", row.limit_seconds / row.seconds)
                       .add("peak_gflops", row.peak_flops_per_second * 1e-9)
                       .add("peak_gb_per_second", row.peak_bytes_per_second * 1e-9)
                       .add("verified", row.verified)
                       .text());
  }
  return harness::json_array(rows);
}

}  // namespace infini::bench
