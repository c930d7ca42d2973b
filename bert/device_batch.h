// A packed batch in device memory.
#pragma once

#include "data/packed_batch.h"
#include "device/backend.h"

namespace strata::bert {

// The most that batches will hold; memory is taken for it once.
struct BatchCapacity {
  int64_t tokens = 0;
  int64_t sequences = 0;
  int64_t masked = 0;  // masked positions
};

class DeviceBatch {
 public:
  DeviceBatch(device::Backend& backend, const BatchCapacity& capacity);

  const BatchCapacity& capacity() const { return capacity_; }

  // Copies `batch` to the device. Throws Error where it exceeds the capacity.
  void upload(device::Stream stream, const data::PackedBatch& batch);

  device::Sequences sequences;
  const int32_t* tokens = nullptr;            // [T]
  const int32_t* segments = nullptr;          // [T]
  const int32_t* positions = nullptr;         // [T]
  const int32_t* masked_positions = nullptr;  // [M]
  const int32_t* masked_ids = nullptr;        // [M]
  const int32_t* next_sentence = nullptr;     // [B]
  int64_t masked = 0;                         // M

 private:
  device::Backend& backend_;
  BatchCapacity capacity_;
  device::Buffer tokens_, segments_, positions_, cu_seqlens_, masked_positions_, masked_ids_,
      next_sentence_, sample_ids_;
};

}  // namespace strata::bert
