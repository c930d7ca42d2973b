// Self-attention of one head of one sequence in bf16. Scores of 12 queries at a time stay in the
// first-level cache, as do the probabilities of 48 (forward) or 96 (backward) queries.
#pragma once

#include <cstdint>

#include "device/backend.h"

namespace strata::device::cpu {

struct AttentionHead {
  int64_t length = 0, d = 0;  // tokens; head size, see bf16_attention_takes()
  // [length, d], rows `stride` elements apart; the stride is even.
  const uint16_t *query = nullptr, *key = nullptr, *value = nullptr;
  int64_t stride = 0;
  Dropout dropout;
  uint64_t sample_id = 0;
  uint32_t head = 0;
  // Row i at [i * log_sum_exp_stride]; forward writes it, backward reads it.
  float* log_sum_exp = nullptr;
  int64_t log_sum_exp_stride = 0;
};

// Gradients of a head, all [length, d]. Rows of d_context are `d_context_stride` elements apart, an
// even number. Rows of d_query, d_key and d_value, which are overwritten, are `d_stride` elements
// apart.
struct AttentionHeadGradients {
  const uint16_t* d_context = nullptr;
  int64_t d_context_stride = 0;
  uint16_t *d_query = nullptr, *d_key = nullptr, *d_value = nullptr;
  int64_t d_stride = 0;
};

// `forward` writes context [length, d], with rows `context_stride` apart. `scratch` must have the
// number of bytes that the first two functions return, 64-byte aligned, and must not be shared
// between threads.
struct Bf16Attention {
  int64_t (*forward_scratch)(int64_t length, int64_t d);
  int64_t (*backward_scratch)(int64_t length, int64_t d);
  void (*forward)(const AttentionHead&, uint16_t* context, int64_t context_stride, void* scratch);
  void (*backward)(const AttentionHead&, const AttentionHeadGradients&, void* scratch);
};

// True if heads of size d are supported.
constexpr bool bf16_attention_takes(int64_t d) { return d % 16 == 0 && d <= 128; }

// The process crashes if the processor lacks AVX-512 BF16; see multiplies_bf16_pairs().
const Bf16Attention& bf16_attention();

}  // namespace strata::device::cpu
