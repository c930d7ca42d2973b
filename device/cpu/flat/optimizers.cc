// The optimizers' passes over flat ranges.
#include "device/cpu/flat/flat_ranges.h"
#include "device/cpu/operations.h"

namespace strata::device::cpu {
namespace {

float gradient_factor(const GradientClip& clip) {
  return clip.scale * (clip.norm_squared ? clip_factor(clip.norm_squared, clip.max_norm) : 1.0f);
}

template <typename Op>
void update(const Context& context, const Op& op,
            void (*kernel)(const Op&, int64_t begin, int64_t end, float factor)) {
  const float factor = gradient_factor(op.clip);
  parallel_elements(context.threads, op.weights.size(),
                    [&](int64_t begin, int64_t end) { kernel(op, begin, end, factor); });
}

}  // namespace

#define STRATA_UPDATE(function, Update, without)                            \
  void FlatOperations::function(const Context& context, const Update& op) { \
    update(context, op, context.kernels.function);                          \
  }
STRATA_ELEMENTWISE_UPDATES(STRATA_UPDATE)
#undef STRATA_UPDATE

void FlatOperations::lamb_direction(const Context& context, const LambDirection& op) {
  const float factor = gradient_factor(op.clip);
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
