// Each of a rank's K buckets g becomes g min(1, max_norm / sqrt(K) / ||g||), then the mean is
// taken. The norm of the mean is at most max_norm.
#include <cmath>

#include "comm/buckets/bucket_order.h"
#include "comm/buckets/clip_rules/clip_rule.h"

namespace strata::comm {
namespace {

class BucketBeforeAllReduce final : public ClipRule {
 public:
  bool clips_own() const override { return true; }
  int add_before_clip(BucketOrder& order, int bucket, int ready) const override {
    return order.add_norm(bucket, ready, BucketOrder::NormIn::kBucket);
  }
  device::GradientClip own_clip(const ClipNorms& norms, int bucket) const override {
    return {.norm_squared = norms.buckets + bucket,
            .max_norm = norms.max_norm / std::sqrt(static_cast<float>(norms.all_buckets))};
  }
  std::optional<double> gradient_norm(double, const std::vector<double>& buckets, int,
                                      Communicator* parts) const override {
    double sum = 0;
    for (const double norm : buckets) sum += norm;
    if (parts) parts->all_reduce_sum(&sum, 1, device::DType::kF64);
    return std::sqrt(sum);
  }
};

}  // namespace

const ClipRule& clip_bucket_before_all_reduce() {
  static const BucketBeforeAllReduce rule;
  return rule;
}

}  // namespace strata::comm
