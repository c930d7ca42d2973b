// Device memory with random numbers, for the operands of measured operations.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <list>
#include <map>

#include "bench/devices/device_peaks.h"
#include "device/backend.h"
#include "device/memory/buffer.h"

namespace strata::bench {

// An output, and its FP8 copy for GEMMs.
struct Copied {
  device::Tensor tensor;
  device::Float8Copy copy;
};

// Device memory that several Operands use one after the other. Until it is allocated it only counts
// the bytes that they need, and their tensors have no data.
class OperandArena {
 public:
  explicit OperandArena(device::Backend& backend) : backend_(backend) {}

  bool counts() const { return !memory_.data(); }
  size_t used() const { return used_; }
  void allocate(size_t bytes);
  // Says that the next Operands used this memory before, and that others have since overwritten
  // only its first `bytes`. Only these are then filled with random numbers again.
  void set_overwritten(size_t bytes) { overwritten_ = bytes; }

 private:
  friend class Operands;
  device::Tensor make(device::DType dtype, int64_t rows, int64_t cols, float mean);
  void* take(size_t bytes);

  device::Backend& backend_;
  device::Buffer memory_;
  size_t used_ = 0, overwritten_ = 0;
  int64_t tensors_ = 0;                     // number of tensors in use
  std::map<float, int64_t> largest_;        // elements of the largest tensor, by mean
  std::map<float, NormalNumbers> numbers_;  // by mean
};

// Owns all tensors that it returns, or takes them from an arena.
class Operands {
 public:
  // `float8`: GEMMs run in FP8. `backend` must outlive the object.
  explicit Operands(device::Backend& backend, bool float8 = false)
      : backend_(backend), float8_(float8) {}
  Operands(device::Backend& backend, bool float8, OperandArena& arena)
      : backend_(backend),
        float8_(float8),
        arena_(&arena),
        used_before_(arena.used_),
        tensors_before_(arena.tensors_) {}
  ~Operands() {
    if (!arena_) return;
    arena_->used_ = used_before_;
    arena_->tensors_ = tensors_before_;
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  device::Tensor compute(int64_t rows, int64_t cols) {
    return make(backend_.compute_dtype(), rows, cols);
  }
  device::Tensor master(int64_t rows, int64_t cols) {
    return make(backend_.master_dtype(), rows, cols);
  }
  // Returns numbers around 1 in the master dtype, like inverse deviations.
  device::Tensor positive(int64_t cols) { return make(backend_.master_dtype(), 1, cols, 1.0f); }
  // Returns uninitialized memory for numbers of the master dtype.
  device::Tensor unfilled(int64_t cols) {
    const device::DType dtype = backend_.master_dtype();
    return {take(static_cast<size_t>(cols) * size_of(dtype)), dtype, 1, cols};
  }
  // Returns zeros.
  template <typename T>
  T* zeros() {
    return buffers_.emplace_back(backend_, sizeof(T)).template as<T>();
  }
  // Returns a GEMM's operand; `float8_dtype` is its dtype in FP8.
  device::ConstTensor operand(device::DType float8_dtype, int64_t rows, int64_t cols);
  // Returns an output that GEMMs and other operations read.
  Copied copied(device::DType float8_dtype, int64_t rows, int64_t cols);
  // Returns an output that only GEMMs read.
  Copied only_for_gemms(device::DType float8_dtype, int64_t rows, int64_t cols);

 private:
  device::Tensor make(device::DType dtype, int64_t rows, int64_t cols, float mean = 0.0f);
  void* take(size_t bytes) {
    return arena_ ? arena_->take(bytes) : buffers_.emplace_back(backend_, bytes).data();
  }

  device::Backend& backend_;
  bool float8_;
  OperandArena* arena_ = nullptr;
  size_t used_before_ = 0;
  int64_t tensors_before_ = 0;
  std::list<device::Buffer> buffers_;
};

// Returns the bytes of the tensors that are not absent.
double bytes_of(std::initializer_list<device::ConstTensor> tensors);

}  // namespace strata::bench
