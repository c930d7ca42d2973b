// Operands of FP8 GEMMs, and what writes them.
#pragma once

#include <vector>

#include "device/reference/arguments.h"

namespace strata::device::reference {

// A matrix of f64, or of `format`, whose numbers are read.
class Operand {
 public:
  Operand(const Arguments& arguments, const char* name, const ConstTensor& tensor, int64_t rows,
          int64_t cols, DType format);
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;

  double operator()(int64_t i, int64_t j) const { return matrix_(i, j); }

 private:
  ConstMatrix matrix_;
  std::vector<double> decoded_;
};

// An output with its Float8Copy, of `format`.
class CopiedOutput {
 public:
  CopiedOutput(const Arguments& arguments, const char* name, const Tensor& tensor,
               const Float8Copy& copy, int64_t rows, int64_t cols, DType format);
  CopiedOutput(const CopiedOutput&) = delete;
  CopiedOutput& operator=(const CopiedOutput&) = delete;

  // The output, or memory in its place.
  const Matrix& matrix() const { return matrix_; }
  // Writes the copy of what the matrix holds now.
  void copy() const;

 private:
  const Float8Copy& copy_;
  Matrix matrix_;
  std::vector<double> memory_;
};

}  // namespace strata::device::reference
