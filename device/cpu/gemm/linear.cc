// Linear layers: GEMMs over blocks of rows, each followed at once by its activation. Scratch slots:
// 0 and 1 for rows that do not fill a unit, 2 for sums, 5 to 7 for FP8 operands and outputs.
#include <cstring>
#include <type_traits>

#include "device/cpu/bf16/gelu.h"
#include "device/cpu/bf16/gemm.h"
#include "device/cpu/float8.h"
#include "device/cpu/gemm/matmul.h"
#include "device/cpu/operations.h"

namespace strata::device::cpu {
namespace {

// Part of a matrix: some columns of some rows.
struct Part {
  int64_t row, rows, column, columns;
};

// Calls work(offset, matrix part) on each thread for some rows of `part`, of a matrix whose rows
// are `row_size` long.
template <typename Work>
void for_each_share(int threads, const Part& part, int64_t row_size, const Work& work) {
  parallel_ranges(threads, part.rows, [&](int64_t begin, int64_t end, int) {
    work((part.row + begin) * row_size + part.column,
         MatrixPart{end - begin, part.columns, row_size});
  });
}

// Calls work(offset, count) for each contiguous piece of `part`.
template <typename Work>
void for_each_piece(const MatrixPart& part, const Work& work) {
  if (part.columns == part.stride) return work(0, part.rows * part.columns);
  for (int64_t row = 0; row < part.rows; ++row) work(row * part.stride, part.columns);
}

template <typename T>
void activate_part(const Context& context, Activation activation, const MatrixPart& part,
                   const T* pre_activation, T* y) {
  if constexpr (std::is_same_v<T, uint16_t>) {
    if (bf16_gelu_takes(activation)) return bf16_gelu_forward(activation, part, pre_activation, y);
  }
  for_each_piece(part, [&](int64_t offset, int64_t count) {
    context.typed<T>().activation_forward(activation, count, pre_activation + offset, y + offset);
  });
}

template <typename T>
void activate_part_backward(const Context& context, Activation activation, const MatrixPart& part,
                            const T* dy, const T* pre_activation, T* dx) {
  if constexpr (std::is_same_v<T, uint16_t>) {
    if (bf16_gelu_takes(activation)) {
      return bf16_gelu_backward(activation, part, dy, pre_activation, dx);
    }
  }
  for_each_piece(part, [&](int64_t offset, int64_t count) {
    context.typed<T>().activation_backward(activation, count, dy + offset, pre_activation + offset,
                                           dx + offset);
  });
}

// out[rows, n] = in[rows, k] op(weight) + bias (+ out), part by part. after(part, threads) follows
// each part, and may use that many threads. It reads the same part of `also_read`, which has the
// layout of out and may be null.
template <typename T, typename After>
void multiply_rows(const Context& context, int64_t rows, MatmulCall call, const T* in, T* out,
                   const T* also_read, const After& after) {
  call.lda = call.k;
  call.ldc = call.n;
  call.input_dtype = call.output_dtype = dtype_of<T>();
  call.m = rows;
  call.a = in;
  call.c = out;
  if (bf16_gemm_takes(call)) {
    const auto after_part = [&](int64_t row, int64_t rows_of_part, int64_t column,
                                int64_t columns) {
      after(Part{row, rows_of_part, column, columns}, 1);
    };
    if constexpr (std::is_same_v<T, uint16_t>) {
      bf16_gemm(call, context.threads, {after_part, also_read});
    }
    return;
  }
  const auto block = [&](int64_t begin, int64_t count) {
    call.m = count;
    call.a = in + begin * call.k;
    call.c = out + begin * call.n;
    matmul(call);
    after(Part{begin, count, 0, call.n}, context.threads);
  };
  for_each_row_block(rows, block, [&](int64_t begin, int64_t count) {
    if constexpr (!kCompiledMatmul<T>) {
      block(begin, count);
    } else {
      T* result = call.accumulate ? padded_copy(out + begin * call.n, count, kRowUnit, call.n,
                                                context.scratch[1])
                                  : context.scratch[1].get<T>(kRowUnit * call.n);
      call.m = kRowUnit;
      call.a = padded_copy(in + begin * call.k, count, kRowUnit, call.k, context.scratch[0]);
      call.c = result;
      matmul(call);
      std::memcpy(out + begin * call.n, result, static_cast<size_t>(count * call.n) * sizeof(T));
      after(Part{begin, count, 0, call.n}, context.threads);
    }
  });
}

}  // namespace

template <typename T>
void Operations<T>::linear_forward(const Context& context, const LinearForward& op) {
  const int64_t out = op.weight.rows;
  const bool activate = op.activation != Activation::kNone;
  const Tensor output = place_of_output<T>(context, op.y, 5);
  T* y = output.as<T>();
  T* pre_activation = activate && op.pre_activation ? op.pre_activation.as<T>() : y;
  const MatmulCall call{.transpose_b = true,
                        .n = out,
                        .k = op.weight.cols,
                        .b = operand<T>(context, op.weight, 6),
                        .ldb = op.weight.cols,
                        .bias = op.bias.data};
  const T* x = operand<T>(context, op.x, 7);
  multiply_rows(context, op.x.rows, call, x, pre_activation, static_cast<const T*>(nullptr),
                [&](const Part& part, int threads) {
                  if (!activate) return;
                  for_each_share(threads, part, out, [&](int64_t offset, const MatrixPart& share) {
                    activate_part(context, op.activation, share, pre_activation + offset,
                                  y + offset);
                  });
                });
  write_copy<T>(context, output, op.y_float8);
}

template <typename T>
void Operations<T>::linear_data_gradient(const Context& context, const LinearDataGradient& op) {
  const int64_t in = op.weight.cols;
  const Tensor output = place_of_output<T>(context, op.dx, 5);
  T* dx = output.as<T>();
  const MatmulCall call{.n = in,
                        .k = op.weight.rows,
                        .b = operand<T>(context, op.weight, 6),
                        .ldb = in,
                        .accumulate = op.accumulate};
  const T* dy = operand<T>(context, op.dy, 7);
  const bool activate = op.activation != Activation::kNone;
  const T* pre_activation = activate ? op.pre_activation.as<T>() : nullptr;
  multiply_rows(context, op.dy.rows, call, dy, dx, pre_activation,
                [&](const Part& part, int threads) {
                  if (!activate) return;
                  for_each_share(threads, part, in, [&](int64_t offset, const MatrixPart& share) {
                    activate_part_backward(context, op.activation, share, dx + offset,
                                           pre_activation + offset, dx + offset);
                  });
                });
  write_copy<T>(context, output, op.dx_float8);
}

template <typename T>
void Operations<T>::linear_weight_gradient(const Context& context, const LinearWeightGradient& op) {
  const int64_t out = op.dy.cols, in = op.x.cols, rows = op.x.rows;
  MatmulCall call{.transpose_a = true,
                  .m = out,
                  .n = in,
                  .lda = out,
                  .ldb = in,
                  .c = op.d_weight.data,
                  .ldc = in,
                  .accumulate = op.accumulate,
                  .input_dtype = dtype_of<T>()};
  const T* dy = operand<T>(context, op.dy, 6);
  const T* x = operand<T>(context, op.x, 7);
  call.a = dy;
  call.b = x;
  call.k = rows;
  if (bf16_gemm_takes(call)) return bf16_gemm(call, context.threads, {}, op.d_bias.as<float>());
  const auto block = [&](const T* dy_rows, const T* x_rows, int64_t count) {
    call.k = count;
    call.a = dy_rows;
    call.b = x_rows;
    matmul(call);
    call.accumulate = true;
  };
  if (rows == 0 && !op.accumulate) std::memset(op.d_weight.data, 0, op.d_weight.bytes());
  if (!kCompiledMatmul<T>) {
    if (rows > 0) block(dy, x, rows);
  } else {
    for_each_row_block(
        rows, [&](int64_t begin, int64_t count) { block(dy + begin * out, x + begin * in, count); },
        [&](int64_t begin, int64_t count) {
          block(padded_copy(dy + begin * out, count, kRowUnit, out, context.scratch[0]),
                padded_copy(x + begin * in, count, kRowUnit, in, context.scratch[1]), kRowUnit);
        });
  }
  parallel_sums(context, rows, out, 2, op.accumulate, op.d_bias.as<float>(),
                [&](int64_t begin, int64_t end, float* sums) {
                  context.typed<T>().column_sums(end - begin, out, dy + begin * out, sums);
                });
}

template <typename T>
void Operations<T>::activation_backward(const Context& context, const ActivationBackward& op) {
  parallel_ranges(context.threads, op.dy.size(), [&](int64_t begin, int64_t end, int) {
    activate_part_backward(context, op.activation, {1, end - begin, end - begin},
                           op.dy.as<T>() + begin, op.pre_activation.as<T>() + begin,
                           op.dx.as<T>() + begin);
  });
}

STRATA_INSTANTIATE(linear_forward, LinearForward);
STRATA_INSTANTIATE(linear_data_gradient, LinearDataGradient);
STRATA_INSTANTIATE(linear_weight_gradient, LinearWeightGradient);
STRATA_INSTANTIATE(activation_backward, ActivationBackward);

}  // namespace strata::device::cpu
