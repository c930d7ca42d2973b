// Classifier and cross-entropy over blocks of rows: only one block's logits exist at a time.
#include <algorithm>
#include <cstring>

#include "device/cpu/bf16/gemm.h"
#include "device/cpu/gemm/matmul.h"
#include "device/cpu/operations.h"

namespace strata::device::cpu {
namespace {

// Returns the losses of `rows` rows. Sums follow the order of the threads' parts, so they are
// reproducible.
template <typename T>
LossTotals cross_entropy(const Context& context, int64_t rows, int64_t classes, float* logits,
                         const int32_t* labels, float gradient_scale, T* d_logits) {
  LossTotals* parts = context.scratch[5].get<LossTotals>(context.threads);
  std::fill_n(parts, context.threads, LossTotals{});
  parallel_ranges(context.threads, rows, [&](int64_t begin, int64_t end, int part) {
    context.typed<T>().cross_entropy(end - begin, classes, logits + begin * classes, labels + begin,
                                     gradient_scale,
                                     d_logits ? d_logits + begin * classes : nullptr, &parts[part]);
  });
  LossTotals totals;
  for (int part = 0; part < context.threads; ++part) totals += parts[part];
  return totals;
}

}  // namespace

template <typename T>
void Operations<T>::classifier_loss(const Context& context, const ClassifierLoss& op) {
  const int64_t classes = op.weight.rows, hidden = op.weight.cols;
  const bool backward = static_cast<bool>(op.d_x);
  if (op.x.rows == 0 && backward && !op.accumulate) {
    std::memset(op.d_weight.data, 0, op.d_weight.bytes());
    std::memset(op.d_bias.data, 0, op.d_bias.bytes());
  }
  for (int64_t begin = 0; begin < op.x.rows; begin += kRowBlock) {
    const int64_t rows = std::min(kRowBlock, op.x.rows - begin);
    const bool accumulate = op.accumulate || begin > 0;
    MatmulCall forward{.transpose_b = true,
                       .m = rows,
                       .n = classes,
                       .k = hidden,
                       .a = op.x.as<T>() + begin * hidden,
                       .lda = hidden,
                       .b = op.weight.data,
                       .ldb = hidden,
                       .ldc = classes,
                       .bias = op.bias.data,
                       .input_dtype = dtype_of<T>(),
                       .output_dtype = DType::kF32};
    // Gradients are products of logits, so rows of logits must consist of pairs.
    const bool by_bf16_gemm = bf16_gemm_takes(forward) && classes % 2 == 0;
    // oneDNN's bf16 GEMMs are compiled for whole units of rows; extra rows are zero.
    const int64_t padded = kCompiledMatmul<T> && !by_bf16_gemm ? round_up(rows, kRowUnit) : rows;
    const T* x = op.x.as<T>() + begin * hidden;
    if (padded != rows) {
      x = padded_copy(x, rows, padded, hidden, context.scratch[0]);
    }
    float* logits = context.scratch[1].get<float>(padded * classes);
    forward.m = padded;
    forward.a = x;
    forward.c = logits;
    matmul(forward);
    T* d_logits = nullptr;
    if (backward) {
      if constexpr (sizeof(T) == 4) {
        d_logits = logits;
      } else {
        d_logits = context.scratch[2].get<T>(padded * classes);
        std::fill_n(d_logits + rows * classes, (padded - rows) * classes, T{});
      }
    }
    *op.totals += cross_entropy(context, rows, classes, logits, op.labels + begin,
                                op.gradient_scale.now(), d_logits);
    if (!backward) continue;
    T* d_x = op.d_x.as<T>() + begin * hidden;
    T* d_x_rows = padded == rows ? d_x : context.scratch[3].get<T>(padded * hidden);
    matmul({.m = padded,
            .n = hidden,
            .k = classes,
            .a = d_logits,
            .lda = classes,
            .b = op.weight.data,
            .ldb = hidden,
            .c = d_x_rows,
            .ldc = hidden,
            .input_dtype = dtype_of<T>(),
            .output_dtype = dtype_of<T>()});
    if (d_x_rows != d_x) std::memcpy(d_x, d_x_rows, static_cast<size_t>(rows * hidden) * sizeof(T));
    const MatmulCall weight_gradient{.transpose_a = true,
                                     .m = classes,
                                     .n = hidden,
                                     .k = padded,
                                     .a = d_logits,
                                     .lda = classes,
                                     .b = x,
                                     .ldb = hidden,
                                     .c = op.d_weight.data,
                                     .ldc = hidden,
                                     .accumulate = accumulate,
                                     .input_dtype = dtype_of<T>(),
                                     .output_dtype = DType::kF32};
    if (by_bf16_gemm) {
      bf16_gemm(weight_gradient, context.threads, {}, op.d_bias.as<float>());
      continue;
    }
    matmul(weight_gradient);
    parallel_sums(context, rows, classes, 4, accumulate, op.d_bias.as<float>(),
                  [&](int64_t first, int64_t last, float* sums) {
                    context.typed<T>().column_sums(last - first, classes,
                                                   d_logits + first * classes, sums);
                  });
  }
}

STRATA_INSTANTIATE(classifier_loss, ClassifierLoss);

}  // namespace strata::device::cpu
