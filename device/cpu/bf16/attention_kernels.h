// Self-attention of one head of one sequence in bf16, whose scores never leave the second-level
// cache: query block after query block.
#pragma once

#include <cstdint>

#include "device/backend.h"

namespace strata::device::cpu {

struct AttentionHead {
  int64_t length = 0, d = 0;  // tokens; a head's size, of bf16_attention_takes()
  // [length, d], rows `stride` elements apart; the stride is even.
  const uint16_t *query = nullptr, *key = nullptr, *value = nullptr;
  int64_t stride = 0;
  Dropout dropout;
  uint64_t sample_id = 0;
  uint32_t head = 0;
  float* log_sum_exp = nullptr;  // of row i at [i * log_sum_exp_stride]: written forward, then read
  int64_t log_sum_exp_stride = 0;
};

// Gradients of a head. Rows of d_context, and of the other three, are so many elements apart.
struct AttentionHeadGradients {
  const uint16_t* d_context = nullptr;
  int64_t d_context_stride = 0;
  const float* delta = nullptr;  // [length]: dot of the context and its gradient
  uint16_t *d_query = nullptr, *d_key = nullptr, *d_value = nullptr;
  int64_t d_stride = 0;
};

// `scratch`: so many bytes, 64-byte aligned, of the calling thread's own.
struct Bf16Attention {
  int64_t (*forward_scratch)(int64_t length, int64_t d);
  int64_t (*backward_scratch)(int64_t length, int64_t d);
  void (*forward)(const AttentionHead&, uint16_t* context, int64_t context_stride, void* scratch);
  void (*backward)(const AttentionHead&, const AttentionHeadGradients&, void* scratch);
};

// A head's sizes that it is made for.
constexpr bool bf16_attention_takes(int64_t d) { return d % 16 == 0 && d <= 128; }

// Fatal where the processor lacks AVX-512 BF16; see multiplies_bf16_pairs().
const Bf16Attention& bf16_attention();

}  // namespace strata::device::cpu
