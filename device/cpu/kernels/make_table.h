// Collects the kernels compiled for this translation unit's instruction set.
#pragma once

#include "device/cpu/kernels/attention/attention.h"
#include "device/cpu/kernels/flat/activation.h"
#include "device/cpu/kernels/flat/elementwise.h"
#include "device/cpu/kernels/flat/float16.h"
#include "device/cpu/kernels/flat/optimizers.h"
#include "device/cpu/kernels/rows/cross_entropy.h"
#include "device/cpu/kernels/rows/embeddings.h"
#include "device/cpu/kernels/rows/layernorm.h"
#include "device/cpu/kernels/rows/standardization.h"

namespace strata::device::cpu {
namespace {

template <typename T>
constexpr TypedKernels<T> make_typed_kernels() {
  return {
      .activation_forward = activation_forward<T>,
      .activation_backward = activation_backward<T>,
      .layernorm_forward = layernorm_forward<T>,
      .layernorm_backward = layernorm_backward<T>,
      .residual_add_forward = residual_add_forward<T>,
      .residual_add_backward = residual_add_backward<T>,
      .column_moments = column_moments<T>,
      .row_moments = row_moments<T>,
      .embeddings_forward = embeddings_forward<T>,
      .embeddings_backward = embeddings_backward<T>,
      .column_sums = column_sums<T>,
      .cross_entropy = cross_entropy<T>,
      .add = add<T>,
  };
}

constexpr VectorKernels make_table(const char* instruction_set) {
  return {
      .instruction_set = instruction_set,
      .f32 = make_typed_kernels<float>(),
      .bf16 = make_typed_kernels<uint16_t>(),
      .f16 = make_typed_kernels<Float16>(),
      .scale = scaled_copy<float, float>,
      .scale_bf16 = scaled_copy<uint16_t, uint16_t>,
      .f32_to_bf16 = scaled_copy<float, uint16_t>,
      .bf16_to_f32 = scaled_copy<uint16_t, float>,
      .scale_f16 = scaled_copy<Float16, Float16>,
      .f32_to_f16 = f32_to_f16,
      .f16_to_f32 = f16_to_f32,
      .sum_of_squares_f32 = sum_of_squares<float>,
      .sum_of_squares_bf16 = sum_of_squares<uint16_t>,
      .sum_of_squares_f16 = sum_of_squares<Float16>,
      .add_f32 = add<float>,
      .attention = kAttention,
      .softmax_forward = softmax_forward,
      .softmax_backward = softmax_backward,
#define STRATA_UPDATE(function, Update, without) .function = update<Update>,
      STRATA_ELEMENTWISE_UPDATES(STRATA_UPDATE)
#undef STRATA_UPDATE
          .lamb_direction = lamb_direction,
      .lamb_apply = lamb_apply,
      .plain_pass = plain_pass,
  };
}

}  // namespace
}  // namespace strata::device::cpu
