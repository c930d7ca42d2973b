// The outcome of a training step, as traces record it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bert/losses.h"
#include "comm/order/operation_times.h"

namespace strata::training {

struct StepResult {
  int64_t step = 0;  // counted from 1
  // Sums over this step and those since losses were last read; absent if this step reads none.
  std::optional<bert::Losses> losses;
  double learning_rate = 0;
  int64_t tokens = 0;         // this rank's tokens
  int64_t global_tokens = 0;  // tokens of the global batch, without padding
  double seconds = 0;         // this rank's time, with the wait for data
  double imbalance = 1;       // costliest rank's cost over the mean (PlanOptions::cost)
  double data_seconds = 0;    // wait for the loader, which reads a batch ahead
  comm::StepTimes reduce;
  // See GradientBuckets. Absent if the step has no losses or was skipped.
  std::optional<double> gradient_norm;
  std::optional<float> loss_scale;  // only with model.precision fp16
  bool skipped = false;             // gradients overflowed, so no weight has changed
  // Layers that layer_drop left out, counted from 0, the same on all ranks; absent without
  // layer_drop.
  std::optional<std::vector<int64_t>> dropped_layers;
};

}  // namespace strata::training
