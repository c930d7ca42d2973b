// A number that an operation reads when it runs.
#pragma once

#include "device/operations/host_device.h"

namespace strata::device {

// A number, or the address in device memory from which the operation reads it. Graphs that are
// captured once and launched in many steps (Backend::capture) read there what changes from step to
// step.
template <typename T>
class StepValue {
 public:
  STRATA_HOST_DEVICE constexpr StepValue(T value = {}) : value_(value) {}
  // `memory` is device memory that outlives every run of the operation.
  static constexpr StepValue at(const T* memory) {
    StepValue result;
    result.memory_ = memory;
    return result;
  }

  // Called by the operation, on the device.
  STRATA_HOST_DEVICE constexpr T now() const { return memory_ ? *memory_ : value_; }

 private:
  T value_{};
  const T* memory_ = nullptr;
};

template <typename T>
constexpr StepValue<T> value_at(const T* memory) {
  return StepValue<T>::at(memory);
}

}  // namespace strata::device
