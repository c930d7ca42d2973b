#include "device/cpu/gemm/attention.h"

#include <algorithm>

#include "device/cpu/gemm/matmul.h"
#include "device/cpu/kernels/rows/row_blocks.h"
#include "device/cpu/kernels/table.h"

namespace strata::device::cpu {
namespace {

struct Sizes {
  int64_t n, d, padded;
  Sizes(int64_t length, int64_t head_size)
      : n(length), d(head_size), padded(round_up(length, 32)) {}
};

// Matrices of `padded` rows; those from `length` on are zero.
struct Memory {
  uint16_t *query, *key, *value, *d_context, *result;  // [padded, d]
  float *scores, *d_probabilities;                     // [padded, padded]
  uint16_t *probabilities, *d_scores;                  // [padded, padded]
  float* factors;                                      // of a row's dropout
  int64_t bytes;

  Memory(const Sizes& size, bool backward, void* memory) {
    Pieces pieces(memory);
    const int64_t head = size.padded * size.d, square = size.padded * size.padded;
    for (uint16_t** matrix : {&query, &key, &value, &result}) *matrix = pieces.take<uint16_t>(head);
    d_context = pieces.take<uint16_t>(backward ? head : 0);
    scores = pieces.take<float>(square);
    d_probabilities = pieces.take<float>(backward ? square : 0);
    probabilities = pieces.take<uint16_t>(square);
    d_scores = pieces.take<uint16_t>(backward ? square : 0);
    factors = pieces.take<float>(scratch_floats(size.n));
    bytes = pieces.used();
  }
};

void copy_head(const Sizes& size, const uint16_t* from, int64_t stride, uint16_t* to) {
  for (int64_t row = 0; row < size.n; ++row) {
    std::copy_n(from + row * stride, size.d, to + row * size.d);
  }
  std::fill_n(to + size.n * size.d, (size.padded - size.n) * size.d, uint16_t{0});
}

// scores = a b^T
void scores_gemm(const Sizes& size, const uint16_t* a, const uint16_t* b, float* scores) {
  matmul({.transpose_b = true,
          .m = size.padded,
          .n = size.padded,
          .k = size.d,
          .a = a,
          .lda = size.d,
          .b = b,
          .ldb = size.d,
          .c = scores,
          .ldc = size.padded,
          .input_dtype = DType::kBF16,
          .output_dtype = DType::kF32});
}

// out[length, d], rows `stride` apart, = weights x, or weights^T x.
void values_gemm(const Sizes& size, const uint16_t* weights, bool transpose, const uint16_t* x,
                 uint16_t* result, uint16_t* out, int64_t stride) {
  matmul({.transpose_a = transpose,
          .m = size.padded,
          .n = size.d,
          .k = size.padded,
          .a = weights,
          .lda = size.padded,
          .b = x,
          .ldb = size.d,
          .c = result,
          .ldc = size.d,
          .input_dtype = DType::kBF16,
          .output_dtype = DType::kBF16});
  for (int64_t row = 0; row < size.n; ++row) {
    std::copy_n(result + row * size.d, size.d, out + row * stride);
  }
}

// Writes a row times `factor`, and zeros up to the padded length.
void round_row(const Sizes& size, float factor, const float* row, uint16_t* to) {
  kernels_for_this_cpu().f32_to_bf16(size.n, factor, row, to);
  std::fill(to + size.n, to + size.padded, uint16_t{0});
}

// GEMMs over keys or queries include the rows beyond the sequence.
void zero_rows(const Sizes& size, uint16_t* matrix) {
  std::fill(matrix + size.n * size.padded, matrix + size.padded * size.padded, uint16_t{0});
}

void forward(const AttentionHead<uint16_t>& head, uint16_t* context, int64_t context_stride,
             void* scratch) {
  const Sizes size(head.length, head.d);
  const Memory memory(size, false, scratch);
  copy_head(size, head.query, head.stride, memory.query);
  copy_head(size, head.key, head.stride, memory.key);
  copy_head(size, head.value, head.stride, memory.value);
  scores_gemm(size, memory.query, memory.key, memory.scores);
  for (int64_t query = 0; query < size.n; ++query) {
    float* row = memory.scores + query * size.padded;
    const float factor = kernels_for_this_cpu().softmax_forward(head, query, row, memory.factors);
    round_row(size, factor, row, memory.probabilities + query * size.padded);
  }
  zero_rows(size, memory.probabilities);
  values_gemm(size, memory.probabilities, false, memory.value, memory.result, context,
              context_stride);
}

void backward(const AttentionHead<uint16_t>& head,
              const AttentionHeadGradients<uint16_t>& gradients, void* scratch) {
  const Sizes size(head.length, head.d);
  const Memory memory(size, true, scratch);
  copy_head(size, head.query, head.stride, memory.query);
  copy_head(size, head.key, head.stride, memory.key);
  copy_head(size, head.value, head.stride, memory.value);
  copy_head(size, gradients.d_context, gradients.d_context_stride, memory.d_context);
  scores_gemm(size, memory.query, memory.key, memory.scores);
  scores_gemm(size, memory.d_context, memory.value, memory.d_probabilities);
  for (int64_t query = 0; query < size.n; ++query) {
    const int64_t place = query * size.padded;
    float *row = memory.scores + place, *d_row = memory.d_probabilities + place;
    kernels_for_this_cpu().softmax_backward(head, query, row, d_row, memory.factors);
    round_row(size, 1.0f, row, memory.probabilities + place);
    round_row(size, 1.0f, d_row, memory.d_scores + place);
  }
  zero_rows(size, memory.probabilities);
  zero_rows(size, memory.d_scores);
  const auto emit = [&](const uint16_t* weights, bool transpose, const uint16_t* x, uint16_t* out) {
    values_gemm(size, weights, transpose, x, memory.result, out, gradients.d_stride);
  };
  emit(memory.d_scores, false, memory.key, gradients.d_query);
  emit(memory.d_scores, true, memory.query, gradients.d_key);
  emit(memory.probabilities, true, memory.d_context, gradients.d_value);
}

}  // namespace

const AttentionKernels<uint16_t>& matmul_attention() {
  static constexpr AttentionKernels<uint16_t> kernels = {
      .forward_scratch =
          [](int64_t length, int64_t d) {
            return Memory({length, d}, false, nullptr).bytes;
          },
      .backward_scratch =
          [](int64_t length, int64_t d) {
            return Memory({length, d}, true, nullptr).bytes;
          },
      .forward = forward,
      .backward = backward};
  return kernels;
}

}  // namespace strata::device::cpu
