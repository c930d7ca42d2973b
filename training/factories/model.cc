#include "training/factories/model.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text/counts.h"
#include "comm/buckets/sharding/gather_groups.h"
#include "training/factories/buckets.h"
#include "training/factories/data.h"
#include "training/factories/schedule.h"
#include "training/factories/sharding.h"

namespace strata::training {
namespace {

bert::WordGradient word_gradient(const config::RunConfig& config, const Schedule& schedule) {
  if (config.reduce.split_tied_embedding) return bert::WordGradient::kSplitForGood;
  return schedule.micro_batches > schedule.rounds ? bert::WordGradient::kSplit
                                                  : bert::WordGradient::kTogether;
}

bert::ModelOptions options_of_ranks(const config::RunConfig& config, const bert::BertConfig& model,
                                    int ranks, const bert::Stage& stage) {
  const Schedule schedule = make_schedule(config, model, ranks, stage);
  bert::ModelOptions options{.float8 = config.model.precision == config::Precision::kFp8,
                             .in_flight = schedule.in_flight,
                             .recompute = schedule.recomputes,
                             .word_gradient = word_gradient(config, schedule),
                             .half_layers = config.reduce.half_layers,
                             .stage = stage};
  options.layer_drop = {.theta = config.layer_drop.theta,
                        .gamma = config.layer_drop.gamma.value_or(
                            100.0 / static_cast<double>(config.lr_schedule.training_steps))};
  options.standardization = config.standardization;
  if (const auto delayed = make_delayed_work(config, model, stage)) {
    options.in_flight = delayed->schedule.in_flight;
    options.delays = delayed->schedule.delays;
  }
  if (const int64_t tokens = config.batch.round_tokens; tokens > 1) {
    options.rounding = {.tokens = std::min(tokens, model.max_positions),
                        .masked = std::max<int64_t>(tokens / 4, 1),
                        .max_length = model.max_positions};
    const device::BackendKind& backend = *config.device.backend;
    if (options.float8 && options.rounding.tokens % backend.float8_tokens != 0) {
      fail(
          "model.precision fp8 on {} needs batches of a multiple of {}, but a model with {} cannot "
          "pad to this; use bf16",
          backend.name, counted(backend.float8_tokens, "token"),
          counted(model.max_positions, "position"));
    }
  }
  return options;
}

// The sum of the `samples` largest values.
int64_t sum_of_largest(std::span<const uint16_t> values, int64_t samples) {
  std::vector<uint16_t> largest(values.begin(), values.end());
  const auto count = static_cast<size_t>(std::min<int64_t>(samples, std::ssize(largest)));
  std::partial_sort(largest.begin(), largest.begin() + static_cast<int64_t>(count), largest.end(),
                    std::greater<>());
  return std::accumulate(largest.begin(), largest.begin() + static_cast<int64_t>(count),
                         int64_t{0});
}

}  // namespace

bert::BertConfig make_bert_config(const config::RunConfig& config) {
  bert::BertConfig model = bert::load_bert_config(config.model.config);
  if (config.model.hidden_dropout) {
    model.hidden_dropout = static_cast<float>(*config.model.hidden_dropout);
  }
  if (config.model.attention_dropout) {
    model.attention_dropout = static_cast<float>(*config.model.attention_dropout);
  }
  model.norm = config.model.norm;
  bert::validate(model, config.model.config);
  return model;
}

bert::ModelOptions model_options(const config::RunConfig& config, const bert::BertConfig& model) {
  return options_of_ranks(config, model, 1, {});
}

bert::ModelOptions model_options(const config::RunConfig& config, const bert::BertConfig& model,
                                 const comm::Communicator& communicator) {
  const bert::Stage stage = stage_of_rank(config, communicator.rank());
  bert::ModelOptions options = options_of_ranks(config, model, communicator.size(), stage);
  if (!shards_gradients(config, communicator.size())) return options;
  const bert::ParameterLayout layout(model);
  const std::vector<Range> buckets = gradient_buckets(config, layout);
  comm::GatherGroupMemory memory =
      comm::place_gather_groups(comm::make_gather_groups(layout.boundaries, buckets));
  options.sharding = {.shards = local_shards(buckets, communicator),
                      .gather_groups = std::move(memory.runs),
                      .gather_group_elements = memory.elements,
                      .weights = shards_weights(config, communicator.size())};
  return options;
}

bert::BatchCapacity capacity_of(const config::RunConfig& config, const bert::BertConfig& model) {
  const int64_t samples = config.batch.micro_batch;
  return {.tokens = samples * most_tokens(config.data, model),
          .sequences = samples,
          .masked = samples * config.data.max_predictions_per_seq};
}

bert::BatchCapacity capacity_of(const data::InstanceSource& source, int64_t samples) {
  return {.tokens = sum_of_largest(source.lengths(), samples),
          .sequences = samples,
          .masked = std::max<int64_t>(sum_of_largest(source.masked_counts(), samples), 1)};
}

bert::BatchCapacity larger(const bert::BatchCapacity& a, const bert::BatchCapacity& b) {
  return {std::max(a.tokens, b.tokens), std::max(a.sequences, b.sequences),
          std::max(a.masked, b.masked)};
}

std::unique_ptr<bert::Model> make_model(const config::RunConfig& config,
                                        const bert::BertConfig& model, device::Backend& backend,
                                        const comm::Communicator& communicator) {
  if (config.model.precision == config::Precision::kFp8) {
    backend.require(device::Operation::kRoundToFloat8, device::DType::kE4M3);
  }
  return std::make_unique<bert::Model>(model, backend, capacity_of(config, model),
                                       model_options(config, model, communicator));
}

}  // namespace strata::training
