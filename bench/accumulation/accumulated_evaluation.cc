#include "bench/accumulation/accumulated_evaluation.h"

#include "bert/model/model.h"
#include "training/evaluation.h"
#include "training/factories/backend.h"
#include "training/factories/data.h"
#include "training/factories/model.h"
#include "training/factories/weights.h"

namespace strata::bench {

std::vector<AccumulatedEvaluation> evaluate_accumulators(
    const config::RunConfig& config, int64_t samples,
    const std::function<void(int done, int of)>& progress) {
  constexpr int64_t kChunk = 64;
  std::vector<Accumulator> accumulators = {{}};
  for (const int bits : {9, 7, 5}) {
    accumulators.push_back({.mantissa_bits = bits});
    accumulators.push_back({.mantissa_bits = bits, .chunk = kChunk});
  }
  const bert::BertConfig bert = training::make_bert_config(config);
  const auto source = training::open_data(config.data.eval, config.data, bert);
  const auto single_rank = comm::make_single_communicator();
  const auto threads = static_cast<unsigned>(training::thread_count(config));
  std::vector<AccumulatedEvaluation> results;
  for (const Accumulator& accumulator : accumulators) {
    const auto device = make_rounding_device(accumulator, threads);
    bert::Model model(bert, *device, training::capacity_of(*source, config.batch.micro_batch));
    model.set_weights(training::make_weights(config, model.layout(), config.run.seed.value_or(0),
                                             [](const std::string&) {}));
    training::Evaluator evaluator(model, *source, samples, config.batch.micro_batch, *single_rank);
    results.push_back({accumulator, evaluator.samples(), evaluator.evaluate()});
    if (progress) progress(static_cast<int>(results.size()), static_cast<int>(accumulators.size()));
  }
  return results;
}

}  // namespace strata::bench
