#include "plan/combinations.h"

namespace strata::plan {
namespace {

using enum Setting;

constexpr const char* kClipsBeforeReducing =
    "before_allreduce and bucket_before_allreduce clip a rank's own gradient before any part of it "
    "is reduced";

constexpr Combination kImpossible[] = {
    {kNoPostNorm, kClosedDivision, "the closed division requires post"},
    {kPreNorm, kFp8, "pre is not implemented for FP8"},
    {kStandardization, kAnyNorm, "post and pre keep LayerNorm, which the loss replaces"},
    {kLayerDrop, kNoPreNorm, "a layer can be skipped only with pre, where its input bypasses it"},
    {kLayerDrop, kGraphs, "each step skips different layers, which a graph cannot do"},
    {kSentFp16, kOtherThanFp16,
     "gradients in fp16 need a scaled loss, which only precision fp16 has"},
    {kGraphs, kFp16, "with fp16 the host may skip the rest of a step, which a graph cannot do"},
    {kModules, kFp16, "with fp16, gradients of a skipped step would still arrive in later steps"},
    {kClipBucket, kClosedDivision, "bucket_before_allreduce is for the open division"},
    {kOtherThanLamb, kClosedDivision, "the closed division updates with lamb"},
    {kBf16Sums, kSentOtherThanBf16, "sums in bf16 need gradients that are sent in bf16"},
    {kBf16Sums, kModules, "modules do not reduce gradients"},
    {kBf16Sums, kClosedDivision, "sums in bf16 are for the open division"},
    {kSplitTiedEmbedding, kClipRank, kClipsBeforeReducing},
    {kSplitTiedEmbedding, kClipBucket, kClipsBeforeReducing},
    {kSplitTiedEmbedding, kStages, "the tied-embedding split is not implemented for stages"},
    {kSplitTiedEmbedding, kSharded, "the tied-embedding split is not implemented for sharding"},
    {kHalfLayers, kShardedGradients,
     "layers with sharded gradients share buffers for whole layers"},
    {kLayerOrder, kClosedDivision, "layer order is for the open division"},
    {kLayerOrder, kGraphs,
     "reductions start in the middle of a step, which a graph cannot contain"},
    {kRecompute, kFp8, "FP8 copies of activations are kept, not recomputed"},
    {kModules, kClosedDivision, "delayed gradients are for the open division"},
    {kModules, kAccumulation, "modules run one micro-batch per step"},
    {kModules, kLayerOrder, "modules have their own order"},
    {kModules, kRecompute, "a delayed backward needs kept activations"},
    {kModules, kStages, "modules already divide the model among ranks"},
    {kModules, kGraphs, "modules send in the middle of a step, which a graph cannot contain"},
    {kModules, kSharded, "no two ranks share a module, so there is nothing to shard"},
    {kModules, kClipBucket,
     "a bucket of bucket_before_allreduce holds gradients of different steps, so its norm bounds "
     "none of them"},
    {kModules, kFp8, "FP8 scales belong to one step, but backward runs steps later"},
    {kModules, kSplitTiedEmbedding,
     "modules do not reduce gradients, so none can be reduced early"},
    {kModules, kHalfLayers, "modules do not reduce gradients, so none can be reduced early"},
    {kModules, kCheckpoints, "checkpoints do not hold the data in flight between steps"},
    {kStages, kClosedDivision, "a pipeline is for the open division"},
    {kStages, kLayerOrder, "a pipeline has its own order"},
    {kStages, kGraphs, "stages send in the middle of a step, which a graph cannot contain"},
    {kStages, kFp8, "a layer's first GEMM reads an FP8 copy, which stages do not send"},
    {kStages, kShardedGradients, "gradients of stages cannot be sharded"},
    {kShardedGradients, kClipRank,
     "sharded gradients are reduced before a rank knows its norm, which before_allreduce needs"},
    {kReducedMicroBatches, kClipBucket,
     "in micro_batch order sharded gradients are reduced after every micro-batch, but "
     "bucket_before_allreduce clips those of a whole step"},
    {kShardedGradients, kGraphs,
     "backward waits for reductions of sharded gradients, which a graph cannot contain"},
    {kShardedWeights, kFp8, "FP8 copies of weights are kept, so weights cannot be sharded"},
};

}  // namespace

std::span<const Combination> impossible_combinations() { return kImpossible; }

}  // namespace strata::plan
