// The mean g over ranks becomes g min(1, max_norm / ||g||).
#include <cmath>

#include "comm/buckets/bucket_order.h"
#include "comm/buckets/clip_rules/clip_rule.h"

namespace strata::comm {
namespace {

class AfterAllReduce final : public ClipRule {
 public:
  bool norms_sums() const override { return true; }
  // Each rank has only the norm of its own shard of the sum.
  int add_before_updates(BucketOrder& order, int whole) const override {
    return order.add_reduce_norm(whole, BucketOrder::NormOf::kAllRanks);
  }
  device::GradientClip update_clip(const ClipNorms& norms) const override {
    return {.norm_squared = norms.whole,
            .max_norm = norms.max_norm * static_cast<float>(norms.ranks)};
  }
  std::optional<double> gradient_norm(double whole, const std::vector<double>&, int ranks,
                                      Communicator*) const override {
    return std::sqrt(whole) / ranks;
  }
};

}  // namespace

const ClipRule& clip_after_all_reduce() {
  static const AfterAllReduce rule;
  return rule;
}

}  // namespace strata::comm
