#include "plan/layout_checks.h"

#include <fmt/format.h>

#include "base/text/counts.h"
#include "plan/combinations.h"

namespace strata::plan {
namespace {

using enum Setting;

constexpr Expression<Layout> kExpressions[] = {
    {kStages, "--stages", "use --stages 1", [](const Layout& x) { return x.stages > 1; }},
    {kLayerOrder, "--order", "use --order micro_batch",
     [](const Layout& x) { return x.order == Order::kLayer; }},
    {kClipRank, "--clip", "use --clip after_allreduce",
     [](const Layout& x) { return x.clip == Clip::kBeforeAllReduce; }},
    {kClipBucket, "--clip", "use --clip after_allreduce",
     [](const Layout& x) { return x.clip == Clip::kBucketBeforeAllReduce; }},
    {kSharded, "--sharded", "use --sharded none",
     [](const Layout& x) { return x.sharding != Sharding::kNone; }},
    {kShardedGradients, "--sharded", "use --sharded state",
     [](const Layout& x) { return x.sharding >= Sharding::kGradients; }},
    {kReducedMicroBatches, "--sharded", "use --sharded state, or use --order layer",
     [](const Layout& x) {
       return x.sharding >= Sharding::kGradients && x.micro_batches > 1 &&
              x.order == Order::kMicroBatch;
     }},
    {kSplitTiedEmbedding, "--split-tied-embedding", "omit --split-tied-embedding",
     [](const Layout& x) { return x.split_tied_embedding; }},
};

}  // namespace

std::optional<std::string> refusal(const ModelShape& shape, int64_t ranks, double batch,
                                   const Layout& layout) {
  const int64_t stages = layout.stages;
  if (batch < static_cast<double>(layout.micro_batches)) {
    return fmt::format(
        "--accumulation {}: a batch of {} cannot be divided into that many micro-batches",
        layout.micro_batches, batch);
  }
  if (batch < static_cast<double>(ranks / stages)) {
    return fmt::format("--batch {}: is less than a sample for each of {}; use fewer ranks",
                       count_text(batch), counted(ranks / stages, stages > 1 ? "replica" : "rank"));
  }
  if (ranks % stages != 0) {
    return fmt::format("--stages {}: does not divide {}", stages, counted(ranks, "rank"));
  }
  if (shape.layers % stages != 0) {
    return fmt::format("--stages {}: does not divide the {}", stages,
                       counted(shape.layers, "layer"));
  }
  if (layout.micro_batches < stages) {
    return fmt::format(
        "--stages {}: needs at least as many micro-batches, but --accumulation is {}", stages,
        layout.micro_batches);
  }
  std::optional<std::string> refused;
  visit_impossible(std::span<const Expression<Layout>>(kExpressions), layout,
                   [&](const auto& refused_one, const auto& with, const char* reason) {
                     if (refused) return;
                     refused = fmt::format("{}: {}; {}, or {}", refused_one.name, reason,
                                           with.remedy, refused_one.remedy);
                   });
  if (refused) return refused;
  if (layout.bucket_bytes > 0 &&
      (layout.split_tied_embedding || stages > 1 || layout.sharding >= Sharding::kGradients)) {
    return "--bucket-megabytes: cannot be predicted with --split-tied-embedding, --stages, "
           "--sharded "
           "gradients or --sharded all; omit it or them";
  }
  return std::nullopt;
}

}  // namespace strata::plan
