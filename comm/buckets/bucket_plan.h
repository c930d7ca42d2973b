// What decides which operations the buckets of gradients add to a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/buckets/bucket_options.h"
#include "comm/buckets/clip_rules/clip_rule.h"

namespace strata::comm {

struct BucketPlan {
  std::vector<Range> buckets;            // in the order of their reduction
  int table_buckets = 0;                 // the first of them, of the tied rows' table
  std::vector<device::Arena::Run> runs;  // of the gradients' memory
  const ClipRule* rule = nullptr;
  int ranks = 1;              // that reduce
  int rounds = 1;             // of reductions
  bool in_parts = false;      // other ranks have other parts of the model's gradients
  bool converts = false;      // gradients are reduced in another dtype, in memory for that
  bool gathers = false;       // updated weights are gathered
  bool keeps_shards = false;  // the sums lie in BucketOptions::gradient_shards
  bool defers = false;        // updates end once their sums are known
  bool scaled_loss = false;
  bool has_tied_rows = false;
  bool on_host = true;  // device memory is the host's

  int count() const { return static_cast<int>(buckets.size()); }
  int reductions() const { return rounds * count(); }
  bool single_rank() const { return ranks == 1; }
  bool sharded() const { return gathers || keeps_shards; }
  // Other ranks take part in something.
  bool exchanges() const { return ranks > 1 || in_parts; }
  // How many buckets may be between their clipping and their casting back: one in the all-reduce,
  // one ready for it, one being emptied. On one stream they follow each other.
  int in_flight() const { return on_host ? 3 : 1; }
};

// Throws Error if the options, boundaries and `gradients` [n] of this dtype do not fit each other.
BucketPlan make_bucket_plan(const BucketOptions& options, std::span<const int64_t> boundaries,
                            const device::Arena& gradients, int ranks, bool on_host,
                            bool defers_updates);

}  // namespace strata::comm
