// A linear layer: y = activation(x weight^T + bias), in the compute dtype or, where it is given
// scales, in FP8 (E4M3, gradients E5M2) from the second step on.
#pragma once

#include "bert/blocks/block.h"
#include "bert/float8_scales.h"

namespace strata::bert {

class Linear {
 public:
  // Its GEMM is number `number` of those that `scales` are kept of; `dy`: memory for dy, [T, out],
  // which layers may share.
  struct Float8 {
    Float8Scales* scales = nullptr;  // null: the compute dtype
    int64_t number = 0;
    const device::Buffer* dy = nullptr;
  };
  // What forward leaves for backward besides x, which is the caller's.
  struct Saved {
    device::Buffer x_float8;  // [T, in]; empty without FP8
  };

  Linear(const BlockContext& context, const LinearPlace& place)
      : Linear(context, place, Float8()) {}
  Linear(const BlockContext& context, const LinearPlace& place, const Float8& float8);

  Saved make_saved() const;

  // Where whoever computes x, or dy, also writes it for this layer's GEMMs. With data in it,
  // nothing else reads the tensor and it need not be stored: see stored().
  device::Float8Copy x_copy(const MicroBatch& micro_batch, const Saved& saved) const;
  device::Float8Copy dy_copy(const MicroBatch& micro_batch) const;

  // `op`: x, y and, where there is one, the activation; weight and bias are filled in.
  void forward(const MicroBatch& micro_batch, const Saved& saved, device::LinearForward op) const;
  // Returns where the operation that computes dy may write the bias gradient. That operation sets
  // `done`, which it keeps a pointer to, if it does. Pass `done` to weight_gradient.
  device::ColumnSums bias_sums(const MicroBatch& micro_batch, bool& done) const;
  // Computes the weight's gradient, and the bias's unless `bias_is_done`.
  void weight_gradient(const MicroBatch& micro_batch, const Saved& saved, device::ConstTensor x,
                       device::ConstTensor dy, bool bias_is_done = false) const;
  // `op`: dy, dx and, where x came from one, the activation; the weight is filled in.
  void data_gradient(const MicroBatch& micro_batch, device::LinearDataGradient op) const;

 private:
  device::Float8Copy weight_copy(const MicroBatch& micro_batch) const;

  const BlockContext& context_;
  LinearPlace place_;
  Float8 float8_;
  device::Buffer weight_float8_;  // [out, in]; empty without FP8
};

// An output that GEMMs alone read: only its shape where `copy` has data.
device::Tensor stored(const device::Tensor& output, const device::Float8Copy& copy);

}  // namespace strata::bert
