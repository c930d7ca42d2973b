#include "device/reference/float8.h"

#include <algorithm>
#include <cmath>

#include "device/plain/element.h"
#include "device/reference/operations.h"

namespace strata::device::reference {

using plain::load;
using plain::store;
namespace {

void write(const ConstMatrix& matrix, const Float8Copy& copy) {
  for (int64_t i = 0; i < matrix.rows * matrix.cols; ++i) {
    if (copy.data) store(copy.data, i, matrix[i]);
    if (copy.amax) {
      *copy.amax = std::max(*copy.amax, static_cast<float>(std::abs(matrix[i])));
    }
  }
}

}  // namespace

Operand::Operand(const Arguments& arguments, const char* name, const ConstTensor& tensor,
                 int64_t rows, int64_t cols, DType format) {
  if (tensor.dtype == DType::kF64) {
    matrix_ = arguments.matrix(name, tensor, rows, cols);
    return;
  }
  arguments.float8(name, tensor, rows, cols, format);
  for (int64_t i = 0; i < rows * cols; ++i) decoded_.push_back(load(tensor, i));
  matrix_ = {decoded_.data(), rows, cols};
}

CopiedOutput::CopiedOutput(const Arguments& arguments, const char* name, const Tensor& tensor,
                           const Float8Copy& copy, int64_t rows, int64_t cols, DType format)
    : copy_(copy) {
  if (copy.data && copy.data.dtype != DType::kF64) {
    arguments.float8(name, copy.data, rows, cols, format);
  }
  if (tensor || !copy.data) {
    matrix_ = arguments.matrix(name, tensor, rows, cols);
  } else {
    memory_.resize(static_cast<size_t>(rows * cols));
    matrix_ = {memory_.data(), rows, cols};
  }
}

void CopiedOutput::copy() const { write({matrix_.data, matrix_.rows, matrix_.cols}, copy_); }

void round_to_float8(const RoundToFloat8& op) {
  const Arguments arguments("round_to_float8");
  if (op.copy.data && op.copy.data.dtype != DType::kF64) {
    arguments.float8("copy", op.copy.data, op.x.rows, op.x.cols, op.copy.data.dtype);
  }
  write(arguments.matrix("x", op.x, op.x.rows, op.x.cols), op.copy);
}

void float8_update(const Float8Update& op) {
  for (int64_t i = 0; i < op.count; ++i) {
    update_float8_scale(op.limit, op.amax[i], op.history + i * kFloat8History, op.scales + 2 * i);
  }
}

}  // namespace strata::device::reference
