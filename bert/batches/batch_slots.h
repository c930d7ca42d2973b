// Batches on their way to the device: the next is copied while others are worked on.
#pragma once

#include <vector>

#include "bert/batches/device_batch.h"

namespace strata::bert {

class BatchSlots {
 public:
  // Memory for `in_flight` batches that are worked on and one that is ahead of them. `backend`
  // outlives it.
  BatchSlots(device::Backend& backend, const BatchCapacity& capacity, const BatchRounding& rounding,
             int in_flight);

  // Copies a batch to the device, beside whatever that works on, for the next take(). It may be
  // changed at once. Throws Error where one is ahead already.
  void upload(const data::PackedBatch& batch);
  // Forgets it.
  void discard() { uploaded_ = false; }
  // The batch that was uploaded: what Stream::kCompute is given from now on may read it. Of the
  // batches taken before, all but the last `in_flight` - 1 are done with: everything that reads
  // them has been issued. Throws Error where none was uploaded.
  const DeviceBatch& take();

  const BatchCapacity& capacity() const { return slots_.front().batch.capacity(); }
  int count() const { return static_cast<int>(slots_.size()); }
  // Of a batch that was taken, from 0; they come in turn.
  int slot_of(const DeviceBatch& batch) const;

 private:
  struct Slot {
    DeviceBatch batch;
    device::Event uploaded = 0, free = 0;
  };

  device::Backend& backend_;
  std::vector<Slot> slots_;
  size_t next_ = 0;
  bool uploaded_ = false;  // slots_[next_] is, and waits to be taken
};

}  // namespace strata::bert
