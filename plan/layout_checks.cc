#include "plan/layout_checks.h"

#include <fmt/format.h>

namespace strata::plan {
namespace {

std::optional<std::string> refusal_of_stages(const ModelShape& shape, int64_t ranks,
                                             const Layout& layout) {
  const int64_t stages = layout.stages;
  if (ranks % stages != 0)
    return fmt::format("--stages {}: does not divide {} ranks", stages, ranks);
  if (shape.layers % stages != 0) {
    return fmt::format("--stages {}: does not divide the {} layers", stages, shape.layers);
  }
  if (layout.micro_batches < stages) {
    return fmt::format("--stages {}: needs as many micro-batches under way, --accumulation is {}",
                       stages, layout.micro_batches);
  }
  if (layout.order == Order::kLayer) return "--order layer: a pipeline has an order of its own";
  if (layout.sharding >= Sharding::kGradients) {
    return fmt::format("--sharded {}: is not built for stages; use state or none",
                       name_of(layout.sharding));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refusal(const ModelShape& shape, int64_t ranks, double batch,
                                   const Layout& layout) {
  if (batch < static_cast<double>(layout.micro_batches)) {
    return fmt::format("--accumulation {}: a batch of {} cannot be cut into so many",
                       layout.micro_batches, batch);
  }
  if (layout.early_words) {
    if (layout.clip == Clip::kBeforeAllReduce || layout.clip == Clip::kBucketBeforeAllReduce) {
      return fmt::format(
          "--early-words: with --clip {} a rank's own gradient is clipped before it is reduced; "
          "use none or after_allreduce",
          name_of(layout.clip));
    }
    if (layout.stages > 1 || layout.sharding != Sharding::kNone) {
      return "--early-words: is not built for --stages and --sharded";
    }
  }
  if (layout.bucket_bytes > 0 &&
      (layout.early_words || layout.stages > 1 || layout.sharding >= Sharding::kGradients)) {
    return "--bucket-megabytes: is not predicted with --early-words, --stages, or --sharded "
           "gradients or all";
  }
  if (layout.sharding >= Sharding::kGradients && layout.clip == Clip::kBeforeAllReduce) {
    return fmt::format(
        "--sharded {}: reduces gradients before a rank has all of its own, whose norm --clip "
        "before_allreduce needs",
        name_of(layout.sharding));
  }
  if (layout.sharding >= Sharding::kGradients && layout.micro_batches > 1 &&
      layout.order == Order::kMicroBatch && layout.clip == Clip::kBucketBeforeAllReduce) {
    return fmt::format(
        "--sharded {}: reduces every micro-batch's gradients, but --clip bucket_before_allreduce "
        "clips a step's; use --order layer, or another clip",
        name_of(layout.sharding));
  }
  if (layout.stages > 1) return refusal_of_stages(shape, ranks, layout);
  return std::nullopt;
}

}  // namespace strata::plan
