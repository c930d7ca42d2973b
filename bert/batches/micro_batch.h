// A micro-batch as blocks see it.
#pragma once

#include "bert/batches/device_batch.h"
#include "device/operations/dropout.h"

namespace strata::bert {

// What the operations of a step read when they run; in device memory.
struct StepValues {
  uint64_t dropout_key = 0;
  float masked_lm_scale = 0;
  float next_sentence_scale = 0;
  // Of StandardizationLoss, over tokens and over masked positions.
  float standardization_scale = 0;
  float masked_standardization_scale = 0;
};

struct MicroBatch {
  const DeviceBatch* batch = nullptr;
  const StepValues* step = nullptr;  // device memory
  bool training = false;             // with dropout and gradients
  bool accumulate = false;  // not its step's first: parameter gradients are added to what is there
  const float* layer_scales = nullptr;  // of every layer, in host memory; null: 1

  int64_t tokens() const { return batch->sequences.tokens; }
  // What a layer's sublayers are multiplied by before they are added to the residual stream; 0: the
  // layer is dropped (bert/blocks/layer_drop.h).
  float layer_scale(size_t layer) const { return layer_scales ? layer_scales[layer] : 1.0f; }

  // Of one place in the model; none in evaluation.
  device::Dropout dropout(float probability, size_t layer, device::DropoutSite site) const {
    if (!training || probability == 0.0f) return {};
    return {probability, device::value_at(&step->dropout_key),
            device::dropout_place(static_cast<uint32_t>(layer), site)};
  }
};

}  // namespace strata::bert
