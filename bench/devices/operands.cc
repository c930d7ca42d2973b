#include "bench/devices/operands.h"

#include "bench/devices/device_peaks.h"

namespace strata::bench {

using device::ConstTensor;
using device::DType;
using device::Stream;
using device::Tensor;

ConstTensor Operands::operand(DType float8_dtype, int64_t rows, int64_t cols) {
  const Copied both = copied(float8_dtype, rows, cols);
  if (!float8_) return both.tensor;
  backend_.round_to_float8(Stream::kCompute, {both.tensor, both.copy});
  return both.copy.data;
}

Copied Operands::copied(DType float8_dtype, int64_t rows, int64_t cols) {
  Copied both{.tensor = compute(rows, cols)};
  if (!float8_) return both;
  const float scale[2] = {256.0f, 1.0f / 256.0f};
  auto* scale_memory = zeros<float[2]>();
  backend_.store(Stream::kCompute, scale_memory, scale, sizeof scale);
  const auto bytes = static_cast<size_t>(rows * cols) * size_of(float8_dtype);
  both.copy = {.data = {buffers_.emplace_back(backend_, bytes).data(), float8_dtype, rows, cols,
                        *scale_memory},
               .amax = zeros<float>()};
  return both;
}

Copied Operands::only_for_gemms(DType float8_dtype, int64_t rows, int64_t cols) {
  Copied result = copied(float8_dtype, rows, cols);
  if (float8_) result.tensor.data = nullptr;
  return result;
}

Tensor Operands::make(DType dtype, int64_t rows, int64_t cols, float mean) {
  const auto bytes = static_cast<size_t>(rows * cols) * size_of(dtype);
  const Tensor tensor{buffers_.emplace_back(backend_, bytes).data(), dtype, rows, cols};
  fill_normal(backend_, tensor, mean, 0.05f, buffers_.size());
  return tensor;
}

double bytes_of(std::initializer_list<ConstTensor> tensors) {
  double bytes = 0;
  for (const ConstTensor& tensor : tensors) {
    if (tensor) bytes += static_cast<double>(tensor.bytes());
  }
  return bytes;
}

}  // namespace strata::bench
