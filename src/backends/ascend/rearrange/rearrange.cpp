// Running rearrange schedules: each step's calls are queued one after another on the client's
// stream.
#include "backends/ascend/rearrange/rearrange.h"

#include <acl/acl.h>
#include <aclnnop/aclnn_copy.h>
#include <aclnnop/aclnn_flip.h>

#include <atomic>

#include "backends/ascend/operators/operators.h"
#include "backends/ascend/rearrange/rearrange_schedule.h"
#include "backends/ascend/runtime/device.h"

namespace infini::ascend {
namespace {

char* at(const void* base, int64_t offset) {
  return static_cast<char*>(const_cast<void*>(base)) + offset;
}

// Elements are bits: a signed integer of the size is on every operator's list.
aclDataType integer_of(int64_t bytes) {
  return bytes == 8 ? ACL_INT64 : bytes == 4 ? ACL_INT32 : bytes == 2 ? ACL_INT16 : ACL_INT8;
}

// A step made ready: its view is computed once; calls that may be repeated are kept.
class PreparedStep {
 public:
  explicit PreparedStep(const Step& step) : step_(step) {
    if (is_operator()) view_ = operator_view(step);
  }

  void run(void* dst, const void* src, StreamMemory& memory, void* stream) const {
    walk(0, at(dst, step_.nest.dst_offset), at(src, step_.nest.src_offset), memory, stream);
  }
  const Step& step() const { return step_; }

 private:
  bool is_operator() const {
    return step_.method == Method::view_copy || step_.method == Method::flip;
  }

  void walk(size_t depth, char* dst, const char* src, StreamMemory& memory, void* stream) const {
    if (depth == step_.outer) return launch(dst, src, memory, stream);
    const Loop& loop = step_.nest.loops[depth];
    for (int64_t i = 0; i < loop.extent; ++i)
      walk(depth + 1, dst + i * loop.dst_step, src + i * loop.src_step, memory, stream);
  }

  void launch(char* dst, const char* src, StreamMemory& memory, void* stream) const {
    const auto bytes = static_cast<size_t>(step_.nest.atom_bytes);
    if (step_.method == Method::copy) {
      check(aclrtMemcpyAsync(dst, bytes, src, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE, stream),
            "aclrtMemcpyAsync");
    } else if (step_.method == Method::copy_2d) {
      const Loop& rows = step_.nest.loops.back();
      check(aclrtMemcpy2dAsync(
                dst, static_cast<size_t>(rows.dst_step), src, static_cast<size_t>(rows.src_step),
                bytes, static_cast<size_t>(rows.extent), ACL_MEMCPY_DEVICE_TO_DEVICE, stream),
            "aclrtMemcpy2dAsync");
    } else {
      launch_operator(dst, src, memory, stream);
    }
  }

  // A call is kept for its addresses where the step is one call; a series of calls would only
  // displace each other.
  void launch_operator(char* dst, const char* src, StreamMemory& memory, void* stream) const {
    const bool keep = step_.outer == 0;
    const void* const key[3] = {dst, src, nullptr};
    std::unique_ptr<OperatorCall> call = keep ? calls_->take(key) : nullptr;
    if (call == nullptr) call = prepare(dst, src, keep);
    if (step_.method == Method::flip)
      call->run("aclnnFlip", aclnnFlip, memory, stream);
    else
      call->run("aclnnInplaceCopy", aclnnInplaceCopy, memory, stream);
    if (keep) calls_->give(std::move(call));
  }

  std::unique_ptr<OperatorCall> prepare(char* dst, const char* src, bool keep) const {
    auto call = std::make_unique<OperatorCall>();
    call->key[0] = dst;
    call->key[1] = src;
    const aclDataType dtype = integer_of(step_.element);
    call->tensors[0] = make_tensor(dtype, step_.element, view_.rank, view_.dims, view_.dst_strides,
                                   view_.dst_elements, dst);
    call->tensors[1] = make_tensor(dtype, step_.element, view_.rank, view_.src_dims,
                                   view_.src_strides, view_.src_elements, src + view_.src_low);
    aclTensor *to = call->tensors[0].get(), *from = call->tensors[1].get();
    if (step_.method == Method::flip) {
      call->array = flipped_dims();
      call->prepare(
          "aclnnFlipGetWorkspaceSize", keep, [&](uint64_t* bytes, aclOpExecutor** executor) {
            return aclnnFlipGetWorkspaceSize(from, call->array.get(), to, bytes, executor);
          });
    } else {
      call->prepare("aclnnInplaceCopyGetWorkspaceSize", keep,
                    [&](uint64_t* bytes, aclOpExecutor** executor) {
                      return aclnnInplaceCopyGetWorkspaceSize(to, from, bytes, executor);
                    });
    }
    return call;
  }

  IntArray flipped_dims() const {
    int64_t dims[max_operator_rank];
    uint64_t count = 0;
    for (int i = 0; i < view_.rank; ++i)
      if (view_.flipped[i]) dims[count++] = i;
    IntArray array(aclCreateIntArray(dims, count));
    require(array != nullptr, INFINI_STATUS_INTERNAL_ERROR, "aclCreateIntArray made no array");
    return array;
  }

  Step step_;
  OperatorView view_;
  std::unique_ptr<CallCache> calls_ = std::make_unique<CallCache>();
};

class PreparedSchedule {
 public:
  explicit PreparedSchedule(const Schedule& schedule)
      : candidate_(schedule.candidate), words_(to_string(schedule)) {
    stage_1_at_ = (static_cast<size_t>(schedule.stage_bytes[0]) + 63) / 64 * 64;
    stage_bytes_ = stage_1_at_ + static_cast<size_t>(schedule.stage_bytes[1]);
    for (const Step& step : schedule.steps) steps_.emplace_back(step);
  }

  void run(void* dst, const void* src, StreamMemory& memory, void* stream) const {
    const Scratch stages(memory, stage_bytes_, stream);
    auto place = [&](Place where, const void* client) -> void* {
      if (where == Place::client) return const_cast<void*>(client);
      return at(stages.get(), where == Place::stage_0 ? 0 : static_cast<int64_t>(stage_1_at_));
    };
    for (const PreparedStep& prepared : steps_)
      prepared.run(place(prepared.step().to, dst), place(prepared.step().from, src), memory,
                   stream);
  }
  const char* candidate() const { return candidate_; }
  const std::string& words() const { return words_; }

 private:
  const char* candidate_;
  std::string words_;
  size_t stage_1_at_, stage_bytes_;
  std::vector<PreparedStep> steps_;
};

// One schedule for each alignment that the client's pointers may have, and one that the operators
// cannot refuse.
class Rearrange final : public RearrangeKernel {
 public:
  Rearrange(Device& device, const RearrangePlan& plan, const Choice& choice)
      : memory_(device.stream_memory()),
        dst_offset_(plan.dst_offset),
        src_offset_(plan.src_offset) {
    const int64_t natural = natural_element(plan);
    for (int64_t alignment = 1; alignment <= natural; alignment *= 2)
      by_alignment_.emplace_back(make_schedule(
          plan, alignment, {choice.wanted, alignment == natural ? choice.lines : nullptr}));
    fallback_ = std::make_unique<PreparedSchedule>(make_engine_schedule(plan, 1));
  }

  void run(void* dst, const void* src, void* stream) const override {
    if (!refused_.load(std::memory_order_relaxed)) {
      try {
        return schedule_for(dst, src).run(dst, src, memory_, stream);
      } catch (const OperatorRefused&) {
        refused_.store(true, std::memory_order_relaxed);
      }
    }
    fallback_->run(dst, src, memory_, stream);
  }
  const char* candidate() const override { return by_alignment_.back().candidate(); }
  std::string schedule() const override { return by_alignment_.back().words(); }

 private:
  const PreparedSchedule& schedule_for(void* dst, const void* src) const {
    const auto bits = reinterpret_cast<uintptr_t>(at(dst, dst_offset_)) |
                      reinterpret_cast<uintptr_t>(at(src, src_offset_));
    size_t index = 0;
    while (index + 1 < by_alignment_.size() && bits % (uintptr_t{2} << index) == 0) ++index;
    return by_alignment_[index];
  }

  StreamMemory& memory_;
  int64_t dst_offset_, src_offset_;
  std::vector<PreparedSchedule> by_alignment_;  // for 1, 2, 4 and 8 bytes, as far as the plan goes
  std::unique_ptr<PreparedSchedule> fallback_;
  mutable std::atomic<bool> refused_{false};
};

}  // namespace

std::unique_ptr<RearrangeKernel> make_rearrange(infini::Device& device, const RearrangePlan& plan,
                                                const Choice& choice) {
  return std::make_unique<Rearrange>(static_cast<Device&>(device), plan, choice);
}

}  // namespace infini::ascend
