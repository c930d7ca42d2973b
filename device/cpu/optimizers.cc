// The optimizers' passes over flat ranges.
#include "device/cpu/flat_ranges.h"
#include "device/cpu/operations.h"

namespace strata::device::cpu {
namespace {

// What multiplies the gradient of an AdamUpdate or a LambDirection.
template <typename Op>
float gradient_factor(const Op& op) {
  return op.gradient_scale * (op.norm_squared ? clip_factor(op.norm_squared, op.max_norm) : 1.0f);
}

}  // namespace

void FlatOperations::adam_update(const Context& context, const AdamUpdate& op) {
  const float factor = gradient_factor(op);
  parallel_elements(context.threads, op.weights.size(), [&](int64_t begin, int64_t end) {
    context.kernels.adam(op, begin, end, factor);
  });
}

void FlatOperations::lamb_direction(const Context& context, const LambDirection& op) {
  const float factor = gradient_factor(op);
  *op.norms += block_sums(context, op.weights.size(), [&](int64_t begin, int64_t end) {
    return context.kernels.lamb_direction(op, begin, end, factor);
  });
}

void FlatOperations::lamb_apply(const Context& context, const LambApply& op) {
  const auto rate = static_cast<float>(op.learning_rate.now() * op.norms->trust_ratio());
  parallel_elements(context.threads, op.weights.size(), [&](int64_t begin, int64_t end) {
    context.kernels.lamb_apply(op, begin, end, rate);
  });
}

}  // namespace strata::device::cpu
