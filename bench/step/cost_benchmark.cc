#include "bench/step/cost_benchmark.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/timing.h"
#include "bert/model/model.h"
#include "bert/weights/weights.h"
#include "training/batches/synthetic_batch.h"
#include "training/factories/backend.h"
#include "training/factories/checks.h"
#include "training/factories/model.h"

namespace strata::bench {
namespace {

// Starts at an eighth of the longest sample, so that the share of masked tokens, 15 % rounded down,
// is nearly the same for all lengths.
std::vector<EqualBatch> batches_to_measure(int32_t longest, int64_t tokens) {
  std::vector<EqualBatch> batches;
  for (const int eighths : {1, 2, 4, 6, 8}) {
    const int32_t length = std::max(1, longest * eighths / 8);
    batches.push_back({length, tokens / length});
    if (2 * length <= tokens) batches.push_back({length, tokens / 2 / length});
  }
  return batches;
}

data::PackedBatch made_up(const EqualBatch& batch, const bert::BertConfig& bert) {
  const std::vector<int32_t> lengths(static_cast<size_t>(batch.samples), batch.length);
  return training::synthetic_batch(bert, lengths, static_cast<uint64_t>(batch.length));
}

}  // namespace

CostBenchmark benchmark_costs(const config::RunConfig& config, const CostBenchmarkOptions& options,
                              const training::Ranks& ranks) {
  const bert::BertConfig bert = training::make_bert_config(config);
  const auto longest = static_cast<int32_t>(std::min<int64_t>(bert.max_positions, 512));
  const int64_t tokens = options.micro_batch_tokens > 0 ? options.micro_batch_tokens
                                                        : config.batch.micro_batch * longest;
  if (tokens < longest) {
    fail("the longest sample does not fit into a micro-batch of {}; give at least {}",
         counted(tokens, "token"), longest);
  }
  training::check_one_stage(config);
  const auto backend = training::make_backend(config, ranks.local);
  CostBenchmark result{
      backend->description(), ranks.size(), {}, batches_to_measure(longest, tokens)};
  std::vector<data::PackedBatch> batches;
  bert::BatchCapacity capacity;
  for (const EqualBatch& batch : result.batches) {
    batches.push_back(made_up(batch, bert));
    capacity = training::larger(
        capacity, {std::ssize(batches.back().tokens), std::ssize(batches.back().sample_ids),
                   std::ssize(batches.back().masked_ids)});
  }
  bert::Model model(bert, *backend, capacity, training::model_options(config, bert));
  model.set_weights(bert::random_weights(model.layout(), 1));

  std::vector<std::vector<double>> seconds(batches.size());
  const size_t rounds = static_cast<size_t>(options.rounds) + 1;
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < batches.size(); ++i) {
      ranks.communicator.barrier();
      const auto begin = Clock::now();
      model.train(batches[i],
                  {.seed = 1,
                   .step = round,
                   .masked_lm_scale = 1.0f / static_cast<float>(batches[i].masked_ids.size()),
                   .next_sentence_scale = 1.0f / static_cast<float>(result.batches[i].samples),
                   .token_scale = 1.0f / static_cast<float>(batches[i].tokens.size())},
                  {});
      backend->synchronize(device::Stream::kCompute);
      if (round > 0) seconds[i].push_back(seconds_since(begin));
      if (options.progress)
        options.progress(round * batches.size() + i + 1, rounds * batches.size());
    }
  }
  std::vector<loadbalance::BatchTime> times;
  for (size_t i = 0; i < batches.size(); ++i) {
    double sum = median(seconds[i]);
    ranks.communicator.all_reduce_sum(&sum, 1, device::DType::kF64);
    result.batches[i].seconds = sum / ranks.size();
    times.push_back(result.batches[i].time());
  }
  result.fit = loadbalance::fit_cost(times);
  return result;
}

}  // namespace strata::bench
