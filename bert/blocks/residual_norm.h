// y = LayerNorm(sum), sum = residual + scale * dropout(x), after a sublayer. With pre-LN, y =
// LayerNorm(x) before a layer's first sublayer, as in the heads; before the second, the sum is also
// returned. Without LayerNorm, y = gamma * sum + beta, with the standardization loss of the sum.
#pragma once

#include "bert/blocks/block.h"
#include "bert/blocks/standardizer.h"

namespace strata::bert {

class ResidualNorm {
 public:
  // Activations that forward keeps for backward.
  struct Saved {
    device::Buffer normalized;      // [rows, H]
    device::Buffer inverse_stddev;  // [rows] master dtype; empty without LayerNorm
  };
  // Site of the dropout in the model. Without a residual there is none.
  struct DropoutPlace {
    float probability = 0;
    size_t layer = 0;
    device::DropoutSite site = device::DropoutSite::kOutput;
  };

  ResidualNorm(const BlockContext& context, const LayerNormPlace& place,
               RowsOf rows = RowsOf::kTokens)
      : ResidualNorm(context, place, DropoutPlace(), rows) {}
  ResidualNorm(const BlockContext& context, const LayerNormPlace& place,
               const DropoutPlace& dropout, RowsOf rows = RowsOf::kTokens)
      : context_(context), place_(place), dropout_(dropout), rows_(rows) {}

  Saved make_saved() const;

  // Computes `op`, in which the caller sets x, y and, if they apply, residual, scale, sum and
  // y_float8. Fills in the rest.
  void forward(const MicroBatch& micro_batch, const Saved& saved,
               device::ResidualLayerNormForward op) const;
  // Computes `op`, in which the caller sets dy, d_x and, if they apply, d_sum, scale, d_x_float8,
  // d_x_sums and d_residual. Fills in the rest.
  void backward(const MicroBatch& micro_batch, const Saved& saved,
                device::ResidualLayerNormBackward op) const;

 private:
  device::Tensor normalized(const Saved& saved, int64_t rows) const;
  device::Tensor inverse_stddev(const Saved& saved, int64_t rows) const;
  device::Dropout dropout(const MicroBatch& micro_batch) const;

  const BlockContext& context_;
  LayerNormPlace place_;
  DropoutPlace dropout_;
  RowsOf rows_;
};

}  // namespace strata::bert
