// The sparse part of a tied table's gradient: rows that only the end of backward completes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/buckets/bucket_options.h"
#include "device/memory/buffer.h"

namespace strata::comm {

// Reduces the rows of TiedRows that some rank touched. In host memory.
class RowExchange {
 public:
  // `table`: the dense part of the gradient, `sparse`: the other (see TiedRows). `backend` and
  // `communicator` outlive it. Throws Error if the parts do not fit each other.
  RowExchange(device::Backend& backend, Communicator& communicator, device::Tensor table,
              device::Tensor sparse, device::DType reduce_dtype);

  // ---- In this order in every step.

  void announce(std::span<const uint8_t> touched);  // see GradientBuckets
  // All ranks together: learns which rows some rank touched.
  void reduce_touched();
  // Issues on Stream::kReduce: packs this rank's part of them, in the reduced dtype.
  void collect();
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
  device::Tensor table_, sparse_;  // [rows, cols]
  device::DType reduce_dtype_;
  std::vector<uint16_t> touched_;  // bf16, by how many ranks
  std::vector<int32_t> rows_;
  device::Buffer summed_, reduced_;
};

}  // namespace strata::comm
