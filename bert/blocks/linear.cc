#include "bert/blocks/linear.h"

namespace strata::bert {

using device::ConstTensor;
using device::Float8Copy;
using device::Tensor;

namespace {

// Returns the operand of a GEMM: the FP8 copy if it has data.
ConstTensor operand(const ConstTensor& tensor, const Float8Copy& copy) {
  return copy.data ? copy.data : tensor;
}

Float8Copy copy_in(const device::Buffer& buffer, device::DType dtype, int64_t rows, int64_t cols,
                   const Float8Scales::Scaling& scaling) {
  Float8Copy copy{.amax = scaling.amax};
  if (scaling.scale) copy.data = {buffer.data(), dtype, rows, cols, scaling.scale};
  return copy;
}

}  // namespace

Linear::Linear(const BlockContext& context, const LinearPlace& place, const Float8& float8)
    : context_(context), place_(place), float8_(float8) {
  if (!float8.scales) return;
  weight_float8_ = device::Buffer(context.backend, static_cast<size_t>(place.weight.size()));
}

Linear::Saved Linear::make_saved() const {
  if (!float8_.scales) return {};
  const int64_t in = place_.weight.cols;
  return {device::Buffer(context_.backend, static_cast<size_t>(context_.capacity.tokens * in))};
}

Float8Copy Linear::x_copy(const MicroBatch& micro_batch, const Saved& saved) const {
  if (!float8_.scales) return {};
  return copy_in(saved.x_float8, device::DType::kE4M3, micro_batch.tokens(), place_.weight.cols,
                 float8_.scales->gemm(float8_.number, micro_batch.training).x);
}

Float8Copy Linear::dy_copy(const MicroBatch& micro_batch) const {
  if (!float8_.scales) return {};
  return copy_in(*float8_.dy, device::DType::kE5M2, micro_batch.tokens(), place_.weight.rows,
                 float8_.scales->gemm(float8_.number, micro_batch.training).dy);
}

Float8Copy Linear::weight_copy(const MicroBatch& micro_batch) const {
  if (!float8_.scales) return {};
  return copy_in(weight_float8_, device::DType::kE4M3, place_.weight.rows, place_.weight.cols,
                 float8_.scales->gemm(float8_.number, micro_batch.training).weight);
}

void Linear::forward(const MicroBatch& micro_batch, const Saved& saved,
                     device::LinearForward op) const {
  const ConstTensor weight = context_.parameters.weight(place_.weight);
  const Float8Copy copy = weight_copy(micro_batch);
  // A micro-batch that accumulates uses the weights of the one before, which are rounded already.
  const bool rounded = micro_batch.training && micro_batch.accumulate;
  if (copy && !rounded) context_.backend.round_to_float8(kCompute, {weight, copy});
  op.x = operand(op.x, x_copy(micro_batch, saved));
  op.weight = operand(weight, copy);
  op.bias = context_.parameters.weight(place_.bias);
  context_.backend.linear_forward(kCompute, op);
}

device::ColumnSums Linear::bias_sums(const MicroBatch& micro_batch, bool& done) const {
  return {context_.parameters.gradient(place_.bias), micro_batch.accumulate, &done};
}

void Linear::weight_gradient(const MicroBatch& micro_batch, const Saved& saved, ConstTensor x,
                             ConstTensor dy, bool bias_is_done) const {
  context_.backend.linear_weight_gradient(
      kCompute, {.x = operand(x, x_copy(micro_batch, saved)),
                 .dy = operand(dy, dy_copy(micro_batch)),
                 .accumulate = micro_batch.accumulate,
                 .d_weight = context_.parameters.gradient(place_.weight),
                 .d_bias = bias_is_done ? Tensor() : context_.parameters.gradient(place_.bias)});
}

void Linear::data_gradient(const MicroBatch& micro_batch, device::LinearDataGradient op) const {
  op.dy = operand(op.dy, dy_copy(micro_batch));
  op.weight = operand(context_.parameters.weight(place_.weight), weight_copy(micro_batch));
  context_.backend.linear_data_gradient(kCompute, op);
}

Tensor stored(const Tensor& output, const Float8Copy& copy) {
  Tensor result = output;
  if (copy.data) result.data = nullptr;
  return result;
}

}  // namespace strata::bert
