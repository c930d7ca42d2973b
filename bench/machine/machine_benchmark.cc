#include "bench/machine/machine_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/timing.h"
#include "bench/devices/device_peaks.h"
#include "bench/operations/operations_benchmark.h"
#include "bench/operations/optimizer_benchmark.h"
#include "bench/step/step_benchmark.h"
#include "comm/communicator.h"
#include "config/run_config.h"
#include "device/registry/backends.h"
#include "training/factories/backend.h"
#include "training/factories/model.h"
#include "training/ranks/ranks.h"

namespace strata::bench {
namespace {

using device::DType;
using Describe = std::function<void(const std::string&)>;

constexpr int64_t kAttentionLength = 512;

config::RunConfig config_of(const std::string& model, const MachineBenchmarkOptions& options) {
  config::RunConfig config;
  config.model.config = model;
  config.device.threads = options.threads;
  return config;
}

template <typename Peak>
double median_of(const Peak& measure, int rounds) {
  std::vector<double> values;
  for (int round = 0; round < rounds; ++round) values.push_back(measure());
  return median(values);
}

double matrix_peak(const MachineBenchmarkOptions& options, DType dtype) {
  config::RunConfig config = config_of(options.models.front(), options);
  config.model.precision =
      dtype == DType::kBF16 ? config::Precision::kBf16 : config::Precision::kFp32;
  const auto backend = training::make_backend(config);
  const MatrixPeak peak(*backend);
  return median_of([&] { return peak.flops_per_second(); }, options.rounds);
}

double copy_peak(const MachineBenchmarkOptions& options) {
  const auto backend = training::make_backend(config_of(options.models.front(), options));
  const CopyPeak peak(*backend);
  return median_of([&] { return peak.bytes_per_second(); }, options.rounds);
}

StepShare step_share(const std::string& model, int64_t tokens,
                     const MachineBenchmarkOptions& options, const training::Ranks& ranks) {
  const StepBenchmark b = benchmark_steps(
      config_of(model, options), {.steps = options.steps, .micro_batch_tokens = tokens}, ranks);
  return {.model = model,
          .tokens = b.tokens,
          .seconds = b.step,
          .flops_per_second = b.flops_per_second(),
          .matrix_peak_flops_per_second = b.peak_flops_per_second};
}

MachineBenchmark::Attention attention_shares(const MachineBenchmarkOptions& options,
                                             const training::Ranks& ranks,
                                             const Describe& describe) {
  const config::RunConfig config = config_of(options.models.front(), options);
  const bert::BertConfig model = training::make_bert_config(config);
  const int64_t tokens = options.tokens.front();
  const int64_t length = std::min({kAttentionLength, model.max_positions, tokens});
  const OperationsBenchmark b = benchmark_operations(config,
                                                     {.rounds = options.rounds,
                                                      .micro_batch_tokens = tokens,
                                                      .length = static_cast<int32_t>(length),
                                                      .only = "attention_"},
                                                     ranks, describe);
  const auto share = [&](const char* operation) {
    const auto found = std::ranges::find(b.operations, operation, &OperationTime::operation);
    return found->flops / found->seconds / b.matrix_peak_flops_per_second;
  };
  return {.length = length,
          .head_size = model.head_size(),
          .forward_share = share("attention_forward"),
          .backward_share = share("attention_backward")};
}

}  // namespace

MachineBenchmark benchmark_machine(const MachineBenchmarkOptions& options,
                                   const Describe& describe) {
  if (options.models.empty() || options.tokens.empty())
    fail("give at least one model and one number of tokens");
  const auto communicator = comm::make_single_communicator();
  const training::Ranks single_rank{*communicator};
  const bool bf16 = device::find_backend("cpu").bf16_is_native();
  MachineBenchmark result{.machine = harness::inspect_machine(),
                          .precision = bf16 ? "bf16" : "fp32"};
  {
    const auto backend = training::make_backend(config_of(options.models.front(), options));
    result.device = backend->description();
    result.libraries = backend->library_versions();
  }
  describe("peaks");
  result.f32_matrix_peak = matrix_peak(options, DType::kF32);
  if (bf16) result.bf16_matrix_peak = matrix_peak(options, DType::kBF16);
  for (const std::string& model : options.models) {
    for (const int64_t tokens : options.tokens) {
      describe(fmt::format("steps of {}, {} tokens", model, tokens));
      result.steps.push_back(step_share(model, tokens, options, single_rank));
    }
  }
  result.attention = attention_shares(options, single_rank, describe);
  describe("copies, and the optimizer");
  const double before = copy_peak(options);
  const OptimizerBenchmark optimizer =
      benchmark_optimizer(config_of(options.models.front(), options), options.rounds);
  // The optimizer benchmark takes seconds, in which a machine may change.
  result.copy_peak = (before + copy_peak(options)) / 2;
  result.optimizer = {.model = options.models.front(),
                      .bytes_per_second = optimizer.update_bytes_per_second(),
                      .plain_bytes_per_second = optimizer.plain_bytes_per_second()};
  return result;
}

}  // namespace strata::bench
