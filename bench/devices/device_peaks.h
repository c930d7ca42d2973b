// The measured peaks of a device, which all other figures are compared with.
#pragma once

#include <cstdint>

#include "device/backend.h"
#include "device/memory/buffer.h"

namespace strata::bench {

// Measures square GEMMs of the compute dtype over random numbers. They are large enough to keep the
// device busy for ten milliseconds.
class MatrixPeak {
 public:
  // Finds the size, and runs the GEMM a few times. `backend` must outlive the object.
  explicit MatrixPeak(device::Backend& backend);

  int64_t size() const { return size_; }
  // Measures one GEMM.
  double flops_per_second() const;
  // Measures the GEMM dx = dy weight on square operands of the caller.
  static double flops_per_second(device::Backend& backend, const device::Tensor& dy,
                                 const device::Tensor& weight, const device::Tensor& dx);

 private:
  void make_operands(int64_t size);
  device::Tensor tensor(const device::Buffer& buffer) const;
  bool is_long_enough() const;

  device::Backend& backend_;
  int64_t size_ = 0;
  device::Buffer x_, weight_, y_;
};

// Measures copies in device memory. They exceed the caches, except on an emulated device.
class CopyPeak {
 public:
  explicit CopyPeak(device::Backend& backend);

  // Returns how many elements of the master dtype a copy moves on this device.
  static int64_t elements_for(device::Backend& backend);
  // Measures a few copies in a row. Counts bytes read and bytes written.
  double bytes_per_second() const;
  // Measures copies between tensors of the caller.
  static double bytes_per_second(device::Backend& backend, const device::Tensor& from,
                                 const device::Tensor& to);

 private:
  CopyPeak(device::Backend& backend, int64_t elements);
  device::Tensor tensor(const device::Buffer& buffer) const;

  device::Backend& backend_;
  int64_t elements_;
  device::Buffer from_, to_;
};

// Normally distributed numbers in device memory, from which tensors are filled.
class NormalNumbers {
 public:
  // Draws a number for each element of the `largest` tensor, but at most about a million. `backend`
  // must outlive the object.
  NormalNumbers(device::Backend& backend, int64_t largest, float mean, float stddev, uint64_t seed);

  // Fills `tensor`. `seed` chooses the number that it begins with.
  void fill(const device::Tensor& tensor, int64_t seed = 0) const;

 private:
  device::Backend& backend_;
  int64_t count_;
  device::Buffer numbers_;
};

// Fills device memory with random values of a normal distribution.
void fill_normal(device::Backend& backend, const device::Tensor& tensor, float mean, float stddev,
                 uint64_t seed);

}  // namespace strata::bench
