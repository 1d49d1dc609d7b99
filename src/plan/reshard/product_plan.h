// The plan of a product over ranks: C = A·B where each of the three matrices is spread over ranks.
//
// Who holds a part of C computes it, panel by panel: a panel is some of the inner dim k that one part of A and one part of B hold.
// A's rows are cut as C's are, B's columns as C's; k is cut in any way on either side. Ranks begin at different panels, so that
// the holders of one part are asked for it by turns. Pure data, the same on every rank.
// Laws: in a rank's steps every k stands exactly once. Every message that a step expects is sent once, between two ranks in the
// same order on both sides. What a rank holds already never travels.
#pragma once

#include <string>

#include "base/export.h"
#include "infinicore.h"
#include "plan/reshard/distribution.h"

namespace infini {

// k that lie together on both sides: local indexes of A's columns and B's rows.
struct KRun {
  int64_t a, b, count;
};

struct Panel {
  int a_part = 0, b_part = 0;  // of k, as A and B cut it
  int64_t k = 0;               // how many
  size_t first_run = 0, runs = 0;
};

enum class Factor { a, b };

struct ProductStep {
  int panel;
  int a_from, b_from;  // ranks; the rank itself: it holds them
};

struct ProductSend {
  int step, peer;  // the peer's step that needs it
  Factor factor;
  int panel;
};

struct RankProduct {
  std::vector<ProductStep> steps;  // none where the rank holds nothing of C
  std::vector<ProductSend> sends;  // ascending by step, then by peer, A's before B's
};

class ProductPlan {
 public:
  // panel: how many k at most; 0: as many as suit caches and messages. Throws BAD_TENSOR_SHAPE, BAD_TENSOR_DTYPE, BAD_PARAM.
  ProductPlan(infiniDtype_t dtype, const Distribution& c, const Distribution& a,
              const Distribution& b, int64_t panel = 0);

  infiniDtype_t dtype() const { return dtype_; }
  int ranks() const { return ranks_; }
  int64_t panel() const { return panel_; }
  const Placement& c() const { return c_; }
  const Placement& a() const { return a_; }
  const Placement& b() const { return b_; }
  const Placement& side(Factor factor) const { return factor == Factor::a ? a_ : b_; }
  uint64_t hash() const { return hash_; }

  const std::vector<Panel>& panels() const { return panels_; }
  const KRun* runs_of(const Panel& panel) const { return runs_.data() + panel.first_run; }

  // Of a rank; a dim of 0 for ranks without a part. Throws BAD_PARAM for a rank outside 0..ranks()-1.
  std::vector<int64_t> c_shape(int rank) const { return shape_of(c_, rank); }
  std::vector<int64_t> shape(Factor factor, int rank) const { return shape_of(side(factor), rank); }
  INFINI_TOOL_EXPORT RankProduct plan_of(int rank) const;
  // Bytes of one message.
  int64_t bytes_of(const ProductSend& send) const;

 private:
  void require_fit() const;
  void make_panels();
  void choose_panel();
  INFINI_TOOL_EXPORT std::vector<int64_t> shape_of(const Placement& side, int rank) const;
  ProductStep step_of(int place, const int* parts, int number) const;
  int holder(const Placement& side, int first, int second, int place) const;
  void append_sends(int rank, Factor factor, std::vector<ProductSend>& out) const;

  infiniDtype_t dtype_;
  Placement c_, a_, b_;
  int64_t panel_;
  int ranks_ = 1;
  uint64_t hash_ = 0;
  std::vector<Panel> panels_;
  std::vector<KRun> runs_;
};

struct ProductTraffic {
  int64_t steps = 0, sends = 0, sent_bytes = 0, receives = 0, received_bytes = 0;
};
INFINI_TOOL_EXPORT ProductTraffic traffic_of(const ProductPlan& plan, int rank);

}  // namespace infini
