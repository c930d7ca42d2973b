// Each rank's gradient g becomes g min(1, max_norm / ||g||), then the mean is taken.
#include <cmath>

#include "comm/buckets/bucket_order.h"
#include "comm/buckets/clip_rules/clip_rule.h"

namespace strata::comm {
namespace {

class BeforeAllReduce final : public ClipRule {
 public:
  bool clips_own() const override { return true; }
  bool needs_whole_gradient() const override { return true; }
  int add_before_clip(BucketOrder& order, int bucket, int ready) const override {
    return order.add_norm(bucket, ready, BucketOrder::NormIn::kWhole);
  }
  int add_before_reductions(BucketOrder& order, int last) const override {
    return order.add_reduce_norm(last, BucketOrder::NormOf::kThisRank);
  }
  device::GradientClip own_clip(const ClipNorms& norms, int) const override {
    return {.norm_squared = norms.whole, .max_norm = norms.max_norm};
  }
  std::optional<double> gradient_norm(double whole, const std::vector<double>&, int,
                                      Communicator*) const override {
    return std::sqrt(whole);
  }
};

}  // namespace

const ClipRule& clip_before_all_reduce() {
  static const BeforeAllReduce rule;
  return rule;
}

}  // namespace strata::comm
