// Conversion, norms, clipping and the optimizer's pass over flat ranges.
#include <cmath>

#include "base/error.h"
#include "device/cpu/operations.h"

namespace strata::device::cpu {
namespace {

// Ranges are split at multiples of this, so that a split never depends on alignment.
constexpr int64_t kGrain = 4096;

template <typename Work>
void parallel_elements(const Context& context, int64_t count, const Work& work) {
  parallel_ranges(context.threads, (count + kGrain - 1) / kGrain,
                  [&](int64_t begin, int64_t end, int) {
                    work(begin * kGrain, std::min(end * kGrain, count));
                  });
}

float clip_factor(const double* norm_squared, float max_norm) {
  const double norm = std::sqrt(*norm_squared);
  return norm > max_norm ? static_cast<float>(max_norm / norm) : 1.0f;
}

}  // namespace

void convert(const Context& context, const Convert& op) {
  const DType from = op.source.dtype, to = op.destination.dtype;
  parallel_elements(context, op.source.size(), [&](int64_t begin, int64_t end) {
    const int64_t count = end - begin;
    if (from == DType::kF32 && to == DType::kF32) {
      context.kernels.scale(count, op.scale, op.source.as<float>() + begin,
                            op.destination.as<float>() + begin);
    } else if (from == DType::kF32 && to == DType::kBF16) {
      context.kernels.f32_to_bf16(count, op.scale, op.source.as<float>() + begin,
                                  op.destination.as<uint16_t>() + begin);
    } else if (from == DType::kBF16 && to == DType::kF32) {
      context.kernels.bf16_to_f32(count, op.scale, op.source.as<uint16_t>() + begin,
                                  op.destination.as<float>() + begin);
    } else if (from == DType::kBF16 && to == DType::kBF16) {
      context.kernels.scale_bf16(count, op.scale, op.source.as<uint16_t>() + begin,
                                 op.destination.as<uint16_t>() + begin);
    } else {
      fail("the cpu backend converts between f32 and bf16, not {} to {}", name_of(from),
           name_of(to));
    }
  });
}

void l2_norm_squared(const Context& context, const L2NormSquared& op) {
  const int64_t blocks = (op.x.size() + kGrain - 1) / kGrain;
  double* parts = context.scratch[0].get<double>(std::max<int64_t>(blocks, 1));
  parallel_ranges(context.threads, blocks, [&](int64_t first, int64_t last, int) {
    for (int64_t block = first; block < last; ++block) {
      const int64_t begin = block * kGrain, count = std::min(kGrain, op.x.size() - begin);
      parts[block] = op.x.dtype == DType::kF32
                         ? context.kernels.sum_of_squares_f32(count, op.x.as<float>() + begin)
                         : context.kernels.sum_of_squares_bf16(count, op.x.as<uint16_t>() + begin);
    }
  });
  for (int64_t block = 0; block < blocks; ++block) *op.norm_squared += parts[block];
}

void clip_to_norm(const Context& context, const ClipToNorm& op) {
  const float factor = clip_factor(op.norm_squared, op.max_norm);
  if (factor == 1.0f) return;
  convert(context, {op.x, factor, op.x});
}

void adam_update(const Context& context, const AdamUpdate& op) {
  const float clip = op.norm_squared ? clip_factor(op.norm_squared, op.max_norm) : 1.0f;
  parallel_elements(context, op.weights.size(), [&](int64_t begin, int64_t end) {
    context.kernels.adam(op, begin, end, op.gradient_scale * clip);
  });
}

}  // namespace strata::device::cpu
