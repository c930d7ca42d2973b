#include "comm/buckets/bucket_plan.h"

#include <algorithm>

#include "base/error.h"

namespace strata::comm {

std::vector<Range> make_buckets(std::span<const int64_t> boundaries, const BucketOptions& options) {
  const auto element_bytes = static_cast<int64_t>(size_of(options.reduce_dtype));
  const auto elements = std::max<int64_t>(1, options.bucket_bytes / element_bytes);
  return make_buckets(boundaries, elements, options.tied_rows.table);
}

Range local_shard(const Range& bucket, const Communicator& communicator) {
  const Range shard = shard_of(bucket.size(), communicator.rank(), communicator.size());
  return {bucket.begin + shard.begin, bucket.begin + shard.end};
}

BucketPlan make_bucket_plan(const BucketOptions& options, std::span<const int64_t> boundaries,
                            const device::Arena& gradients, int ranks, bool on_host,
                            bool defers_updates) {
  const bool several = ranks > 1;
  const Range& table = options.tied_rows.table;
  BucketPlan plan{.buckets = make_buckets(boundaries, options),
                  .runs = gradients.runs(),
                  .rule = &clip_rule(options.clip),
                  .ranks = ranks,
                  .rounds = options.rounds,
                  .in_parts = options.parts != nullptr,
                  .converts = several && options.reduce_dtype != gradients.memory().dtype,
                  .gathers = several && options.gathered_weights,
                  .keeps_shards = several && options.gradient_shards,
                  .scaled_loss = options.scaled_loss,
                  .has_tied_rows = table.size() > 0,
                  .on_host = on_host};
  plan.defers = plan.sharded() && defers_updates;
  plan.table_buckets =
      static_cast<int>(std::ranges::count_if(plan.buckets, [&](const Range& bucket) {
        return table.begin <= bucket.begin && bucket.end <= table.end;
      }));
  if (boundaries.back() != gradients.size()) {
    fail("bucket boundaries end at {}, but the gradients end at {}", boundaries.back(),
         gradients.size());
  }
  if (options.clip != ClipMode::kNone && !(options.max_norm > 0)) {
    fail("max_norm is {}: clipping needs a norm above 0", options.max_norm);
  }
  if (options.gathered_weights && options.gathered_weights.size() != gradients.size()) {
    fail("{} weights to gather, but {} gradients: the numbers must be equal",
         options.gathered_weights.size(), gradients.size());
  }
  if (options.gradient_shards && plan.rule->needs_whole_gradient()) {
    fail(
        "sharded gradients cannot be clipped by the norm of a rank's whole gradient: use another "
        "clip.mode");
  }
  if (plan.rounds > 1 && (!plan.keeps_shards || plan.rule->clips_own())) {
    fail(
        "gradients that are reduced {} times a step must be sharded and clipped after the "
        "reduction",
        plan.rounds);
  }
  if (plan.has_tied_rows && !on_host) {
    fail(
        "tied-embedding rows are reduced in host memory only; set reduce.split_tied_embedding to "
        "false");
  }
  if (plan.has_tied_rows && (plan.rule->clips_own() || plan.sharded())) {
    fail("tied-embedding rows need unsharded gradients that are clipped after the reduction");
  }
  return plan;
}

}  // namespace strata::comm
