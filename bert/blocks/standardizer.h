// The standardization loss of a model without LayerNorm (bert/norm.h). It is computed in backward,
// so that evaluation leaves it out and recomputed forwards do not count it twice.
#pragma once

#include "bert/batches/micro_batch.h"
#include "bert/config.h"
#include "device/memory/buffer.h"

namespace strata::bert {

// Meaning of a tensor's rows.
enum class RowsOf : uint8_t { kTokens, kMaskedPositions };

class Standardizer {
 public:
  // Allocates memory for the statistics of one micro-batch of up to `capacity`. `backend` must
  // outlive this object.
  Standardizer(device::Backend& backend, const BertConfig& config, const BatchCapacity& capacity,
               device::StandardizationAxis axis);

  // Adds the loss of x [rows, H], compute dtype, to the totals, on kCompute; ignores padding rows.
  // Returns what x's gradient is computed from: statistics, in memory that the next call
  // overwrites, and a factor (weight, mean over the global batch, loss scale).
  device::StandardizationGradient gradient(const MicroBatch& micro_batch, RowsOf rows,
                                           device::ConstTensor x);
  // Returns the unweighted losses since the last call, summed over rows and places in the model.
  // `count` is the number of these rows. Waits for the device.
  device::LossTotals take_totals();

 private:
  device::Backend& backend_;
  device::StandardizationAxis axis_;
  device::Buffer mean_, slope_;  // [H] or [rows] master dtype
  device::Buffer totals_;
  device::HostBuffer host_totals_;  // host copy for take_totals()
};

}  // namespace strata::bert
