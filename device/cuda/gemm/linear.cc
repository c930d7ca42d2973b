// Linear layers: one GEMM each, with the following work in cuBLASLt's epilogue if that is faster.
#include "device/cuda/gemm/column_sums.h"
#include "device/cuda/gemm/float8.h"
#include "device/cuda/gemm/matmul.h"
#include "device/cuda/runtime/operations.h"

namespace strata::device::cuda {
namespace {

// Scratch slots of transposed operands, of outputs that have only a shape, and of sums.
constexpr int kFirst = 2, kSecond = 3, kOutput = 4, kSums = 1;

// Returns the transpose of an FP8 operand.
const uint8_t* transposed(const Context& context, const ConstTensor& x, int slot) {
  auto* codes = context.scratch[slot].get<uint8_t>(x.size());
  transpose_float8(context, x, codes);
  return codes;
}

}  // namespace

template <typename T>
void Operations<T>::linear_forward(const Context& context, const LinearForward& op) {
  const MatmulCall call{.transpose_b = true,
                        .m = op.x.rows,
                        .n = op.weight.rows,
                        .k = op.weight.cols,
                        .a = op.x.data,
                        .lda = op.x.cols,
                        .b = op.weight.data,
                        .ldb = op.weight.cols,
                        .c = op.y.data,
                        .ldc = op.weight.rows,
                        .bias = op.bias.data,
                        .input_dtype = dtype_of<T>(),
                        .output_dtype = dtype_of<T>()};
  const bool in_float8 = is_float8(op.x.dtype);
  const auto multiply = [&](const MatmulCall& gemm) {
    if (!in_float8) return context.matmul(gemm);
    if (gemm.m == 0) return;
    context.matmul(gemm, {.a_factor = op.x.scale + 1, .b_factor = op.weight.scale + 1});
  };
  if (op.activation == Activation::kNone) {
    const Tensor y = place_of_output(context, op.y, kOutput);
    MatmulCall gemm = call;
    gemm.c = y.data;
    multiply(gemm);
    return write_float8_copy<T>(context, y, op.y_float8);
  }
  const auto separately = [&](const MatmulCall& gemm, const MatmulEpilogue& epilogue) {
    Tensor y = op.y;
    y.data = gemm.c;
    Tensor pre_activation = y;
    if (epilogue.pre_activation) pre_activation.data = epilogue.pre_activation;
    pre_activation = place_of_output(context, pre_activation, kOutput);
    MatmulCall plain = gemm;
    plain.c = pre_activation.data;
    multiply(plain);
    activation_forward(context, op.activation, pre_activation, y, op.y_float8);
  };
  const MatmulEpilogue gelu{.kind = MatmulEpilogue::Kind::kGelu,
                            .pre_activation = op.pre_activation.data};
  if (op.activation == Activation::kGeluTanh && !in_float8 && !op.y_float8) {
    context.matmul(call, gelu, separately);
  } else {
    separately(call, gelu);
  }
}

template <typename T>
void Operations<T>::linear_data_gradient(const Context& context, const LinearDataGradient& op) {
  const MatmulCall call{.m = op.dy.rows,
                        .n = op.weight.cols,
                        .k = op.weight.rows,
                        .a = op.dy.data,
                        .lda = op.dy.cols,
                        .b = op.weight.data,
                        .ldb = op.weight.cols,
                        .c = op.dx.data,
                        .ldc = op.weight.cols,
                        .accumulate = op.accumulate,
                        .input_dtype = dtype_of<T>(),
                        .output_dtype = dtype_of<T>()};
  const bool in_float8 = is_float8(op.dy.dtype);
  const auto multiply = [&](MatmulCall gemm) {
    if (!in_float8) return context.matmul(gemm);
    if (gemm.m == 0) return;
    gemm.b = transposed(context, op.weight, kSecond);
    gemm.transpose_b = true;
    gemm.ldb = gemm.k;
    context.matmul(gemm, {.a = Float8Operands::Format::kE5M2,
                          .a_factor = op.dy.scale + 1,
                          .b_factor = op.weight.scale + 1});
  };
  const auto into_place = [&](const MatmulCall& gemm) {
    Tensor dx = op.dx;
    dx.data = gemm.c;
    dx = place_of_output(context, dx, kOutput);
    MatmulCall placed = gemm;
    placed.c = dx.data;
    multiply(placed);
    return dx;
  };
  if (op.activation == Activation::kNone) {
    return write_float8_copy<T>(context, into_place(call), op.dx_float8);
  }
  const auto separately = [&](const MatmulCall& gemm, const MatmulEpilogue&) {
    const Tensor dy = into_place(gemm);
    Tensor dx = op.dx;
    dx.data = gemm.c;
    // A trial must not change the gradients. It does not time the sums either: they cost more
    // beside the epilogue, where they need their own pass.
    const bool sums = op.dx_sums && gemm.c == call.c;
    activation_backward(
        context,
        {.activation = op.activation, .dy = dy, .pre_activation = op.pre_activation, .dx = dx},
        op.dx_float8, sums ? op.dx_sums : ColumnSums(), kSums);
    if (sums) *op.dx_sums.done = true;
  };
  const MatmulEpilogue gradient{.kind = MatmulEpilogue::Kind::kGeluGradient,
                                .pre_activation = const_cast<void*>(op.pre_activation.data)};
  if (op.activation == Activation::kGeluTanh && !in_float8 && !op.dx_float8) {
    context.matmul(call, gradient, separately);
  } else {
    separately(call, gradient);
  }
}

template <typename T>
void Operations<T>::linear_weight_gradient(const Context& context, const LinearWeightGradient& op) {
  const int64_t out = op.dy.cols, in = op.x.cols;
  const MatmulCall call{.transpose_a = true,
                        .m = out,
                        .n = in,
                        .k = op.x.rows,
                        .a = op.dy.data,
                        .lda = out,
                        .b = op.x.data,
                        .ldb = in,
                        .c = op.d_weight.data,
                        .ldc = in,
                        .accumulate = op.accumulate,
                        .input_dtype = dtype_of<T>(),
                        .output_dtype = DType::kF32};
  const SumsOutput d_bias{op.d_bias.as<float>(), op.accumulate};
  if (is_float8(op.dy.dtype) && op.dy.rows > 0) {
    auto* dy_transposed = context.scratch[kFirst].get<uint8_t>(op.dy.size());
    if (op.d_bias) {
      transpose_and_sum_float8(context, op.dy, dy_transposed, d_bias, kSums);
    } else {
      transpose_float8(context, op.dy, dy_transposed);
    }
    MatmulCall gemm = call;
    gemm.a = dy_transposed;
    gemm.b = transposed(context, op.x, kSecond);
    gemm.transpose_a = false;
    gemm.transpose_b = true;
    gemm.lda = gemm.ldb = gemm.k;
    context.matmul(gemm, {.a = Float8Operands::Format::kE5M2,
                          .a_factor = op.dy.scale + 1,
                          .b_factor = op.x.scale + 1});
    return;
  }
  if (!op.d_bias) return context.matmul(call);
  // cuBLASLt cannot add to existing sums.
  float* sums = op.accumulate ? context.scratch[kSums].get<float>(out) : d_bias.sums;
  const auto separately = [&](const MatmulCall& gemm, const MatmulEpilogue& epilogue) {
    context.matmul(gemm);
    // A trial must not change the gradients.
    const bool trial = epilogue.column_sums != sums;
    sum_columns(context, op.dy.as<T>(), op.dy.rows, out, out,
                {trial ? epilogue.column_sums : d_bias.sums, op.accumulate}, 0);
  };
  const bool fused = context.matmul(
      call, {.kind = MatmulEpilogue::Kind::kColumnSums, .column_sums = sums}, separately);
  if (fused && op.accumulate) sum_parts(context, sums, 1, out, {d_bias});
}

STRATA_INSTANTIATE(linear_forward, LinearForward);
STRATA_INSTANTIATE(linear_data_gradient, LinearDataGradient);
STRATA_INSTANTIATE(linear_weight_gradient, LinearWeightGradient);

}  // namespace strata::device::cuda
