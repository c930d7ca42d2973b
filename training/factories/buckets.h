// Gradient buckets, and the gathering of sharded weights.
#pragma once

#include <memory>
#include <vector>

#include "base/range.h"
#include "bert/model/model.h"
#include "comm/buckets/bucket_plan.h"
#include "comm/buckets/gradient_buckets.h"
#include "comm/buckets/sharding/weight_gatherer.h"
#include "config/run_config.h"
#include "optim/optimizer.h"

namespace strata::training {

// Returns the options that config.clip and config.reduce give.
comm::BucketOptions bucket_options(const config::RunConfig& config);
// The same and, if training is sharded, with gathered_weights and gradient_shards in `model`'s
// memory. `stages` connects the stages of the pipeline; null: the model has one stage.
comm::BucketOptions bucket_options(const config::RunConfig& config, const bert::Model& model,
                                   comm::Communicator* stages = nullptr);

// [buckets] The elements of each bucket, in the order in which the buckets are reduced.
std::vector<Range> gradient_buckets(const config::RunConfig& config,
                                    const bert::ParameterLayout& layout);

// Plans the operations that buckets add to a step on `ranks` ranks that reduce together. `layout`
// is the layout of the rank's stage. Makes no buckets and takes no memory.
comm::BucketPlan bucket_plan(const config::RunConfig& config, const bert::ParameterLayout& layout,
                             int ranks, const bert::Stage& stage);

// Makes the buckets of `model`'s gradients, with updates by `optimizer`. Both must outlive the
// buckets. If `options` gather weights, LAMB must have the state of this rank's shard only, while
// Adam may have the whole state. Updates skip the elements `frozen` (ascending, read at every
// update); null: none.
std::unique_ptr<comm::GradientBuckets> make_gradient_buckets(
    device::Backend& backend, comm::Communicator& communicator, const bert::Model& model,
    const comm::BucketOptions& options, optim::Optimizer& optimizer,
    const std::vector<Range>* frozen = nullptr);

// Null if all weights of `model` are in memory. All ranks call together.
std::unique_ptr<comm::WeightGatherer> make_weight_gatherer(const config::RunConfig& config,
                                                           device::Backend& backend,
                                                           comm::Communicator& communicator,
                                                           const bert::Model& model);

}  // namespace strata::training
