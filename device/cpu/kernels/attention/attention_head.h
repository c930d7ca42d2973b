// Self-attention of one head of one sequence.
#pragma once

#include <cstdint>

#include "device/backend.h"

namespace strata::device::cpu {

// The softmax of a head's scores.
struct HeadSoftmax {
  int64_t length = 0, d = 0;  // tokens; head size
  Dropout dropout;
  uint64_t sample_id = 0;
  uint32_t head = 0;
  // Row i at [i * log_sum_exp_stride]; forward writes it, backward reads it.
  float* log_sum_exp = nullptr;
  int64_t log_sum_exp_stride = 0;
};

// T: float, Float16, or uint16_t for bfloat16.
template <typename T>
struct AttentionHead : HeadSoftmax {
  // [length, d], rows `stride` elements apart.
  const T *query = nullptr, *key = nullptr, *value = nullptr;
  int64_t stride = 0;
};

// Gradients of a head, all [length, d]. Rows of d_context are `d_context_stride` elements apart.
// Rows of d_query, d_key and d_value, which are overwritten, are `d_stride` elements apart.
template <typename T>
struct AttentionHeadGradients {
  const T* d_context = nullptr;
  int64_t d_context_stride = 0;
  T *d_query = nullptr, *d_key = nullptr, *d_value = nullptr;
  int64_t d_stride = 0;
};

// `forward` writes context [length, d], with rows `context_stride` apart. `scratch` must have the
// number of bytes that the first two functions return, 64-byte aligned, and must not be shared
// between threads.
template <typename T>
struct AttentionKernels {
  int64_t (*forward_scratch)(int64_t length, int64_t d);
  int64_t (*backward_scratch)(int64_t length, int64_t d);
  void (*forward)(const AttentionHead<T>&, T* context, int64_t context_stride, void* scratch);
  void (*backward)(const AttentionHead<T>&, const AttentionHeadGradients<T>&, void* scratch);
};

// The rest is compiled for several instruction sets. It is in an unnamed namespace, so that the
// linker does not merge the copies.
namespace {

// The row of dropout's random numbers for a query.
inline uint32_t dropout_row_of(const HeadSoftmax& head, int64_t query) {
  return head.head * 65536u + static_cast<uint32_t>(query);
}

// Memory handed out in pieces of whole cache lines. If `memory` is null, it only counts bytes.
class Pieces {
 public:
  explicit Pieces(void* memory) : memory_(static_cast<char*>(memory)) {}
  template <typename T>
  T* take(int64_t count) {
    char* piece = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (count * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
    return reinterpret_cast<T*>(piece);
  }
  int64_t used() const { return used_; }

 private:
  char* memory_;
  int64_t used_ = 0;
};

}  // namespace
}  // namespace strata::device::cpu
