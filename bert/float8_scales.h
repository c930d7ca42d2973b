// Scales of the operands of the encoder's FP8 GEMMs (delayed scaling). A step's scales follow from
// amax, the largest magnitude, in earlier steps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device/backend.h"
#include "device/memory/buffer.h"
#include "device/memory/state_tensor.h"

namespace strata::bert {

class Float8Scales {
 public:
  struct Scaling {
    // Device memory, as in device::Tensor; null: operands are not rounded yet.
    const float* scale = nullptr;
    float* amax = nullptr;  // device memory, as in device::Float8Copy; null: not needed
  };
  // Scales of one GEMM y = x weight^T.
  struct Gemm {
    Scaling x, weight, dy;
  };

  // `gemms` is the number of GEMMs. `backend` must outlive this object.
  Float8Scales(device::Backend& backend, int64_t gemms);

  // Clears the history.
  void reset();
  // State (f32) that determines the next step's scales, to be read or overwritten between steps.
  std::vector<device::StateTensor> state() const;
  // Called after state() was overwritten with the state after `step`.
  void resume_after(uint64_t step);
  // Called at the beginning of every micro-batch, on Stream::kCompute.
  void begin(uint64_t step);
  // True if operands are rounded. The first step only measures them.
  bool rounds() const { return steps_ > 1; }
  // Amax of all operands since the step began, [3 * gemms] f32. The next step's scales follow from
  // it.
  device::Tensor amax() const;

  // Returns the scales of GEMM `number`; if `training`, also where it records its operands' amax.
  Gemm gemm(int64_t number, bool training) const;

 private:
  // Scales of `count` tensors with the same format.
  struct Tensors {
    device::Buffer scales, history;
    float* amax = nullptr;  // part of amax_
    int64_t count = 0;
    float limit = 0;

    Tensors(device::Backend& backend, float* amax_, int64_t count_, float limit_);
    Scaling scaling(int64_t number, bool rounds, bool measures) const;
  };

  device::Backend& backend_;
  device::Buffer amax_;
  Tensors operands_, gradients_;  // x and weight of every GEMM; dy of every GEMM
  int64_t steps_ = 0;             // number of steps begun
  std::optional<uint64_t> step_;
};

}  // namespace strata::bert
