// A gradient of a table in two parts: one that is reduced early, and rows that only the end of
// backward completes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/buckets/gradient_buckets.h"
#include "device/buffer.h"

namespace strata::comm {

// What of LateRows is sent: the rows that some rank touched. In host memory.
class RowExchange {
 public:
  // `table`: the early part of the gradient, `late`: the other (see LateRows). `backend` and
  // `communicator` outlive it. Throws Error where the parts do not fit each other.
  RowExchange(device::Backend& backend, Communicator& communicator, device::Tensor table,
              device::Tensor late, device::DType reduce_dtype);

  // ---- In this order in every step.

  void announce(std::span<const uint8_t> touched);  // see GradientBuckets
  // All ranks together: which rows some rank touched.
  void agree();
  // Issues on Stream::kReduce: this rank's part of them, in the reduced dtype. Waits.
  void gather();
  void reduce();  // all ranks together
  // Issues on Stream::kReduce: adds them to the table, and clears this rank's part.
  void add();

  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }  // of the last step

 private:
  bool converts() const { return reduced_.bytes() > 0; }
  device::Tensor summed() const;   // [rows, cols] master dtype
  device::Tensor reduced() const;  // the same in the reduced dtype

  device::Backend& backend_;
  Communicator& communicator_;
  device::Tensor table_, late_;  // [rows, cols]
  device::DType reduce_dtype_;
  std::vector<uint16_t> touched_;  // bf16, by how many ranks
  std::vector<int32_t> rows_;
  device::Buffer summed_, reduced_;
};

}  // namespace strata::comm
