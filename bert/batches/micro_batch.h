// A micro-batch, as blocks see it.
#pragma once

#include "bert/batches/device_batch.h"
#include "device/operations/dropout.h"

namespace strata::bert {

// Numbers that a step's operations read from device memory when they run.
struct StepValues {
  uint64_t dropout_key = 0;
  float masked_lm_scale = 0;
  float next_sentence_scale = 0;
  // Gradient scales of StandardizationLoss, over tokens and over masked positions.
  float standardization_scale = 0;
  float masked_standardization_scale = 0;
};

struct MicroBatch {
  const DeviceBatch* batch = nullptr;
  const StepValues* step = nullptr;     // device memory
  bool training = false;                // enables dropout and gradients
  bool accumulate = false;              // adds to gradients; false: overwrites them
  const float* layer_scales = nullptr;  // one per layer, in host memory; null: all are 1

  int64_t tokens() const { return batch->sequences.tokens; }
  // Factor of a layer's sublayers before they are added to the residual stream; 0 drops the layer
  // (bert/blocks/layer_drop.h).
  float layer_scale(size_t layer) const { return layer_scales ? layer_scales[layer] : 1.0f; }

  // Dropout of one site in the model; disabled in evaluation.
  device::Dropout dropout(float probability, size_t layer, device::DropoutSite site) const {
    if (!training || probability == 0.0f) return {};
    return {probability, device::value_at(&step->dropout_key),
            device::dropout_place(static_cast<uint32_t>(layer), site)};
  }
};

}  // namespace strata::bert
