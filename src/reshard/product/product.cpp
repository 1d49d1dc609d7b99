// The steps of a product over ranks: while one panel is multiplied the next one travels.
//
// Messages for step t are posted when step t - 2 is done, on both sides: two panels are in flight or in use. Nobody waits for
// ever: the rank that is furthest behind needs only what others posted before they came as far as it is.
#include "reshard/product/product.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/dtype.h"
#include "reshard/product/local_product.h"
#include "reshard/staging.h"
#include "reshard/wire/agreement.h"
#include "reshard/wire/wire.h"

namespace infini {
namespace {

constexpr int depth = 2;  // panels in flight

Layout layout_of_part(infiniDtype_t dtype, const std::vector<int64_t>& shape,
                      const std::vector<int64_t>& strides) {
  const std::vector<size_t> extents(shape.begin(), shape.end());
  const std::vector<ptrdiff_t> given(strides.begin(), strides.end());
  return make_layout(dtype, 2, extents.data(), given.empty() ? nullptr : given.data());
}

// Takes messages as they come while its owner computes, on a thread of its own.
class Helper {
 public:
  template <class Take>
  explicit Helper(Take take)
      : thread_([this, take] {
          try {
            while (!over_.load())
              if (!take()) std::this_thread::sleep_for(std::chrono::microseconds(30));
          } catch (...) {
            failed_ = std::current_exception();
          }
        }) {}
  ~Helper() { end(); }
  void finish() {
    end();
    if (failed_) std::rethrow_exception(failed_);
  }

 private:
  void end() {
    over_.store(true);
    if (thread_.joinable()) thread_.join();
  }
  std::atomic<bool> over_{false};
  std::exception_ptr failed_;
  std::thread thread_;
};

class ProductRun {
 public:
  ProductRun(Device& device, const ProductPlan& plan, const ProductOperands& operands, Wire& wire,
             const ReshardSettings& settings)
      : device_(device),
        plan_(plan),
        rank_(wire.rank()),
        own_(plan.plan_of(rank_)),
        operands_(operands),
        wire_(wire),
        settings_(settings),
        staging_(device, wire.takes_device_memory()),
        kernels_(device),
        c_(layout_of_part(plan.dtype(), plan.c_shape(rank_), operands.c_strides)),
        parts_{layout_of_part(plan.dtype(), plan.shape(Factor::a, rank_), operands.a_strides),
               layout_of_part(plan.dtype(), plan.shape(Factor::b, rank_), operands.b_strides)} {
    require_memory();
    device.make_current();
    if (element_count(c_) > 0) {
      product_ =
          std::make_unique<LocalProduct>(device, c_, operands.c, operands.alpha, operands.beta);
      make_slots();
    }
  }

  void go() {
    const int times = static_cast<int>(plan_.panels().size());
    for (int t = 0; t < std::min(depth, times); ++t) post_receives(t), post_sends(t);
    for (int t = 0; t < times; ++t) {
      if (!own_.steps.empty()) multiply(t);
      if (t + depth >= times) continue;
      post_receives(t + depth);
      wait_until([&] { return slot(t).sends == 0; });
      post_sends(t + depth);
    }
    wait_until([&] { return wire_.posted() == 0; });
    if (product_) product_->finish();
  }

  // After a failure. What the transport may still use is never freed.
  void give_up() noexcept {
    if (wire_.give_up()) return;
    const auto let_go = [](Slot& slot) { slot.packed.let_go(), slot.host.let_go(); };
    for (StepSlot& step : slots_) {
      for (Slot& slot : step.operands) let_go(slot);
      for (Parcel& parcel : step.parcels) let_go(parcel.slot);
    }
  }

 private:
  struct Parcel {  // a panel of this rank's, packed for others
    int panel;
    Factor factor;
    Slot slot;
  };
  struct StepSlot {
    Slot operands[2];  // that were received, or put together
    std::vector<Parcel> parcels;
    int receives = 0, sends = 0;  // posted and not done
  };
  struct Flight {
    StepSlot* slot;
    bool sends;
  };
  static size_t index(Factor factor) { return factor == Factor::a ? 0 : 1; }
  StepSlot& slot(int step) { return slots_[step % depth]; }
  const Panel& panel_at(int number) const { return plan_.panels()[static_cast<size_t>(number)]; }
  const char* data_of(Factor factor) const {
    return static_cast<const char*>(factor == Factor::a ? operands_.a : operands_.b);
  }
  int64_t element_bytes() const { return dtype_bytes(plan_.dtype()); }
  int64_t across(Factor factor) const {  // rows of A or columns of B that this rank's C needs
    return c_.shape[index(factor)];
  }

  void require_memory() const {
    if (element_count(c_) > 0) require_pointer(operands_.c, "c");
    for (const Factor factor : {Factor::a, Factor::b})
      if (element_count(parts_[index(factor)]) > 0)
        require_pointer(data_of(factor), factor == Factor::a ? "a" : "b");
  }
  void make_slots() {
    int64_t longest = 0;
    for (const Panel& panel : plan_.panels()) longest = std::max(longest, panel.k);
    for (StepSlot& slot : slots_)
      for (const Factor factor : {Factor::a, Factor::b})
        if (longest > 0)
          slot.operands[index(factor)] =
              staging_.make_slot(longest * across(factor) * element_bytes());
  }

  int source_of(const ProductStep& step, Factor factor) const {
    return factor == Factor::a ? step.a_from : step.b_from;
  }
  void post_receives(int t) {
    if (own_.steps.empty()) return;
    const ProductStep& step = own_.steps[static_cast<size_t>(t)];
    for (const Factor factor : {Factor::a, Factor::b}) {
      if (source_of(step, factor) == rank_) continue;
      const Piece piece = received(step.panel, factor);
      fly(wire_.receive(source_of(step, factor), settings_.tag,
                        staging_.landing(piece, slot(t).operands[index(factor)], nullptr),
                        static_cast<size_t>(piece.bytes)),
          {&slot(t), false});
      ++slot(t).receives;
    }
  }
  void post_sends(int t) {
    slot(t).parcels.clear();
    for (; next_send_ < own_.sends.size() && own_.sends[next_send_].step == t; ++next_send_) {
      const ProductSend& send = own_.sends[next_send_];
      const Piece piece = piece_of(send.panel, send.factor);
      fly(wire_.send(send.peer, settings_.tag, packed(t, send, piece),
                     static_cast<size_t>(piece.bytes)),
          {&slot(t), true});
      ++slot(t).sends;
    }
  }
  // What several peers need at once is packed once.
  const void* packed(int t, const ProductSend& send, const Piece& piece) {
    for (const Parcel& parcel : slot(t).parcels)
      if (parcel.panel == send.panel && parcel.factor == send.factor)
        return staging_.where(piece, parcel.slot, data_of(send.factor));
    slot(t).parcels.push_back({send.panel, send.factor, staging_.make_slot(piece)});
    return staging_.pack(piece, slot(t).parcels.back().slot, data_of(send.factor));
  }
  void fly(size_t number, const Flight& flight) {
    if (flights_.size() <= number) flights_.resize(number + 1);
    flights_[number] = flight;
  }

  void land(const Wire::Done& done) {
    const Flight& flight = flights_[done.number];
    --(flight.sends ? flight.slot->sends : flight.slot->receives);
  }
  bool take_done() {
    const auto done = wire_.poll();
    if (done) land(*done);
    return done.has_value();
  }
  template <class Condition>
  void wait_until(Condition met) {
    while (!met()) land(wire_.wait_any(after_seconds(settings_.timeout)));
  }

  // A dense message of a panel, and how this rank's part becomes one.
  Piece received(int panel, Factor factor) const {
    return {.bytes = panel_at(panel).k * across(factor) * element_bytes()};
  }
  Piece piece_of(int number, Factor factor) {
    const Panel& panel = panel_at(number);
    const Layout& part = parts_[index(factor)];
    const bool of_a = factor == Factor::a;
    Piece piece{.bytes = panel.k * part.shape[of_a ? 0 : 1] * element_bytes()};
    int64_t before = 0;
    for (size_t i = 0; i < panel.runs; ++i) {
      const KRun& run = plan_.runs_of(panel)[i];
      Layout from = part, to = part;
      from.shape[of_a ? 1 : 0] = to.shape[of_a ? 1 : 0] = run.count;
      to.strides[0] = of_a ? panel.k : part.shape[1];
      to.strides[1] = 1;
      RearrangePlan copy = make_rearrange_plan(to, from);
      copy.dst_offset += before * to.strides[of_a ? 1 : 0] * element_bytes();
      copy.src_offset +=
          (of_a ? run.a * part.strides[1] : run.b * part.strides[0]) * element_bytes();
      before += run.count;
      if (panel.runs == 1 && copy.depth == 0) {
        piece.direct = true;
        piece.shard_offset = copy.src_offset;
      } else {
        piece.copies.push_back(kernels_.copy_of(copy));
      }
    }
    return piece;
  }

  // The factor of a step where it can be multiplied.
  PanelOperand operand(int t, Factor factor) {
    const ProductStep& step = own_.steps[static_cast<size_t>(t)];
    const Panel& panel = panel_at(step.panel);
    const Slot& memory = slot(t).operands[index(factor)];
    const Layout& part = parts_[index(factor)];
    const bool of_a = factor == Factor::a, own = source_of(step, factor) == rank_;
    if (own && panel.runs == 1) {
      const KRun& run = *plan_.runs_of(panel);
      const int64_t first = of_a ? run.a * part.strides[1] : run.b * part.strides[0];
      return {data_of(factor) + first * element_bytes(), {part.strides[0], part.strides[1]}};
    }
    if (own)
      for (const PieceCopy& copy : piece_of(step.panel, factor).copies)
        copy.run(memory.packed.get(), data_of(factor), nullptr);
    else
      staging_.unpack(received(step.panel, factor), memory, nullptr);
    return {memory.packed.get(), {of_a ? panel.k : across(Factor::b), 1}};
  }

  void multiply(int t) {
    wait_until([&] { return slot(t).receives == 0; });
    const PanelOperand a = operand(t, Factor::a), b = operand(t, Factor::b);
    const int64_t k = panel_at(own_.steps[static_cast<size_t>(t)].panel).k, rows = c_.shape[0];
    if (wire_.posted() == 0) {
      product_->add(k, 0, rows, a, b);
    } else if (wire_.any_thread()) {
      Helper helper([this] { return take_done(); });
      product_->add(k, 0, rows, a, b);
      helper.finish();
    } else {
      in_parts(k, rows, a, b);
    }
    product_->panel_done();
    if (device_.kind() != INFINI_DEVICE_CPU) device_.synchronize_stream(nullptr);
  }
  // Looks after messages between parts of the product. Few parts: each packs B anew.
  void in_parts(int64_t k, int64_t rows, PanelOperand a, const PanelOperand& b) {
    const int64_t each = std::max<int64_t>((rows + 1) / 2, 64);
    for (int64_t first = 0; first < rows; first += each) {
      const int64_t count = std::min(each, rows - first);
      product_->add(k, first, count, a, b);
      a.data = static_cast<const char*>(a.data) + count * a.strides[0] * element_bytes();
      while (take_done()) {
      }
    }
  }

  Device& device_;
  const ProductPlan& plan_;
  const int rank_;
  const RankProduct own_;
  const ProductOperands& operands_;
  Wire& wire_;
  const ReshardSettings& settings_;
  Staging staging_;
  PieceKernels kernels_;
  const Layout c_, parts_[2];
  std::unique_ptr<LocalProduct> product_;  // none: nothing of C is here
  StepSlot slots_[depth];
  size_t next_send_ = 0;
  std::vector<Flight> flights_;  // by number of the wire's request
};

std::unique_ptr<ProductRun> prepare(Device& device, const ProductPlan& plan,
                                    const ProductOperands& operands, Wire& wire,
                                    const ReshardSettings& settings) {
  require(plan.ranks() <= wire.ranks(), INFINI_STATUS_BAD_PARAM, "the plan has ", plan.ranks(),
          " ranks, the transport ", wire.ranks());
  if (wire.rank() >= plan.ranks()) return nullptr;  // it looks on
  return std::make_unique<ProductRun>(device, plan, operands, wire, settings);
}

}  // namespace

void run_product(Device& device, const ProductPlan& plan, const ProductOperands& operands,
                 const infiniTransport_t* transport, const ReshardSettings& settings) {
  Wire wire(transport);
  // Nobody writes before all have said that they run the same plan and have their memory.
  Agreement before(wire, settings.tag + 1, plan.hash(), settings.timeout);
  std::unique_ptr<ProductRun> run;
  try {
    run = prepare(device, plan, operands, wire, settings);
  } catch (...) {
    if (settings.agree) (void)before.reach(false);
    throw;
  }
  if (settings.agree && !before.reach(true))
    fail(INFINI_STATUS_INTERNAL_ERROR, before.why(), "; c is as it was");
  Agreement after(wire, settings.tag + 1, plan.hash(), settings.timeout);
  try {
    if (run) run->go();
  } catch (const Error& error) {
    run->give_up();
    if (settings.agree) (void)after.reach(false);
    fail(error.status(), error.what(), "; c is incomplete");
  } catch (...) {
    run->give_up();
    if (settings.agree) (void)after.reach(false);
    throw;
  }
  if (settings.agree && !after.reach(true))
    fail(INFINI_STATUS_INTERNAL_ERROR, after.why(), "; c may be incomplete on any rank");
}

}  // namespace infini
