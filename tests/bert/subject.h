// A model under test.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "bert/model/model.h"
#include "tests/bert/golden.h"

namespace strata::bert {

// A model of `golden` with the golden weights.
struct Subject {
  Subject(device::Backend& backend_, const BertConfig& config, const data::PackedBatch& batch,
          const ModelOptions& options = {})
      : backend(backend_), model(config, backend_, capacity_of(batch), options) {
    model.set_weights(config.norm == Norm::kPre    ? golden_pre_norm_weights(model.layout())
                      : config.norm == Norm::kNone ? golden_affine_weights(config)
                                                   : golden_weights(model.layout()));
  }

  static BatchCapacity capacity_of(const data::PackedBatch& batch) {
    return {static_cast<int64_t>(batch.tokens.size()),
            static_cast<int64_t>(batch.sample_ids.size()),
            static_cast<int64_t>(batch.masked_ids.size())};
  }

  std::vector<double> gradients() { return download(model.gradients()); }
  std::vector<double> download(const device::Tensor& tensor) {
    std::vector<double> values(static_cast<size_t>(tensor.size()));
    if (tensor.dtype == device::DType::kF64) {
      backend.copy_to_host(device::Stream::kCompute, values.data(), tensor.data, tensor.bytes());
      backend.synchronize(device::Stream::kCompute);
    } else {
      std::vector<float> floats(values.size());
      backend.copy_to_host(device::Stream::kCompute, floats.data(), tensor.data, tensor.bytes());
      backend.synchronize(device::Stream::kCompute);
      values.assign(floats.begin(), floats.end());
    }
    return values;
  }

  // Fills the arena's parameters with NaN, because a step may find any old values there.
  void spoil_gradients() {
    const device::Tensor all = model.gradients();
    const size_t size = size_of(all.dtype);
    for (const Parameter& p : model.layout().all) {
      const std::vector<std::byte> nan(static_cast<size_t>(p.size()) * size, std::byte{0xff});
      backend.copy_to_device(device::Stream::kCompute,
                             all.as<char>() + static_cast<size_t>(p.offset) * size, nan.data(),
                             nan.size());
      backend.synchronize(device::Stream::kCompute);
    }
  }

  device::Backend& backend;
  Model model;
};

// Scales that make the loss the mean over masked positions plus the mean over sequences. They are
// powers of two in the golden batch, hence exact.
inline TrainingStep mean_step(const data::PackedBatch& batch) {
  TrainingStep step;
  step.seed = 5;
  step.step = 3;
  step.masked_lm_scale = 1.0f / static_cast<float>(batch.masked_ids.size());
  step.next_sentence_scale = 1.0f / static_cast<float>(batch.sample_ids.size());
  step.token_scale = 1.0f / static_cast<float>(batch.tokens.size());
  return step;
}

// Returns the largest magnitude; infinity if a value is not finite.
inline double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
    result = std::max(result, std::abs(value));
  }
  return result;
}

}  // namespace strata::bert
