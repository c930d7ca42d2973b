// Operands of FP8 GEMMs, and outputs that are copied to FP8.
#pragma once

#include <vector>

#include "device/reference/arguments.h"

namespace strata::device::reference {

// A matrix of f64, or of `format`, decoded to f64.
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

// An output with its Float8Copy in `format`.
class CopiedOutput {
 public:
  CopiedOutput(const Arguments& arguments, const char* name, const Tensor& tensor,
               const Float8Copy& copy, int64_t rows, int64_t cols, DType format);
  CopiedOutput(const CopiedOutput&) = delete;
  CopiedOutput& operator=(const CopiedOutput&) = delete;

  // Returns the output, or temporary memory if it has only a shape.
  const Matrix& matrix() const { return matrix_; }
  // Writes the copy of the matrix's current values.
  void copy() const;

 private:
  const Float8Copy& copy_;
  Matrix matrix_;
  std::vector<double> memory_;
};

}  // namespace strata::device::reference
