// What dropped layers save: the encoder's time against its arithmetic, step by step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/run_config.h"

namespace strata::bench {

struct LayerDropOptions {
  int steps = 24;                  // measured, after two that are not
  int64_t micro_batch_tokens = 0;  // 0: batch.micro_batch sequences, whatever their tokens
  std::function<void(size_t done, size_t total)> progress;  // of steps; may be empty
};

// A micro-batch through all layers and, in turn, through those that a step of training keeps.
// Seconds of the encoder: forward and backward of all layers, without embeddings and heads.
struct LayerDropStep {
  uint64_t step = 0;  // of training, from 1: its layers are drawn as training draws them
  int kept = 0;       // layers
  double all_flops = 0, kept_flops = 0;  // of the encoder
  double all_seconds = 0, kept_seconds = 0;

  double flops_share() const { return kept_flops / all_flops; }
  double time_share() const { return kept_seconds / all_seconds; }
};

struct LayerDropBenchmark {
  std::string device;
  int layers = 0;
  int64_t tokens = 0;           // a micro-batch, in the mean
  int64_t training_steps = 0;   // over which the steps lie evenly
  double theta = 1, gamma = 0;  // as configured
  double expected_share = 0;    // closed form over training_steps: bert::expected_share
  std::vector<LayerDropStep> steps;
  double kept_layer = 0, dropped_layer = 0;  // seconds of one, forward and backward; medians

  // Over all measured steps.
  double flops_share() const;
  double time_share() const;
  // Of time_share() / flops_share() over the steps, rising: 1 where time falls as arithmetic.
  struct Quartiles {
    double lower = 0, median = 0, upper = 0;
  };
  Quartiles time_over_flops() const;
};

// On one rank, with random weights and without updates. Throws Error where the configuration drops
// no layers.
LayerDropBenchmark benchmark_layer_drop(const config::RunConfig& config,
                                        const LayerDropOptions& options);

}  // namespace strata::bench
