#include "training/factories/data.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/counts.h"

namespace strata::training {

int64_t most_tokens(const config::DataConfig& data, const bert::BertConfig& model) {
  return std::min<int64_t>(data.max_length.value_or(static_cast<int>(model.max_positions)),
                           model.max_positions);
}

std::unique_ptr<data::InstanceSource> open_data(const std::vector<std::filesystem::path>& paths,
                                                const config::DataConfig& data,
                                                const bert::BertConfig& model) {
  auto source =
      data::open_instances(paths, {.vocabulary_size = static_cast<int32_t>(model.vocab_size),
                                   .max_length = static_cast<int32_t>(model.max_positions),
                                   .variable_length = data.variable_length});
  for (const data::SampleClass& alike : source->index().classes().all()) {
    if (static_cast<int64_t>(alike.length) > most_tokens(data, model)) {
      fail("{}: has {} of {}, but data.max_length is {}; raise it", paths[0].string(),
           counted(alike.count, "sample"), counted(alike.length, "token"),
           most_tokens(data, model));
    }
    if (static_cast<int64_t>(alike.masked) > data.max_predictions_per_seq) {
      fail("{}: has {} with {}, but data.max_predictions_per_seq is {}; raise it",
           paths[0].string(), counted(alike.count, "sample"),
           counted(alike.masked, "masked position"), data.max_predictions_per_seq);
    }
  }
  return source;
}

std::vector<loadbalance::LengthCount> histogram_of(const data::SampleClasses& classes) {
  std::vector<loadbalance::LengthCount> histogram;
  for (const data::SampleClass& alike : classes.all()) {
    loadbalance::append(histogram,
                        {static_cast<int>(alike.length), static_cast<int64_t>(alike.count)});
  }
  return histogram;
}

loadbalance::PlanOptions batch_plan_options(const config::RunConfig& config, int ranks,
                                            uint64_t seed) {
  const config::LoadBalanceConfig& balance = config.batch.load_balance;
  return {.strategy = name_of(balance.strategy),
          .ranks = ranks / config::ranks_of_replica(config),
          .batch_per_rank = config.batch.micro_batch * config.batch.gradient_accumulation_steps,
          .micro_batches = config.batch.gradient_accumulation_steps,
          .seed = seed,
          .strata_bounds = balance.strata,
          .group_ranks = balance.group_ranks.value_or(0),
          .cost = balance.cost};
}

}  // namespace strata::training
