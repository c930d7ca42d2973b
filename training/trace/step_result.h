// The outcome of a training step, as traces record it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bert/losses.h"
#include "comm/order/operation_times.h"

namespace strata::training {

struct StepResult {
  int64_t step = 0;  // from 1
  // Over the global batches since the last step that has them.
  std::optional<bert::Losses> losses;
  double learning_rate = 0;
  int64_t tokens = 0;         // of this rank
  int64_t global_tokens = 0;  // of the global batch, without padding
  double seconds = 0;         // of this rank, the wait for data included
  double imbalance = 1;       // cost of the costliest rank over the mean (PlanOptions::cost)
  double data_seconds = 0;    // waiting for the loader, which is a batch ahead
  comm::StepTimes reduce;
  // See GradientBuckets; where there are losses, and the step was not skipped.
  std::optional<double> gradient_norm;
  std::optional<float> loss_scale;  // of this step; of model.precision fp16
  bool skipped = false;             // its gradients overflowed: no weight has changed
  // The layers that layer_drop left out, from 0, the same on all ranks; absent without layer_drop.
  std::optional<std::vector<int64_t>> dropped_layers;
};

}  // namespace strata::training
