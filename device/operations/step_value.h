// A number that an operation takes when it runs.
#pragma once

#include "device/operations/host_device.h"

namespace strata::device {

// The number itself, or where in device memory it will lie by then. What is captured once and
// launched in many steps (Backend::capture) reads there what changes from step to step.
template <typename T>
class StepValue {
 public:
  STRATA_HOST_DEVICE constexpr StepValue(T value = {}) : value_(value) {}
  // Device memory that outlives every run of the operation.
  static constexpr StepValue at(const T* memory) {
    StepValue result;
    result.memory_ = memory;
    return result;
  }

  // For the operation, on the device.
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
