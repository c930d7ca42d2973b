// Matrix products in place of cuBLASLt's.
#include "device/cuda/matmul.h"

#include "device/dtype.h"

namespace strata::device::cuda {
namespace {

float element(const void* matrix, DType dtype, int64_t i) {
  return dtype == DType::kBF16 ? static_cast<float>(static_cast<const BFloat16*>(matrix)[i])
                               : static_cast<const float*>(matrix)[i];
}

void set(void* matrix, DType dtype, int64_t i, double value) {
  if (dtype == DType::kBF16) {
    static_cast<BFloat16*>(matrix)[i] = BFloat16(static_cast<float>(value));
  } else {
    static_cast<float*>(matrix)[i] = static_cast<float>(value);
  }
}

void multiply(const MatmulCall& call) {
  for (int64_t row = 0; row < call.m; ++row) {
    for (int64_t column = 0; column < call.n; ++column) {
      const int64_t at = row * call.ldc + column;
      double sum = call.accumulate ? element(call.c, call.output_dtype, at) : 0.0;
      if (call.bias) sum += element(call.bias, call.input_dtype, column);
      for (int64_t i = 0; i < call.k; ++i) {
        const int64_t a = call.transpose_a ? i * call.lda + row : row * call.lda + i;
        const int64_t b = call.transpose_b ? column * call.ldb + i : i * call.ldb + column;
        sum += static_cast<double>(element(call.a, call.input_dtype, a)) *
               element(call.b, call.input_dtype, b);
      }
      set(call.c, call.output_dtype, at, sum);
    }
  }
}

}  // namespace

struct Matmul::State {};

Matmul::Matmul(cudaStream_t) {}

Matmul::~Matmul() = default;

void Matmul::operator()(const MatmulCall& call) {
  emulated_cuda::issue([call] { multiply(call); });
}

}  // namespace strata::device::cuda
