// Measures what dropped layers save: the encoder's time compared with its arithmetic, step by step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/timing.h"
#include "config/run_config.h"

namespace strata::bench {

struct LayerDropOptions {
  int steps = 24;                  // measured steps, after two not measured
  int64_t micro_batch_tokens = 0;  // 0: batch.micro_batch sequences, whatever their tokens
  std::function<void(size_t done, size_t total)> progress;  // counts steps; may be empty
};

// A micro-batch through all layers and, in turn, through those that a training step keeps. Seconds
// cover forward and backward of all layers, without embeddings and heads.
struct LayerDropStep {
  uint64_t step = 0;  // training step, counted from 1; it decides the dropped layers
  int kept = 0;       // number of kept layers
  double all_flops = 0, kept_flops = 0;  // FLOPs of the encoder
  double all_seconds = 0, kept_seconds = 0;

  double flops_share() const { return kept_flops / all_flops; }
  double time_share() const { return kept_seconds / all_seconds; }
};

struct LayerDropBenchmark {
  std::string device;
  int layers = 0;
  int64_t tokens = 0;           // mean tokens per micro-batch
  int64_t training_steps = 0;   // the steps are spread evenly over these
  double theta = 1, gamma = 0;  // configured values
  double expected_share = 0;    // closed form over training_steps: bert::expected_share
  std::vector<LayerDropStep> steps;
  double kept_layer = 0, dropped_layer = 0;  // seconds of one layer's forward and backward; medians

  // Shares over all measured steps.
  double flops_share() const;
  double time_share() const;
  // Quartiles of time_share() / flops_share() over the steps; 1 means that time falls like
  // arithmetic.
  Quartiles time_over_flops() const;
};

// Runs on one rank, with random weights and without updates. Throws Error if the configuration
// drops no layers.
LayerDropBenchmark benchmark_layer_drop(const config::RunConfig& config,
                                        const LayerDropOptions& options);

}  // namespace strata::bench
