// The standardization loss of a model without LayerNorm (bert/norm.h), computed in backward: never
// in evaluation, and once where forward runs again.
#pragma once

#include "bert/batches/micro_batch.h"
#include "bert/config.h"
#include "device/memory/buffer.h"

namespace strata::bert {

// What the rows of a tensor are.
enum class RowsOf : uint8_t { kTokens, kMaskedPositions };

class Standardizer {
 public:
  // With memory for the statistics of one micro-batch of up to `capacity`. `backend` outlives it.
  Standardizer(device::Backend& backend, const BertConfig& config, const BatchCapacity& capacity,
               device::StandardizationAxis axis);

  // On kCompute: adds the loss of x [rows, H], compute dtype, to the totals; rows of padding do not
  // count. Returns what the gradient with respect to x is made of, weight and loss scale included;
  // it lies in memory that the next call overwrites.
  device::StandardizationGradient gradient(const MicroBatch& micro_batch, RowsOf rows,
                                           device::ConstTensor x);
  // The losses before their weight, summed over rows and places since the last call; count: as many
  // rows. Waits for the device.
  device::LossTotals take_totals();

 private:
  device::Backend& backend_;
  device::StandardizationAxis axis_;
  device::Buffer mean_, slope_;  // [H] or [rows] master dtype
  device::Buffer totals_;
  device::HostBuffer host_totals_;  // the same, for take_totals()
};

}  // namespace strata::bert
