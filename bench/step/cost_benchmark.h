// Measures this machine's cost of a sample as a function of its length.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "loadbalance/cost_fit.h"
#include "training/ranks/ranks.h"

namespace strata::bench {

struct CostBenchmarkOptions {
  int rounds = 5;                  // measured rounds, after one not measured
  int64_t micro_batch_tokens = 0;  // 0: tokens of batch.micro_batch samples of the longest length
  std::function<void(size_t done, size_t total)> progress;  // counts batches; may be empty
};

// A batch of samples with one length.
struct EqualBatch {
  int32_t length = 0;
  int64_t samples = 0;
  double seconds = 0;  // forward and backward: median over the rounds, mean over the ranks

  loadbalance::BatchTime time() const {
    const auto count = static_cast<double>(samples), s = static_cast<double>(length);
    return {count * s, count * s * s, seconds};
  }
};

struct CostBenchmark {
  std::string device;
  int ranks = 1;
  loadbalance::CostFit fit;
  std::vector<EqualBatch> batches;

  // Returns how far the fit exceeds the measured time, relative to it.
  double relative_error(const EqualBatch& batch) const {
    return fit.seconds(batch.time()) / batch.seconds - 1;
  }
};

// Times forward and backward of the configured model, with random weights, on batches of equally
// long samples. All lengths have the same number of tokens, which shows what a token costs at each
// length. The shorter ones also run with half as many, which shows a batch's constant cost. Every
// round covers all batches, so that a disturbance affects all alike. Needs no data. All ranks call
// together.
CostBenchmark benchmark_costs(const config::RunConfig& config, const CostBenchmarkOptions& options,
                              const training::Ranks& ranks);

}  // namespace strata::bench
