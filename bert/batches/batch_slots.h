// Slots for batches in device memory: the next batch is copied while others are used.
#pragma once

#include <vector>

#include "bert/batches/device_batch.h"

namespace strata::bert {

class BatchSlots {
 public:
  // Allocates memory for `in_flight` batches in use and one uploaded ahead. `backend` must outlive
  // this object.
  BatchSlots(device::Backend& backend, const BatchCapacity& capacity, const BatchRounding& rounding,
             int in_flight);

  // Starts to copy a batch to the device for the next take(), concurrently with the device's work.
  // The caller may change `batch` as soon as it returns. Throws Error if a batch is uploaded
  // already.
  void upload(const data::PackedBatch& batch);
  // Drops the uploaded batch.
  void discard() { uploaded_ = false; }
  // Returns the uploaded batch, which later work on Stream::kCompute may read. Requires that all
  // readers of earlier batches have been issued, except readers of the last `in_flight` - 1
  // batches. Throws Error if none was uploaded.
  const DeviceBatch& take();

  const BatchCapacity& capacity() const { return slots_.front().batch.capacity(); }
  int count() const { return static_cast<int>(slots_.size()); }
  // Returns the slot of a taken batch, from 0. Slots are used in a cycle.
  int slot_of(const DeviceBatch& batch) const;

 private:
  struct Slot {
    DeviceBatch batch;
    device::Event uploaded = 0, free = 0;
  };

  device::Backend& backend_;
  std::vector<Slot> slots_;
  size_t next_ = 0;
  bool uploaded_ = false;  // slots_[next_] is uploaded and not yet taken
};

}  // namespace strata::bert
