// The facts that decide which operations the buckets add to a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/buckets/bucket_options.h"
#include "comm/buckets/clip_rules/clip_rule.h"

namespace strata::comm {

struct BucketPlan {
  std::vector<Range> buckets;  // in the order of reduction
  int table_buckets = 0;       // number of buckets at the front that hold the tied-embedding table
  std::vector<device::Arena::Run> runs;  // memory runs of the gradients
  const ClipRule* rule = nullptr;
  int ranks = 1;              // number of ranks that reduce
  int rounds = 1;             // number of reductions of each bucket in a step
  bool in_parts = false;      // true if other ranks hold other parts of the model's gradients
  bool converts = false;      // gradients are converted to another dtype, in staging memory
  bool gathers = false;       // updated weights are all-gathered
  bool keeps_shards = false;  // the sums lie in BucketOptions::gradient_shards
  bool defers = false;        // updates are finished after an all-reduce of their sums
  bool scaled_loss = false;
  bool has_tied_rows = false;
  bool on_host = true;  // device memory is host memory

  int count() const { return static_cast<int>(buckets.size()); }
  int reductions() const { return rounds * count(); }
  bool single_rank() const { return ranks == 1; }
  bool sharded() const { return gathers || keeps_shards; }
  // True if other ranks take part in an operation.
  bool exchanges() const { return ranks > 1 || in_parts; }
  // Maximum number of buckets between clip and cast-back. On threads: one in the all-reduce, one
  // ready for it, one being cast back. On a stream they follow each other.
  int in_flight() const { return on_host ? 3 : 1; }
};

// Throws Error if the options, boundaries and `gradients` [n] do not fit each other.
BucketPlan make_bucket_plan(const BucketOptions& options, std::span<const int64_t> boundaries,
                            const device::Arena& gradients, int ranks, bool on_host,
                            bool defers_updates);

}  // namespace strata::comm
