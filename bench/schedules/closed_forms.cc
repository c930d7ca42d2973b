#include "bench/schedules/closed_forms.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/numbers/statistics.h"
#include "bench/step/synthetic_training.h"
#include "comm/buckets/sharding/gather_groups.h"
#include "training/factories/buckets.h"
#include "training/factories/optimizer.h"

namespace strata::bench {

using config::Sharding;

namespace {

// Returns the runs of consecutive layers on a stage.
int64_t runs_of_stage(bert::Pipeline pipeline, int stages, int64_t layers) {
  return pipeline == bert::Pipeline::kModular ? layers / stages : 1;
}

}  // namespace

double activation_bytes(const bert::Model& model) {
  const bert::BertConfig& bert = model.config();
  const bert::BatchCapacity room = model.rounding().rounded(model.capacity());
  const auto c = static_cast<double>(size_of(model.backend().compute_dtype()));
  const auto m = static_cast<double>(size_of(model.backend().master_dtype()));
  const auto t = static_cast<double>(room.tokens), h = static_cast<double>(bert.hidden_size);
  const double crossing = t * h * c;
  const double embeddings = t * h * c + t * m;
  const double layer = plan::layer_activation_bytes(
      t, h, static_cast<double>(bert.intermediate_size), static_cast<double>(bert.heads), c, m);
  const double heads = 6 * static_cast<double>(room.masked) * h * c;

  const double in_flight = model.in_flight();
  const int blocks = static_cast<int>(bert.layers) + 2;
  const auto here = [&](int block) { return model.stage().has_block(block, blocks); };
  // Returns the number of micro-batches that a block has memory for.
  const auto sets = [&](int block) {
    const bool delayed = model.delays().empty() || model.delays()[static_cast<size_t>(block)] > 0;
    return here(block) && delayed ? in_flight : 1;
  };
  double bytes = in_flight * crossing;  // gradient between blocks
  bool has_layer = false;
  for (int block = 0; block < blocks; ++block) {
    const bool last = block + 1 == blocks;
    if (!last && (here(block) || here(block + 1))) {
      bytes += crossing * (model.delays().empty() ? in_flight : sets(block + 1));
    }
    if (!here(block)) continue;
    const bool shared = model.recomputes() && block > 0 && !last && has_layer;
    if (block > 0 && !last) has_layer = true;
    const double own = block == 0 ? embeddings : last ? heads : layer;
    if (!shared) bytes += own * (model.recomputes() ? 1 : sets(block));
  }
  return bytes;
}

Compared activations_of_all_ranks(const training::Ranks& ranks, const bert::Model& model) {
  const std::vector<double> formulas = of_all_ranks(ranks, activation_bytes(model));
  return {static_cast<double>(sum_over_ranks(ranks, model.activation_bytes())), sum(formulas)};
}

double bubble_share(bert::Pipeline pipeline, int stages, int64_t layers, int micro_batches) {
  return plan::bubble_share(stages, runs_of_stage(pipeline, stages, layers), micro_batches);
}

int64_t message_bytes(bert::Pipeline pipeline, int stages, const bert::BertConfig& model,
                      int64_t tokens, device::DType compute) {
  return plan::message_bytes(runs_of_stage(pipeline, stages, model.layers), tokens,
                             model.hidden_size, static_cast<int64_t>(size_of(compute)));
}

double ring_seconds(const ModuleSeconds& seconds, bool delayed) {
  return sum(seconds.forward) +
         (delayed ? *std::ranges::max_element(seconds.backward) : sum(seconds.backward));
}

ShardingForms::ShardingForms(const config::RunConfig& config, const bert::Model& model, int ranks)
    : config_(config), ranks_(ranks) {
  const bert::ParameterLayout& layout = model.layout();
  parameters_ = layout.size;
  words_ = layout.word_embeddings.size();
  bool decayed = true;
  for (const bert::ParameterSegment& segment : layout.segments()) {
    if (segment.decay || decayed) ++norms_;
    decayed = segment.decay;
  }
  const auto groups =
      comm::make_gather_groups(layout.boundaries, training::gradient_buckets(config, layout));
  first_group_ = groups.front().size();
  last_group_ = groups.size() > 1 ? groups.back().size() : 0;
  for (size_t group = 1; group + 1 < groups.size(); ++group) {
    inner_groups_.push_back(groups[group].size());
  }
  const device::Backend& backend = model.backend();
  const auto bytes_of = [](device::DType dtype) { return static_cast<int64_t>(size_of(dtype)); };
  gradient_bytes_ = bytes_of(training::bucket_options(config).reduce_dtype);
  master_bytes_ = bytes_of(backend.master_dtype());
  compute_bytes_ = bytes_of(backend.compute_dtype());
  rounding_bytes_ = backend.compute_dtype() == backend.master_dtype() ? 0 : compute_bytes_;
  const bool each_micro_batch =
      config.optimizer.sharded >= Sharding::kGradients &&
      config.batch.accumulation_order == config::AccumulationOrder::kMicroBatch;
  rounds_ = each_micro_batch ? config.batch.gradient_accumulation_steps : 1;
}

// Every pass over the model gathers the layers that the previous pass did not leave in memory. The
// last two stay at the turn from forward to backward, the first two at the next micro-batch.
int64_t ShardingForms::gathered_elements() const {
  const int64_t inner = std::accumulate(inner_groups_.begin(), inner_groups_.end(), int64_t{0});
  int64_t last_two = 0, first_two = 0;
  for (size_t i = 0; i < std::min<size_t>(2, inner_groups_.size()); ++i) {
    last_two += inner_groups_[i];
    first_two += inner_groups_[inner_groups_.size() - 1 - i];
  }
  return first_group_ + last_group_ + rounds_ * (2 * inner - last_two) - (rounds_ - 1) * first_two;
}

int64_t ShardingForms::bytes_sent() const {
  const Sharding sharded = config_.optimizer.sharded;
  int64_t bytes = rounds_ * parameters_ * gradient_bytes_;  // reduce-scattered
  if (sharded == Sharding::kNone) {
    bytes += parameters_ * gradient_bytes_;
  } else if (sharded == Sharding::kAll) {
    bytes += gathered_elements() * compute_bytes_;
  } else {
    bytes += parameters_ * compute_bytes_;
  }
  // Counts the all-reduced doubles: the norm for clipping, and LAMB's two norms of every tensor
  // that decays and of the tensors between two of these.
  int64_t sums = config_.clip.mode == config::ClipMode::kAfterAllReduce ? 1 : 0;
  const bool lamb = config_.optimizer.name == config::OptimizerKind::kLamb;
  if (lamb && sharded != Sharding::kNone) sums += 2 * norms_;
  bytes += 2 * sums * static_cast<int64_t>(sizeof(double));
  return (ranks_ - 1) * bytes;
}

training::ParameterMemory ShardingForms::memory() const {
  const Sharding sharded = config_.optimizer.sharded;
  const auto copies = [&](Sharding from) { return sharded >= from ? 1 : ranks_; };
  const int64_t largest =
      inner_groups_.empty() ? 0 : *std::max_element(inner_groups_.begin(), inner_groups_.end());
  const int64_t buffers = ranks_ * (first_group_ + last_group_ + 2 * largest);
  training::ParameterMemory memory{
      .weights = copies(Sharding::kAll) * parameters_ * (master_bytes_ + rounding_bytes_),
      .gradients = copies(Sharding::kGradients) * parameters_ * master_bytes_,
      .state = copies(Sharding::kState) * training::state_per_weight(config_.optimizer.name) *
               parameters_ * master_bytes_};
  if (sharded == Sharding::kAll) memory.weights += buffers * compute_bytes_;
  if (sharded >= Sharding::kGradients) memory.gradients += buffers * master_bytes_;
  if (config_.batch.gradient_accumulation_steps > rounds_) {
    memory.gradients += ranks_ * words_ * master_bytes_;
  }
  return memory;
}

}  // namespace strata::bench
