// Tensors in device memory, as operations take them. They are views and never own memory.
#pragma once

#include <cstdint>

#include "base/range.h"
#include "device/operations/dtype.h"
#include "device/operations/host_device.h"

namespace strata::device {

// A matrix in device memory; a vector has one row. The tensor is absent if `data` is null.
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  // For FP8 tensors: device memory [2], the power of two that numbers were multiplied by before
  // rounding, and its inverse.
  const float* scale = nullptr;

  STRATA_HOST_DEVICE int64_t size() const { return rows * cols; }
  size_t bytes() const { return static_cast<size_t>(size()) * size_of(dtype); }
  STRATA_HOST_DEVICE explicit operator bool() const { return data != nullptr; }
  template <typename T>
  STRATA_HOST_DEVICE T* as() const {
    return static_cast<T*>(data);
  }
};

struct ConstTensor {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  const float* scale = nullptr;

  ConstTensor() = default;
  ConstTensor(const void* data_, DType dtype_, int64_t rows_, int64_t cols_)
      : data(data_), dtype(dtype_), rows(rows_), cols(cols_) {}
  ConstTensor(const Tensor& t)
      : data(t.data), dtype(t.dtype), rows(t.rows), cols(t.cols), scale(t.scale) {}
  STRATA_HOST_DEVICE int64_t size() const { return rows * cols; }
  size_t bytes() const { return static_cast<size_t>(size()) * size_of(dtype); }
  STRATA_HOST_DEVICE explicit operator bool() const { return data != nullptr; }
  template <typename T>
  STRATA_HOST_DEVICE const T* as() const {
    return static_cast<const T*>(data);
  }
};

// Returns the elements `range` of a flat tensor; absent if `flat` is absent.
inline Tensor elements_of(const Tensor& flat, const Range& range) {
  if (!flat) return flat;
  return {flat.as<char>() + range.begin * static_cast<int64_t>(size_of(flat.dtype)), flat.dtype, 1,
          range.size()};
}

// Boundaries of the sequences in a packed batch of T rows (device pointers).
struct Sequences {
  int32_t count = 0;                     // B
  int32_t tokens = 0;                    // T = cu_seqlens[B]
  int32_t max_length = 0;                // length of the longest sequence
  int32_t min_length = 0;                // length of the shortest sequence
  const int32_t* cu_seqlens = nullptr;   // [B+1], first token of each sequence
  const uint64_t* sample_ids = nullptr;  // [B], each sample's dropout key
};

// A second copy of an output in FP8, for the GEMMs that read it: its numbers times a scale, rounded
// to nearest and saturated. A backend may round to the output's dtype first. T is a multiple of the
// backend's BackendKind::float8_tokens; the number of columns is a multiple of 16.
struct Float8Copy {
  // Same shape as the output; kE4M3 for weights and activations, kE5M2 for gradients. Absent: no
  // copy.
  Tensor data;
  // Device memory: set to max(*amax, max |x|); null: not wanted.
  float* amax = nullptr;

  STRATA_HOST_DEVICE explicit operator bool() const { return data || amax; }
};

}  // namespace strata::device
