// Conversion, norms and clipping over flat ranges.
#include "base/error.h"
#include "device/cpu/flat/flat_ranges.h"
#include "device/cpu/operations.h"

namespace strata::device::cpu {

void FlatOperations::convert(const Context& context, const Convert& op) {
  const DType from = op.source.dtype, to = op.destination.dtype;
  parallel_elements(context.threads, op.source.size(), [&](int64_t begin, int64_t end) {
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
    } else if (from == DType::kF32 && to == DType::kF16) {
      context.kernels.f32_to_f16(count, op.scale, op.source.as<float>() + begin,
                                 op.destination.as<Float16>() + begin);
    } else if (from == DType::kF16 && to == DType::kF32) {
      context.kernels.f16_to_f32(count, op.scale, op.source.as<Float16>() + begin,
                                 op.destination.as<float>() + begin);
    } else if (from == DType::kF16 && to == DType::kF16) {
      context.kernels.scale_f16(count, op.scale, op.source.as<Float16>() + begin,
                                op.destination.as<Float16>() + begin);
    } else {
      fail("the cpu backend converts between f32 and bf16 or f16, not {} to {}", name_of(from),
           name_of(to));
    }
  });
}

void FlatOperations::l2_norm_squared(const Context& context, const L2NormSquared& op) {
  *op.norm_squared += block_sums(context, op.x.size(), [&](int64_t begin, int64_t end) {
    const int64_t count = end - begin;
    switch (op.x.dtype) {
      case DType::kF32:
        return context.kernels.sum_of_squares_f32(count, op.x.as<float>() + begin);
      case DType::kF16:
        return context.kernels.sum_of_squares_f16(count, op.x.as<Float16>() + begin);
      default:
        return context.kernels.sum_of_squares_bf16(count, op.x.as<uint16_t>() + begin);
    }
  });
}

void FlatOperations::clip_to_norm(const Context& context, const ClipToNorm& op) {
  const float factor = clip_factor(op.norm_squared, op.max_norm);
  if (factor == 1.0f && !op.destination) return;
  convert(context, {op.x, factor, op.destination ? op.destination : op.x});
}

}  // namespace strata::device::cpu
