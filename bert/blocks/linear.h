// A linear layer: y = activation(x weight^T + bias). It computes in the compute dtype or, if it has
// scales, in FP8 (E4M3, gradients E5M2) from the second step on.
#pragma once

#include "bert/blocks/block.h"
#include "bert/float8_scales.h"

namespace strata::bert {

class Linear {
 public:
  // `number` is the index of this layer's GEMM in `scales`. `dy` is memory for dy, [T, out], which
  // layers may share.
  struct Float8 {
    Float8Scales* scales = nullptr;  // null: the compute dtype
    int64_t number = 0;
    const device::Buffer* dy = nullptr;
  };
  // Activations that forward keeps for backward, besides x, which the caller keeps.
  struct Saved {
    device::Buffer x_float8;  // [T, in]; empty without FP8
  };

  Linear(const BlockContext& context, const LinearPlace& place)
      : Linear(context, place, Float8()) {}
  Linear(const BlockContext& context, const LinearPlace& place, const Float8& float8);

  Saved make_saved() const;

  // Return FP8 memory for a copy of x, or of dy, for this layer's GEMMs. The operation that
  // computes the tensor also writes the copy. If the copy has data, these GEMMs do not read the
  // tensor. If nothing else reads it either, it need not be stored: see stored().
  device::Float8Copy x_copy(const MicroBatch& micro_batch, const Saved& saved) const;
  device::Float8Copy dy_copy(const MicroBatch& micro_batch) const;

  // Computes `op`, in which the caller sets all but weight and bias. Reads x_copy() if it has data.
  void forward(const MicroBatch& micro_batch, const Saved& saved, device::LinearForward op) const;
  // Returns memory for the bias gradient, for the operation that computes dy. That operation keeps
  // a pointer to `done`, and sets it if it wrote the gradient. Pass `done` to weight_gradient().
  device::ColumnSums bias_sums(const MicroBatch& micro_batch, bool& done) const;
  // Computes the weight gradient, and the bias gradient unless `bias_is_done`.
  void weight_gradient(const MicroBatch& micro_batch, const Saved& saved, device::ConstTensor x,
                       device::ConstTensor dy, bool bias_is_done = false) const;
  // Computes `op`, in which the caller sets all but the weight. Reads dy_copy() instead of dy if it
  // has data.
  void data_gradient(const MicroBatch& micro_batch, device::LinearDataGradient op) const;

 private:
  device::Float8Copy weight_copy(const MicroBatch& micro_batch) const;

  const BlockContext& context_;
  LinearPlace place_;
  Float8 float8_;
  device::Buffer weight_float8_;  // [out, in]; empty without FP8
};

// Returns `output`, without its memory if `copy` has data. For outputs that only GEMMs read.
device::Tensor stored(const device::Tensor& output, const device::Float8Copy& copy);

}  // namespace strata::bert
