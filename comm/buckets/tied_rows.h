// Reduces the sparse part of a tied table's gradient, which the end of backward completes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/buckets/bucket_options.h"
#include "device/memory/buffer.h"

namespace strata::comm {

// Reduces the rows of TiedRows that some rank touched. Host memory only.
class RowExchange {
 public:
  // `table` is the dense part of the gradient, `sparse` the sparse part (see TiedRows). `backend`
  // and `communicator` must outlive this object. Throws Error if the parts do not fit each other.
  RowExchange(device::Backend& backend, Communicator& communicator, device::Tensor table,
              device::Tensor sparse, device::DType reduce_dtype);

  // ---- Called in this order in every step.

  void announce(std::span<const uint8_t> touched);  // see GradientBuckets::announce_rows
  // Finds the rows that some rank touched. All ranks call together.
  void reduce_touched();
  // Packs this rank's part of the rows in the reduced dtype, on Stream::kReduce.
  void collect();
  void reduce();  // all ranks call together
  // Adds the rows to the table and clears this rank's part, on Stream::kReduce.
  void add();

  // Rows reduced in the last step.
  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }

 private:
  bool converts() const { return reduced_.bytes() > 0; }
  device::Tensor summed() const;   // [rows, cols] master dtype
  device::Tensor reduced() const;  // the same rows in the reduced dtype

  device::Backend& backend_;
  Communicator& communicator_;
  device::Tensor table_, sparse_;  // [rows, cols]
  device::DType reduce_dtype_;
  std::vector<uint16_t> touched_;  // [rows] bf16: number of ranks that touch each row
  std::vector<int32_t> rows_;
  device::Buffer summed_, reduced_;
};

}  // namespace strata::comm
