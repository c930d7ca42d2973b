// Scales of what enters the encoder's products in 8 bits (delayed scaling): a step's follow the
// largest values of the steps before it.
#pragma once

#include <cstdint>
#include <optional>

#include "device/backend.h"

namespace strata::bert {

class Float8Scales {
 public:
  struct Scaling {
    const float* scale = nullptr;  // device memory, as in device::Tensor; null: not rounded yet
    float* largest = nullptr;      // device memory, as in device::Float8Copy; null: nobody looks
  };
  // Of one product: y = x weight^T.
  struct Product {
    Scaling x, weight, dy;
  };

  // `products`: how many there are. `backend` outlives it.
  Float8Scales(device::Backend& backend, int64_t products);

  // Nothing has been seen yet.
  void reset();
  // Every micro-batch of a step begins with this, on Stream::kCompute.
  void begin(uint64_t step);
  // Whether operands are rounded: in the first step they are looked at only.
  bool rounds() const { return steps_ > 1; }
  // The largest values since the step began, [3 * products] f32, which the next step's scales come
  // from.
  device::Tensor largest() const;

  // `training`: looks at the operands, too.
  Product product(int64_t number, bool training) const;

 private:
  // Of as many tensors of one format.
  struct Tensors {
    device::Buffer scales, history;
    float* largest = nullptr;  // of largest_
    int64_t count = 0;
    float limit = 0;

    Tensors(device::Backend& backend, float* largest_, int64_t count_, float limit_);
    Scaling scaling(int64_t number, bool rounds, bool looks) const;
  };

  device::Backend& backend_;
  device::Buffer largest_;
  Tensors operands_, gradients_;  // x and weight of every product; dy of every product
  int64_t steps_ = 0;             // begun
  std::optional<uint64_t> step_;
};

}  // namespace strata::bert
