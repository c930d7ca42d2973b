#include "harness/step_benchmark.h"

#include <algorithm>
#include <array>

#include "bert/work.h"
#include "comm/gradient_buckets.h"
#include "harness/synthetic_batch.h"
#include "harness/timing.h"
#include "harness/trainer.h"

namespace strata::harness {
namespace {

// A square product of the compute dtype, as large as matrix products of real models get.
class MatrixPeak {
 public:
  explicit MatrixPeak(device::Backend& backend)
      : backend_(backend),
        bytes_(kSize * kSize * size_of(backend.compute_dtype())),
        x_(backend, bytes_),
        weight_(backend, bytes_),
        y_(backend, bytes_) {}

  double flops_per_second() {
    const auto tensor = [&](const device::Buffer& buffer) {
      return device::Tensor{buffer.data(), backend_.compute_dtype(), kSize, kSize};
    };
    const auto begin = Clock::now();
    backend_.linear_forward(device::Stream::kCompute,
                            {.x = tensor(x_), .weight = tensor(weight_), .y = tensor(y_)});
    backend_.synchronize(device::Stream::kCompute);
    return 2.0 * kSize * kSize * kSize / seconds_between(begin, Clock::now());
  }

 private:
  static constexpr int64_t kSize = 2048;
  device::Backend& backend_;
  size_t bytes_;
  device::Buffer x_, weight_, y_;
};

std::vector<int32_t> lengths_of_step(const RunConfig& config, const StepBenchmarkOptions& options,
                                     const bert::BertConfig& bert, uint64_t seed) {
  const auto longest = static_cast<int32_t>(std::min<int64_t>(bert.max_positions, 512));
  if (options.micro_batch_tokens > 0)
    return wikipedia_lengths(options.micro_batch_tokens, longest, seed);
  std::vector<int32_t> lengths =
      wikipedia_lengths(int64_t{512} * config.batch.micro_batch, longest, seed);
  lengths.resize(static_cast<size_t>(config.batch.micro_batch), longest);
  return lengths;
}

}  // namespace

StepBenchmark benchmark_steps(const RunConfig& config, const StepBenchmarkOptions& options,
                              const Ranks& ranks) {
  constexpr int kUnmeasured = 2;
  const bert::BertConfig bert = make_bert_config(config);
  const auto backend = make_backend(config, ranks.local_size);
  // Every rank steps through batches of its own, the same number of sequences each time.
  std::vector<std::vector<int32_t>> lengths;
  bert::BatchCapacity capacity;
  for (int step = 0; step < options.steps + kUnmeasured; ++step) {
    const auto seed = static_cast<uint64_t>(step * ranks.size() + ranks.rank());
    lengths.push_back(lengths_of_step(config, options, bert, seed));
    const data::PackedBatch batch = synthetic_batch(bert, lengths.back(), seed);
    capacity = bert::BatchCapacity{std::max(capacity.tokens, std::ssize(batch.tokens)),
                                   std::max(capacity.sequences, std::ssize(batch.sample_ids)),
                                   std::max(capacity.masked, std::ssize(batch.masked_ids))};
  }
  bert::Model model(bert, *backend, capacity);
  model.set_weights(bert::random_weights(model.layout(), 1));
  const auto optimizer = make_optimizer(config.optimizer, *backend, model);
  int64_t number = 0;
  comm::GradientBuckets buckets(
      *backend, ranks.communicator, model.gradients(), model.layout().boundaries,
      bucket_options(config), [&](const comm::ReducedGradients& reduced) {
        optimizer->update(device::Stream::kReduce, reduced.begin, reduced.end,
                          {.learning_rate = 1e-6,
                           .step = number,
                           .gradient_scale = reduced.gradient_scale,
                           .norm_squared = reduced.norm_squared,
                           .max_norm = reduced.max_norm});
      });
  MatrixPeak peak(*backend);
  peak.flops_per_second();

  std::vector<double> step, forward, backward, wait, reduce, update, peaks;
  double sequences = 0, tokens = 0, flops = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const data::PackedBatch batch = synthetic_batch(bert, lengths[i], i);
    const auto masked = static_cast<float>(batch.masked_ids.size());
    ++number;
    ranks.communicator.barrier();
    const auto begin = Clock::now();
    model.forward(batch, {.seed = 1,
                          .step = i,
                          .masked_lm_scale = 1.0f / masked,
                          .next_sentence_scale = 1.0f / static_cast<float>(lengths[i].size())});
    backend->synchronize(device::Stream::kCompute);
    const auto forward_end = Clock::now();
    model.backward([&](int64_t from, int64_t to) { buckets.gradients_final(from, to); });
    backend->synchronize(device::Stream::kCompute);
    const auto backward_end = Clock::now();
    const comm::StepTimes times = buckets.finish_step();
    const auto end = Clock::now();
    ranks.communicator.barrier();
    const double peak_now = peak.flops_per_second();
    if (i < kUnmeasured) continue;
    step.push_back(seconds_between(begin, end));
    forward.push_back(seconds_between(begin, forward_end));
    backward.push_back(seconds_between(forward_end, backward_end));
    wait.push_back(seconds_between(backward_end, end));
    reduce.push_back(times.communication_seconds);
    update.push_back(times.update_seconds);
    peaks.push_back(peak_now);
    sequences += static_cast<double>(lengths[i].size());
    tokens += static_cast<double>(batch.tokens.size());
    flops += bert::training_flops(bert, lengths[i], std::ssize(batch.masked_ids));
  }
  std::array<double, 4> sums{sequences, tokens, flops, median(peaks)};
  ranks.communicator.all_reduce_sum(sums.data(), std::ssize(sums), device::DType::kF64);
  const double steps = options.steps;
  return {.ranks = ranks.size(),
          .device = backend->description(),
          .sequences = static_cast<int64_t>(sums[0] / steps + 0.5),
          .tokens = static_cast<int64_t>(sums[1] / steps + 0.5),
          .flops = sums[2] / steps,
          .step = median(step),
          .forward = median(forward),
          .backward = median(backward),
          .wait = median(wait),
          .reduce = median(reduce),
          .update = median(update),
          .peak_flops_per_second = sums[3]};
}

}  // namespace strata::harness
