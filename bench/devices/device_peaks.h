// What a device reaches at best, measured: the yardsticks of everything else.
#pragma once

#include "device/backend.h"
#include "device/memory/buffer.h"

namespace strata::bench {

// Square GEMMs of the compute dtype over random numbers, as large as they must be to keep the
// device busy for ten milliseconds.
class MatrixPeak {
 public:
  // Finds the size; runs the GEMM a few times. `backend` outlives it.
  explicit MatrixPeak(device::Backend& backend);

  int64_t size() const { return size_; }
  // Of one GEMM, now.
  double flops_per_second() const;

 private:
  void make_operands(int64_t size);
  double seconds() const;

  device::Backend& backend_;
  int64_t size_ = 0;
  device::Buffer x_, weight_, y_;
};

// Copies in device memory, larger than caches, but for an emulated device.
class CopyPeak {
 public:
  explicit CopyPeak(device::Backend& backend);

  // Bytes read and bytes written together, of a few copies in a row, now.
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
