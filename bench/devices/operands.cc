#include "bench/devices/operands.h"

#include <algorithm>

namespace strata::bench {

using device::ConstTensor;
using device::DType;
using device::Stream;
using device::Tensor;

namespace {

constexpr float kStddev = 0.05f;
constexpr size_t kPage = 4096;  // bytes; tensors begin at one, as in memory of their own

}  // namespace

void OperandArena::allocate(size_t bytes) {
  memory_ = device::Buffer(backend_, std::max(bytes, kPage));
  overwritten_ = memory_.bytes();
  for (const auto& [mean, largest] : largest_) {
    numbers_.try_emplace(mean, backend_, largest, mean, kStddev, 1);
  }
}

void* OperandArena::take(size_t bytes) {
  void* data = counts() ? nullptr : memory_.as<char>() + used_;
  used_ += (bytes + kPage - 1) / kPage * kPage;
  return data;
}

Tensor OperandArena::make(DType dtype, int64_t rows, int64_t cols, float mean) {
  const size_t begin = used_;
  const Tensor tensor{take(static_cast<size_t>(rows * cols) * size_of(dtype)), dtype, rows, cols};
  ++tensors_;
  if (counts()) {
    largest_[mean] = std::max(largest_[mean], tensor.size());
  } else if (begin < overwritten_) {
    const size_t elements = (overwritten_ - begin + size_of(dtype) - 1) / size_of(dtype);
    const auto lost = std::min(tensor.size(), static_cast<int64_t>(elements));
    numbers_.at(mean).fill({tensor.data, dtype, 1, lost}, tensors_);
  }
  return tensor;
}

ConstTensor Operands::operand(DType float8_dtype, int64_t rows, int64_t cols) {
  const Copied both = copied(float8_dtype, rows, cols);
  if (!both.copy) return both.tensor;
  backend_.round_to_float8(Stream::kCompute, {both.tensor, both.copy});
  return both.copy.data;
}

Copied Operands::copied(DType float8_dtype, int64_t rows, int64_t cols) {
  Copied both{.tensor = compute(rows, cols)};
  if (!float8_) return both;
  const auto bytes = static_cast<size_t>(rows * cols) * size_of(float8_dtype);
  void* data = take(bytes);
  if (!data) return both;
  const float scale[2] = {256.0f, 1.0f / 256.0f};
  auto* scale_memory = zeros<float[2]>();
  backend_.store(Stream::kCompute, scale_memory, scale, sizeof scale);
  both.copy = {.data = {data, float8_dtype, rows, cols, *scale_memory}, .amax = zeros<float>()};
  return both;
}

Copied Operands::only_for_gemms(DType float8_dtype, int64_t rows, int64_t cols) {
  Copied result = copied(float8_dtype, rows, cols);
  if (float8_) result.tensor.data = nullptr;
  return result;
}

Tensor Operands::make(DType dtype, int64_t rows, int64_t cols, float mean) {
  if (arena_) return arena_->make(dtype, rows, cols, mean);
  const auto bytes = static_cast<size_t>(rows * cols) * size_of(dtype);
  const Tensor tensor{take(bytes), dtype, rows, cols};
  fill_normal(backend_, tensor, mean, kStddev, buffers_.size());
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
