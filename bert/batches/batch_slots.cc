#include "bert/batches/batch_slots.h"

#include "base/error.h"

namespace strata::bert {
namespace {

constexpr device::Stream kCopy = device::Stream::kCopy;

}  // namespace

BatchSlots::BatchSlots(device::Backend& backend, const BatchCapacity& capacity,
                       const BatchRounding& rounding, int in_flight)
    : backend_(backend) {
  slots_.reserve(static_cast<size_t>(in_flight) + 1);
  for (int slot = 0; slot <= in_flight; ++slot) {
    slots_.push_back({DeviceBatch(backend, capacity, rounding)});
  }
}

void BatchSlots::upload(const data::PackedBatch& batch) {
  if (uploaded_) fail("a second batch was uploaded before the forward of the first batch");
  Slot& slot = slots_[next_];
  backend_.wait(kCopy, slot.free);
  slot.batch.upload(kCopy, batch);
  slot.uploaded = backend_.record(kCopy);
  uploaded_ = true;
}

const DeviceBatch& BatchSlots::take() {
  if (!uploaded_) fail("forward needs a batch, but none was uploaded");
  const Slot& taken = slots_[next_];
  next_ = (next_ + 1) % slots_.size();
  uploaded_ = false;
  slots_[next_].free = backend_.record(kCompute);
  backend_.wait(kCompute, taken.uploaded);
  return taken.batch;
}

int BatchSlots::slot_of(const DeviceBatch& batch) const {
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    if (&slots_[slot].batch == &batch) return static_cast<int>(slot);
  }
  return -1;  // a batch that the caller owns
}

}  // namespace strata::bert
