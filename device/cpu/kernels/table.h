// Everything on the CPU that is not a GEMM: vector loops over a range of rows or
// elements, run by one thread. The same sources are compiled once per instruction set;
// `kernels_for_this_cpu` picks a table.
#pragma once

#include <array>
#include <cstdint>

#include "device/backend.h"

namespace strata::device::cpu {

// One attention head's scores of one sequence: `length` rows, each `stride` apart.
struct SoftmaxRows {
  int64_t length = 0;  // queries, and keys that count
  int64_t padded = 0;  // columns written; those from `length` on become 0
  float scale = 1.0f;  // applied to the raw scores
  Dropout dropout;
  uint64_t sample_id = 0;
  uint32_t head = 0;
  float* scores = nullptr;       // [length, padded] raw q k^T
  float* log_sum_exp = nullptr;  // of row i at [i * log_sum_exp_stride]
  int64_t log_sum_exp_stride = 0;
};

// Arrays passed over with next to no arithmetic: as many as an optimizer has, or one of LAMB's
// halves.
struct PlainPass {
  std::array<float*, 3> modified{};  // read and written; null from the second or third on: fewer
  const float* read = nullptr;
  const float* also_read = nullptr;  // null: none; beside three modified ones only
  uint16_t* written = nullptr;       // null: none
  // The modified arrays are multiplied by this (the first takes the rest from `read`), the first
  // one's upper halves are written: 1 leaves the modified ones as they are.
  float factor = 1.0f;
};

// Functions over compute-dtype storage T: float, Float16, or uint16_t holding bfloat16 bits.
// `scratch`: at least scratch_floats(columns) floats of the calling thread's own.
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
  // Of every column over `rows` rows, at least one: its mean, and the sum of squares of what each
  // element is away from it.
  void (*column_moments)(int64_t rows, int64_t columns, const T* x, float* means, float* squares);
  // Of every row: mean and variance.
  void (*row_moments)(int64_t rows, int64_t columns, const T* x, float* means, float* variances,
                      float* scratch);
  void (*embeddings_forward)(const EmbeddingsForward&, int64_t begin, int64_t end, float* scratch);
  // d_sum: [T, H], gradient of the sum of the three embeddings.
  void (*embeddings_backward)(const EmbeddingsBackward&, int64_t begin, int64_t end, float* d_sum,
                              float* d_gamma, float* d_beta, float* scratch);
  void (*column_sums)(int64_t rows, int64_t columns, const T* x, float* sums);  // added to
  // probabilities: dropped-out softmax of the scores, [length, padded].
  void (*softmax_forward)(const SoftmaxRows&, T* probabilities, float* scratch);
  // In: raw scores, which are overwritten, d_probabilities [length, padded] (gradient of the
  // dropped-out probabilities). Out: probabilities (dropped out), d_scores.
  void (*softmax_backward)(const SoftmaxRows&, const float* d_probabilities, T* probabilities,
                           T* d_scores, float* scratch);
  // Rows of logits [rows, classes]; d_logits null: no gradient, else the logits are overwritten.
  // Adds to totals.
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
  // Elements [begin, end) of the update; `factor` multiplies the gradient.
#define STRATA_UPDATE(function, Update, without) \
  void (*function)(const Update&, int64_t begin, int64_t end, float factor);
  STRATA_ELEMENTWISE_UPDATES(STRATA_UPDATE)
#undef STRATA_UPDATE
  // The same of LAMB's two halves; the first returns the sums of these elements.
  LambNorms (*lamb_direction)(const LambDirection&, int64_t begin, int64_t end, float factor);
  void (*lamb_apply)(const LambApply&, int64_t begin, int64_t end, float rate);
  void (*plain_pass)(const PlainPass&, int64_t begin, int64_t end);
};

// Floats of scratch that a kernel over rows of `columns` elements needs.
constexpr int64_t scratch_floats(int64_t columns) { return 3 * ((columns + 127) / 128 * 128); }

// The best table this processor can run. STRATA_CPU_ISA=portable|avx2|avx512 in the environment
// asks for a lesser one; throws Error where the processor lacks it.
const VectorKernels& kernels_for_this_cpu();

// Whether the kernels of device/cpu/bf16/ are for this processor: it has AVX-512 BF16, no AMX, by
// which oneDNN's GEMMs are faster, and STRATA_CPU_ISA asks for nothing less.
bool multiplies_bf16_pairs();

}  // namespace strata::device::cpu
