// Scales of the operands of the encoder's FP8 GEMMs (delayed scaling): a step's follow the amax,
// the largest magnitude, of the steps before it.
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
    const float* scale = nullptr;  // device memory, as in device::Tensor; null: not rounded yet
    float* amax = nullptr;         // device memory, as in device::Float8Copy; null: not wanted
  };
  // Of one GEMM: y = x weight^T.
  struct Gemm {
    Scaling x, weight, dy;
  };

  // `gemms`: how many there are. `backend` outlives it.
  Float8Scales(device::Backend& backend, int64_t gemms);

  // Nothing has been seen yet.
  void reset();
  // What the next step's scales follow from, to be read or overwritten between steps, f32.
  std::vector<device::StateTensor> state() const;
  // It has been overwritten with that after `step`.
  void resume_after(uint64_t step);
  // Every micro-batch of a step begins with this, on Stream::kCompute.
  void begin(uint64_t step);
  // Whether operands are rounded: in the first step they are looked at only.
  bool rounds() const { return steps_ > 1; }
  // The amax of all operands since the step began, [3 * gemms] f32: the next step's scales follow.
  device::Tensor amax() const;

  // `training`: looks at the operands, too.
  Gemm gemm(int64_t number, bool training) const;

 private:
  // Of as many tensors of one format.
  struct Tensors {
    device::Buffer scales, history;
    float* amax = nullptr;  // of amax_
    int64_t count = 0;
    float limit = 0;

    Tensors(device::Backend& backend, float* amax_, int64_t count_, float limit_);
    Scaling scaling(int64_t number, bool rounds, bool looks) const;
  };

  device::Backend& backend_;
  device::Buffer amax_;
  Tensors operands_, gradients_;  // x and weight of every GEMM; dy of every GEMM
  int64_t steps_ = 0;             // begun
  std::optional<uint64_t> step_;
};

}  // namespace strata::bert
