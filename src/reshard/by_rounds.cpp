// Agreeing, then rounds, then agreeing.
#include "reshard/by_rounds.h"

#include <algorithm>
#include <optional>

#include "plan/reshard/hash.h"
#include "reshard/rounds.h"
#include "reshard/wire/agreement.h"

namespace infini {
namespace {

// Where a rank's shards lie.
enum Kinds : uint64_t { on_host = 1, on_device = 2 };

class ByRounds {
 public:
  ByRounds(Device& device, const ReshardPlan& plan, PreparedReshards& kept, const Shards& shards,
           Wire& wire, const ReshardSettings& settings)
      : wire_(wire), settings_(settings) {
    // From these all ranks find the same pieces.
    const auto hash =
        Hash().add(plan.hash()).add(settings.piece_bytes).add(settings.staging_bytes).value();
    before_.emplace(wire, settings.tag + 1, hash, settings.timeout);
    after_.emplace(wire, settings.tag + 1, hash, settings.timeout);
    try {
      prepare(device, plan, kept, shards);
    } catch (...) {
      if (settings.agree) (void)before_->reach(false);
      throw;
    }
  }

  void go() {
    agree_before();
    try {
      if (any_on_wire_) announce();
      if (run_) run_->go();
    } catch (const Error& error) {
      failed();
      fail(error.status(), error.what(), "; dst is incomplete");
    } catch (...) {
      failed();
      throw;
    }
    if (settings_.agree && !after_->reach(true))
      fail(INFINI_STATUS_INTERNAL_ERROR, after_->why(), "; dst may be incomplete on any rank");
  }

 private:
  // Two rounds of what is sent and received are in staging. In host memory longer pieces find nothing more in the caches; on a
  // device each round costs the host a third of a millisecond (nccl on an H200).
  int64_t piece_bytes(int ranks, bool on_wire) const {
    constexpr int64_t best_on_host = 4 << 20, best_on_device = 64 << 20, least = 4 << 10;
    const int64_t asked = settings_.piece_bytes > 0 ? settings_.piece_bytes
                          : on_wire                 ? best_on_device
                                                    : best_on_host;
    const int64_t lanes = 4 * std::max<int64_t>(ranks - 1, 1);
    return std::min(asked, std::max(settings_.staging_bytes / lanes, least));
  }

  void prepare(Device& device, const ReshardPlan& plan, PreparedReshards& kept,
               const Shards& shards) {
    if (!takes_part(plan, wire_, shards)) return;
    const bool has_any = shards.dst != nullptr || shards.src != nullptr;
    const bool device_memory = device.kind() != INFINI_DEVICE_CPU;
    const bool on_wire = device_memory && wire_.rounds_take_device_memory();
    if (has_any) kinds_ = device_memory ? on_device : on_host;
    const PieceSizes sizes{piece_bytes(plan.ranks(), on_wire), 0, {}};
    prepared_ = kept.get(device, plan, wire_.rank(), shards.strides, sizes);
    run_.emplace(device, *prepared_, static_cast<char*>(shards.dst),
                 static_cast<const char*>(shards.src), wire_, settings_, on_wire);
  }

  // Nobody writes before all have said that they run the same plan and have their memory.
  void agree_before() {
    if (!settings_.agree) return;
    const bool well = before_->reach(true, kinds_);
    require(well, INFINI_STATUS_INTERNAL_ERROR, before_->why(), "; dst is as it was");
    if (!wire_.rounds_take_device_memory()) return;
    require(before_->kinds() != (on_host | on_device), INFINI_STATUS_BAD_PARAM,
            "some ranks' shards are on devices, those of others in host memory; dst is as it was");
    any_on_wire_ = before_->kinds() == on_device;
  }
  // By every rank, whether it has a shard or not.
  void announce() {
    Wire::Round nothing;
    wire_.begin_round(nothing, settings_.tag, true, settings_.stream);
    if (!wire_.end_round(nothing, settings_.stream, settings_.timeout))
      wire_.fail_late("the first round of device memory");
  }
  void failed() {
    if (run_)
      run_->give_up();
    else
      (void)wire_.give_up();
    if (settings_.agree) (void)after_->reach(false);
  }

  Wire& wire_;
  ReshardSettings settings_;
  std::optional<Agreement> before_, after_;
  std::shared_ptr<const PreparedReshard> prepared_;
  std::optional<RoundsRun> run_;  // none: this rank looks on
  uint64_t kinds_ = 0;
  bool any_on_wire_ = false;
};

}  // namespace

void run_by_rounds(Device& device, const ReshardPlan& plan, PreparedReshards& kept,
                   const Shards& shards, Wire& wire, const ReshardSettings& settings) {
  ByRounds(device, plan, kept, shards, wire, settings).go();
}

}  // namespace infini
