// Matrix products in place of cuBLASLt's.
#include "device/cuda/matmul.h"

#include <cmath>
#include <set>
#include <tuple>
#include <vector>

#include "device/cuda/alignment.h"
#include "device/dtype.h"
#include "device/float8.h"
#include "device/reference/activation.h"

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

float decoded(uint8_t code, Float8Operands::Format format) {
  return format == Float8Operands::Format::kE4M3 ? from_float8<E4M3>(code)
                                                 : from_float8<E5M2>(code);
}

// What cuBLASLt wants of products in 8 bits.
void check_float8(const MatmulCall& call, const Float8Operands& operands) {
  const auto are_multiples = [](auto... values) { return ((values % 16 == 0) && ...); };
  ::emulated_cuda::require(!call.transpose_a && call.transpose_b,
                           "a [m, k] and b [n, k] in 8 bits");
  ::emulated_cuda::require(are_multiples(call.m, call.n, call.k, call.lda, call.ldb, call.ldc),
                           "sizes in 8 bits that are multiples of 16");
  ::emulated_cuda::require(are_aligned(call.a, call.b, call.c, call.bias),
                           "matrices in 8 bits that are 16-byte aligned");
  ::emulated_cuda::require(
      operands.a == Float8Operands::Format::kE4M3 || operands.b == Float8Operands::Format::kE4M3,
      "one of two matrices in 8 bits to be E4M3");
  ::emulated_cuda::require(operands.a_factor && operands.b_factor, "factors of matrices in 8 bits");
}

void multiply_float8(const MatmulCall& call, const Float8Operands& operands) {
  const auto* a = static_cast<const uint8_t*>(call.a);
  const auto* b = static_cast<const uint8_t*>(call.b);
  for (int64_t row = 0; row < call.m; ++row) {
    for (int64_t column = 0; column < call.n; ++column) {
      double sum = 0;
      for (int64_t i = 0; i < call.k; ++i) {
        sum += static_cast<double>(decoded(a[row * call.lda + i], operands.a)) *
               decoded(b[column * call.ldb + i], operands.b);
      }
      sum *= static_cast<double>(*operands.a_factor) * *operands.b_factor;
      const int64_t at = row * call.ldc + column;
      if (call.accumulate) sum += element(call.c, call.output_dtype, at);
      if (call.bias) sum += element(call.bias, call.input_dtype, column);
      set(call.c, call.output_dtype, at, sum);
    }
  }
}

void multiply(const MatmulCall& call, const MatmulEpilogue& epilogue) {
  using Kind = MatmulEpilogue::Kind;
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
      if (epilogue.kind == Kind::kGelu) {
        if (epilogue.pre_activation) set(epilogue.pre_activation, call.output_dtype, at, sum);
        sum = reference::activate(Activation::kGeluTanh, sum);
      }
      if (epilogue.kind == Kind::kGeluGradient) {
        sum *= reference::activation_derivative(
            Activation::kGeluTanh, element(epilogue.pre_activation, call.output_dtype, at));
      }
      set(call.c, call.output_dtype, at, sum);
    }
    if (epilogue.kind != Kind::kColumnSums) continue;
    double sum = 0;
    for (int64_t i = 0; i < call.k; ++i) {
      sum += element(call.a, call.input_dtype,
                     call.transpose_a ? i * call.lda + row : row * call.lda + i);
    }
    epilogue.column_sums[row] = static_cast<float>(sum);
  }
}

}  // namespace

// Kinds of products whose alternative has been tried.
struct Matmul::State {
  std::set<std::tuple<int64_t, int64_t, int64_t, bool, MatmulEpilogue::Kind>> tried;
};

Matmul::Matmul(cudaStream_t, FusedEpilogues) : state_(std::make_unique<State>()) {}

Matmul::~Matmul() = default;

void Matmul::operator()(const MatmulCall& call) {
  emulated_cuda::issue([call] { multiply(call, {}); });
}

void Matmul::operator()(const MatmulCall& call, const Float8Operands& operands) {
  check_float8(call, operands);
  emulated_cuda::issue([call, operands] { multiply_float8(call, operands); });
}

namespace {

// As the real one does: into other memory, which holds nothing of use.
void try_out(const MatmulCall& call, const MatmulEpilogue& epilogue,
             const Matmul::Separately& separately) {
  std::vector<float> c(static_cast<size_t>(call.m * call.ldc), NAN),
      pre_activation = c, sums(static_cast<size_t>(call.m), NAN);
  MatmulCall trial = call;
  trial.c = c.data();
  MatmulEpilogue trial_epilogue = epilogue;
  if (epilogue.kind == MatmulEpilogue::Kind::kGelu && epilogue.pre_activation) {
    trial_epilogue.pre_activation = pre_activation.data();
  }
  if (epilogue.column_sums) trial_epilogue.column_sums = sums.data();
  separately(trial, trial_epilogue);
}

}  // namespace

// Some shapes are faster in one way, some in the other.
bool Matmul::operator()(const MatmulCall& call, const MatmulEpilogue& epilogue,
                        const Separately& separately) {
  if (call.input_dtype == DType::kBF16 && !emulated_cuda::captured &&
      state_->tried.emplace(call.m, call.n, call.k, call.accumulate, epilogue.kind).second) {
    try_out(call, epilogue, separately);
  }
  if (call.input_dtype != DType::kBF16 || call.n % 128 != 0 || call.k == 0) {
    separately(call, epilogue);
    return false;
  }
  emulated_cuda::issue([call, epilogue] { multiply(call, epilogue); });
  return true;
}

}  // namespace strata::device::cuda
