// Tensors in device memory, as operations take them: views, never owners.
#pragma once

#include <cstdint>

#include "base/range.h"
#include "device/operations/dtype.h"
#include "device/operations/host_device.h"

namespace strata::device {

// A matrix in device memory that somebody else owns; a vector has one row. `data` null: absent.
struct Tensor {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t rows = 0;
  int64_t cols = 0;
  // Of FP8 tensors: device memory, [2], a power of two that numbers were multiplied by before they
  // were rounded, and its inverse.
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

// The elements `range` of a flat tensor; absent where it is.
inline Tensor elements_of(const Tensor& flat, const Range& range) {
  if (!flat) return flat;
  return {flat.as<char>() + range.begin * static_cast<int64_t>(size_of(flat.dtype)), flat.dtype, 1,
          range.size()};
}

// How the T rows of a packed batch divide into sequences (device pointers).
struct Sequences {
  int32_t count = 0;                     // B
  int32_t tokens = 0;                    // T = cu_seqlens[B]
  int32_t max_length = 0;                // no sequence is longer
  int32_t min_length = 0;                // no sequence is shorter
  const int32_t* cu_seqlens = nullptr;   // [B+1], first token of each sequence
  const uint64_t* sample_ids = nullptr;  // [B], key of each sample's dropout
};

// An output once more in FP8, for the GEMMs that read it: its numbers times a scale, rounded to the
// nearest, or to the format's largest where they exceed it. Whether they are rounded to the
// output's dtype before is up to the backend. T is a multiple of the backend's
// BackendKind::float8_tokens; the columns are multiples of 16.
struct Float8Copy {
  // Of the output's shape; kE4M3 of weights and activations, kE5M2 of gradients. Absent: none.
  Tensor data;
  // Device memory: raised to max |x|; null: not wanted.
  float* amax = nullptr;

  STRATA_HOST_DEVICE explicit operator bool() const { return data || amax; }
};

}  // namespace strata::device
