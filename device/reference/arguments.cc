#include "device/reference/arguments.h"

#include "base/error.h"

namespace strata::device::reference {

void Arguments::check(const char* name, const ConstTensor& tensor, int64_t rows, int64_t cols,
                      DType dtype) const {
  if (tensor.rows != rows || tensor.cols != cols) {
    fail("reference {}: {} is [{}, {}], expected [{}, {}]", operation_, name, tensor.rows,
         tensor.cols, rows, cols);
  }
  if (tensor.size() == 0) return;
  if (!tensor) fail("reference {}: {} is absent", operation_, name);
  if (tensor.dtype != dtype) {
    fail("reference {}: {} is {}, expected {}", operation_, name, name_of(tensor.dtype),
         name_of(dtype));
  }
}

ConstMatrix Arguments::matrix(const char* name, const ConstTensor& tensor, int64_t rows,
                              int64_t cols) const {
  check(name, tensor, rows, cols, DType::kF64);
  return {tensor.as<double>(), rows, cols};
}

Matrix Arguments::matrix(const char* name, const Tensor& tensor, int64_t rows, int64_t cols) const {
  check(name, tensor, rows, cols, DType::kF64);
  return {tensor.as<double>(), rows, cols};
}

ConstMatrix Arguments::vector(const char* name, const ConstTensor& tensor, int64_t size) const {
  return matrix(name, tensor, 1, size);
}

Matrix Arguments::vector(const char* name, const Tensor& tensor, int64_t size) const {
  return matrix(name, tensor, 1, size);
}

void Arguments::float8(const char* name, const ConstTensor& tensor, int64_t rows, int64_t cols,
                       DType dtype) const {
  check(name, tensor, rows, cols, dtype);
  if (!tensor.scale) fail("reference {}: {} has no scale", operation_, name);
}

void Arguments::range(const char* name, const ConstTensor& tensor, int64_t size) const {
  if (tensor.size() != size) {
    fail("reference {}: {} has {} elements, expected {}", operation_, name, tensor.size(), size);
  }
  if (size > 0 && !tensor) fail("reference {}: {} is absent", operation_, name);
}

void Arguments::indices(const char* name, const int32_t* indices, int64_t count,
                        int64_t limit) const {
  check_indices(name, indices, count, 0, limit);
}

void Arguments::indices_or_none(const char* name, const int32_t* indices, int64_t count,
                                int64_t limit) const {
  check_indices(name, indices, count, -1, limit);
}

void Arguments::check_indices(const char* name, const int32_t* indices, int64_t count,
                              int64_t lowest, int64_t limit) const {
  if (count > 0 && indices == nullptr) fail("reference {}: {} is absent", operation_, name);
  for (int64_t i = 0; i < count; ++i) {
    if (indices[i] < lowest || indices[i] >= limit) {
      fail("reference {}: {}[{}] is {}, expected a value in [{}, {})", operation_, name, i,
           indices[i], lowest, limit);
    }
  }
}

void Arguments::sequences(const Sequences& sequences, int64_t tokens) const {
  require(sequences.cu_seqlens != nullptr, "sequences.cu_seqlens is given");
  require(sequences.count == 0 || sequences.sample_ids != nullptr, "sequences.sample_ids is given");
  const int32_t* cu_seqlens = sequences.cu_seqlens;
  require(cu_seqlens[0] == 0, "cu_seqlens starts at 0");
  for (int32_t b = 0; b < sequences.count; ++b) {
    const int32_t length = cu_seqlens[b + 1] - cu_seqlens[b];
    require(length >= 0, "cu_seqlens never falls");
    require(length <= sequences.max_length, "no sequence is longer than max_length");
  }
  require(sequences.tokens == tokens, "sequences.tokens is the number of rows");
  require(cu_seqlens[sequences.count] == tokens, "cu_seqlens ends at the number of tokens");
}

plain::TokenDropout Arguments::dropout(const Dropout& dropout, const Sequences& sequences,
                                       int64_t tokens) const {
  if (dropout.probability != 0) this->sequences(sequences, tokens);
  return plain::TokenDropout(dropout, sequences);
}

void Arguments::standardization(const StandardizationGradient& gradient, int64_t tokens,
                                int64_t hidden) const {
  if (!gradient.mean) return;
  const int64_t size = gradient.axis == StandardizationAxis::kUnit ? hidden : tokens;
  vector("standardization.mean", gradient.mean, size);
  vector("standardization.slope", gradient.slope, size);
  const int32_t rows = gradient.rows.now();
  require(rows >= 0 && rows <= tokens, "standardization.rows is in [0, T]");
}

void Arguments::require(bool condition, const char* expectation) const {
  if (!condition) fail("reference {}: expected that {}", operation_, expectation);
}

}  // namespace strata::device::reference
