// All CPU code but GEMMs: vector loops over a range of rows or elements, for one thread. The same
// sources are compiled once per instruction set; `kernels_for_this_cpu` chooses a table.
#pragma once

#include <array>
#include <cstdint>

#include "device/backend.h"
#include "device/cpu/kernels/attention/attention_head.h"

namespace strata::device::cpu {

// Arrays of a memory-bound pass: as many as an optimizer has, or one of LAMB's halves.
struct PlainPass {
  std::array<float*, 3> modified{};  // read and written; the second and third may be null
  const float* read = nullptr;
  const float* also_read = nullptr;  // may be null; only with three modified arrays
  uint16_t* written = nullptr;       // may be null
  // Factor of the modified arrays; the first one also receives the complementary part of `read`.
  // The first array's upper halves are written to `written`. A factor of 1 leaves the modified
  // arrays unchanged.
  float factor = 1.0f;
};

// Functions for compute-dtype storage T: float, Float16, or uint16_t with bfloat16 bits. `scratch`:
// at least scratch_floats(columns) floats, not shared between threads.
template <typename T>
struct TypedKernels {
  void (*activation_forward)(Activation, int64_t count, const T* pre_activation, T* y);
  void (*activation_backward)(Activation, int64_t count, const T* dy, const T* pre_activation,
                              T* dx);
  void (*layernorm_forward)(const ResidualLayerNormForward&, int64_t begin, int64_t end,
                            float* scratch);
  // d_gamma, d_beta: [H] partial sums of this range, added to.
  void (*layernorm_backward)(const ResidualLayerNormBackward&, int64_t begin, int64_t end,
                             float* d_gamma, float* d_beta, float* scratch);
  void (*residual_add_forward)(const ResidualAddForward&, int64_t begin, int64_t end,
                               float* scratch);
  void (*residual_add_backward)(const ResidualAddBackward&, int64_t begin, int64_t end,
                                float* scratch);
  // Computes each column's mean over `rows` rows, at least one, and the sum of squared deviations
  // from it.
  void (*column_moments)(int64_t rows, int64_t columns, const T* x, float* means, float* squares);
  // Computes each row's mean and variance.
  void (*row_moments)(int64_t rows, int64_t columns, const T* x, float* means, float* variances,
                      float* scratch);
  void (*embeddings_forward)(const EmbeddingsForward&, int64_t begin, int64_t end, float* scratch);
  // d_sum: [T, H], gradient of the sum of the three embeddings.
  void (*embeddings_backward)(const EmbeddingsBackward&, int64_t begin, int64_t end, float* d_sum,
                              float* d_gamma, float* d_beta, float* scratch);
  void (*column_sums)(int64_t rows, int64_t columns, const T* x, float* sums);  // adds to sums
  // Processes rows of logits [rows, classes]. Without a gradient d_logits is null; with one the
  // logits are overwritten. Adds to totals.
  void (*cross_entropy)(int64_t rows, int64_t classes, float* logits, const int32_t* labels,
                        float gradient_scale, T* d_logits, LossTotals* totals);
  void (*add)(int64_t count, const T* x, T* sum);  // sum += x
};

struct VectorKernels {
  const char* instruction_set;
  TypedKernels<float> f32;
  TypedKernels<uint16_t> bf16;
  TypedKernels<Float16> f16;
  void (*scale)(int64_t count, float factor, const float* source, float* destination);
  void (*scale_bf16)(int64_t count, float factor, const uint16_t* source, uint16_t* destination);
  void (*f32_to_bf16)(int64_t count, float factor, const float* source, uint16_t* destination);
  void (*bf16_to_f32)(int64_t count, float factor, const uint16_t* source, float* destination);
  void (*scale_f16)(int64_t count, float factor, const Float16* source, Float16* destination);
  void (*f32_to_f16)(int64_t count, float factor, const float* source, Float16* destination);
  void (*f16_to_f32)(int64_t count, float factor, const Float16* source, float* destination);
  double (*sum_of_squares_f32)(int64_t count, const float* x);
  double (*sum_of_squares_bf16)(int64_t count, const uint16_t* x);
  double (*sum_of_squares_f16)(int64_t count, const Float16* x);
  void (*add_f32)(int64_t count, const float* x, float* sum);
  AttentionKernels<float> attention;
  // Replaces a query's raw scores [length] with unnormalized probabilities after dropout, and keeps
  // log_sum_exp. Returns the factor that normalizes.
  float (*softmax_forward)(const HeadSoftmax&, int64_t query, float* scores, float* scratch);
  // Replaces a query's raw scores with its probabilities after dropout, and the gradients of these
  // with the gradients of the raw scores.
  void (*softmax_backward)(const HeadSoftmax&, int64_t query, float* scores, float* d_probabilities,
                           float* scratch);
  // Updates elements [begin, end); `factor` multiplies the gradient.
#define STRATA_UPDATE(function, Update, without) \
  void (*function)(const Update&, int64_t begin, int64_t end, float factor);
  STRATA_ELEMENTWISE_UPDATES(STRATA_UPDATE)
#undef STRATA_UPDATE
  // The two halves of LAMB; the first returns the sums of these elements.
  LambNorms (*lamb_direction)(const LambDirection&, int64_t begin, int64_t end, float factor);
  void (*lamb_apply)(const LambApply&, int64_t begin, int64_t end, float rate);
  void (*plain_pass)(const PlainPass&, int64_t begin, int64_t end);
};

// Scratch in floats that a kernel over rows of `columns` elements needs.
constexpr int64_t scratch_floats(int64_t columns) { return 3 * ((columns + 127) / 128 * 128); }

// Returns the best table for this processor. STRATA_CPU_ISA=portable|avx2|avx512 in the environment
// requests a particular one. Throws Error if the processor does not support it.
const VectorKernels& kernels_for_this_cpu();

// True if the kernels of device/cpu/bf16/ should be used: the processor has AVX-512 BF16,
// STRATA_CPU_ISA does not request less, and there is no AMX, with which oneDNN's GEMMs are faster.
bool multiplies_bf16_pairs();

}  // namespace strata::device::cpu
