// Classifier and cross-entropy over blocks of rows: only one block's logits exist at a time.
#include <algorithm>

#include "device/cuda/gemm/column_sums.h"
#include "device/cuda/gemm/matmul.h"
#include "device/cuda/losses/cross_entropy.h"
#include "device/cuda/runtime/operations.h"

namespace strata::device::cuda {

template <typename T>
void Operations<T>::classifier_loss(const Context& context, const ClassifierLoss& op) {
  // Every block of rows reads and writes all of d_weight, so blocks are large. With BERT's
  // vocabulary, logits and their gradients take 0.75 GB.
  constexpr int64_t kRowBlock = 4096;
  const int64_t classes = op.weight.rows, hidden = op.weight.cols;
  const int64_t stride = (classes + 7) / 8 * 8;  // 16-byte aligned rows are faster
  if (op.x.rows == 0 && op.d_x && !op.accumulate) {
    for (const Tensor& gradient : {op.d_weight, op.d_bias}) {
      check(cudaMemsetAsync(gradient.data, 0, gradient.bytes(), context.stream),
            "clearing gradients");
    }
  }
  for (int64_t begin = 0; begin < op.x.rows; begin += kRowBlock) {
    const int64_t rows = std::min(kRowBlock, op.x.rows - begin);
    const bool accumulate = op.accumulate || begin > 0;
    const T* x = op.x.as<T>() + begin * hidden;
    auto* logits = context.scratch[0].get<float>(kRowBlock * stride);
    context.matmul({.transpose_b = true,
                    .m = rows,
                    .n = classes,
                    .k = hidden,
                    .a = x,
                    .lda = hidden,
                    .b = op.weight.data,
                    .ldb = hidden,
                    .c = logits,
                    .ldc = stride,
                    .input_dtype = dtype_of<T>(),
                    .output_dtype = DType::kF32});
    T* d_logits = op.d_x ? context.scratch[1].get<T>(kRowBlock * stride) : nullptr;
    cross_entropy<T>(context,
                     {.rows = rows,
                      .classes = classes,
                      .stride = stride,
                      .logits = logits,
                      .bias = op.bias.as<T>(),
                      .labels = op.labels + begin,
                      .gradient_scale = op.gradient_scale,
                      .d_logits = d_logits,
                      .totals = op.totals},
                     2);
    if (!d_logits) continue;
    context.matmul({.m = rows,
                    .n = hidden,
                    .k = classes,
                    .a = d_logits,
                    .lda = stride,
                    .b = op.weight.data,
                    .ldb = hidden,
                    .c = op.d_x.as<T>() + begin * hidden,
                    .ldc = hidden,
                    .input_dtype = dtype_of<T>(),
                    .output_dtype = dtype_of<T>()});
    context.matmul({.transpose_a = true,
                    .m = classes,
                    .n = hidden,
                    .k = rows,
                    .a = d_logits,
                    .lda = stride,
                    .b = x,
                    .ldb = hidden,
                    .c = op.d_weight.data,
                    .ldc = hidden,
                    .accumulate = accumulate,
                    .input_dtype = dtype_of<T>(),
                    .output_dtype = DType::kF32});
    sum_columns(context, d_logits, rows, classes, stride, {op.d_bias.as<float>(), accumulate}, 3);
  }
}

STRATA_INSTANTIATE(classifier_loss, ClassifierLoss);

}  // namespace strata::device::cuda
