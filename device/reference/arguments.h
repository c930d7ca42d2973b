// Checked access to the arguments of an operation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/operations/operations.h"
#include "device/plain/token_dropout.h"

namespace strata::device::reference {

// A view of a row-major matrix of doubles (`T` is double or const double).
template <typename T>
struct MatrixView {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;

  T* row(int64_t i) const { return data + i * cols; }
  T& operator()(int64_t i, int64_t j) const { return data[i * cols + j]; }
  T& operator[](int64_t i) const { return data[i]; }  // for vectors
};
using Matrix = MatrixView<double>;
using ConstMatrix = MatrixView<const double>;

inline void clear(const Matrix& matrix) {
  std::fill_n(matrix.data, matrix.rows * matrix.cols, 0.0);
}

// Converts the tensors of one operation to views. Throws Error naming the operation and the
// argument if a tensor is absent or has an unexpected shape or dtype.
class Arguments {
 public:
  explicit Arguments(const char* operation) : operation_(operation) {}

  ConstMatrix matrix(const char* name, const ConstTensor& tensor, int64_t rows, int64_t cols) const;
  Matrix matrix(const char* name, const Tensor& tensor, int64_t rows, int64_t cols) const;
  ConstMatrix vector(const char* name, const ConstTensor& tensor, int64_t size) const;
  Matrix vector(const char* name, const Tensor& tensor, int64_t size) const;

  // Checks that an FP8 tensor is present, has that dtype and a scale.
  void float8(const char* name, const ConstTensor& tensor, int64_t rows, int64_t cols,
              DType dtype) const;
  // Checks that a flat range of any dtype is present and has `size` elements.
  void range(const char* name, const ConstTensor& tensor, int64_t size) const;
  // `indices` is an array of `count` values in [0, limit).
  void indices(const char* name, const int32_t* indices, int64_t count, int64_t limit) const;
  // The same, or -1.
  void indices_or_none(const char* name, const int32_t* indices, int64_t count,
                       int64_t limit) const;
  // cu_seqlens must not decrease and must end at `tokens`.
  void sequences(const Sequences& sequences, int64_t tokens) const;
  // Both arguments must outlive the result. `sequences` is checked, and used, only with dropout.
  plain::TokenDropout dropout(const Dropout& dropout, const Sequences& sequences,
                              int64_t tokens) const;
  // Checks mean and slope, which are absent without a standardization loss, and the rows.
  void standardization(const StandardizationGradient& gradient, int64_t tokens,
                       int64_t hidden) const;
  void require(bool condition, const char* expectation) const;

 private:
  void check(const char* name, const ConstTensor& tensor, int64_t rows, int64_t cols,
             DType dtype) const;
  void check_indices(const char* name, const int32_t* indices, int64_t count, int64_t lowest,
                     int64_t limit) const;

  const char* operation_;
};

// The optional column sums of an operation's output.
class Sums {
 public:
  Sums(const Arguments& arguments, const char* name, const ColumnSums& sums, int64_t columns) {
    if (!sums) return;
    sums_ = arguments.vector(name, sums.sums, columns);
    if (!sums.accumulate) clear(sums_);
    *sums.done = true;
  }
  void add(int64_t column, double x) const {
    if (sums_.data) sums_[column] += x;
  }

 private:
  Matrix sums_;
};

}  // namespace strata::device::reference
