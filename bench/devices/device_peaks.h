// The measured peaks of a device, which all other figures are compared with.
#pragma once

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

 private:
  void make_operands(int64_t size);
  double seconds() const;

  device::Backend& backend_;
  int64_t size_ = 0;
  device::Buffer x_, weight_, y_;
};

// Measures copies in device memory. They exceed the caches, except on an emulated device.
class CopyPeak {
 public:
  explicit CopyPeak(device::Backend& backend);

  // Measures a few copies in a row. Counts bytes read and bytes written.
  double bytes_per_second() const;

 private:
  double seconds(int copies) const;

  device::Backend& backend_;
  int64_t elements_ = 0;
  device::Buffer from_, to_;
};

// Fills device memory with random values of a normal distribution.
void fill_normal(device::Backend& backend, const device::Tensor& tensor, float mean, float stddev,
                 uint64_t seed);

}  // namespace strata::bench
