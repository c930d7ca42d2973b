// y = LayerNorm(residual + scale * dropout(x)): after a sublayer; of pre-LN between two of them,
// with the sum kept, and without a residual before the first. Of a model without LayerNorm gamma *
// sum + beta, with the standardization loss of the sum.
#pragma once

#include "bert/blocks/block.h"
#include "bert/blocks/standardizer.h"

namespace strata::bert {

class ResidualNorm {
 public:
  // What forward leaves for backward.
  struct Saved {
    device::Buffer normalized;      // [rows, H]
    device::Buffer inverse_stddev;  // [rows] master dtype; empty without LayerNorm
  };
  // Where dropout stands in the model; the masked-LM head has none.
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

  // `op`: x, y, the residual where there is one, scale, sum, y_float8; the rest is filled in.
  void forward(const MicroBatch& micro_batch, const Saved& saved,
               device::ResidualLayerNormForward op) const;
  // `op`: dy, d_sum, scale, d_x, d_residual where there is a residual, d_x_float8; the rest is
  // filled in.
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
