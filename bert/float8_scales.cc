#include "bert/float8_scales.h"

#include "device/float8.h"

namespace strata::bert {

using device::Stream;

Float8Scales::Tensors::Tensors(device::Backend& backend, int64_t count_, float limit_)
    : scales(backend, static_cast<size_t>(2 * count_) * sizeof(float)),
      largest(backend, static_cast<size_t>(count_) * sizeof(float)),
      history(backend, static_cast<size_t>(count_ * device::kFloat8History) * sizeof(float)),
      count(count_),
      limit(limit_) {}

Float8Scales::Scaling Float8Scales::Tensors::scaling(int64_t number, bool rounds,
                                                     bool looks) const {
  return {.scale = rounds ? scales.as<float>() + 2 * number : nullptr,
          .largest = looks ? largest.as<float>() + number : nullptr};
}

Float8Scales::Float8Scales(device::Backend& backend, int64_t products)
    : backend_(backend),
      operands_(backend, 2 * products, device::E4M3::kLargest),
      gradients_(backend, products, device::E5M2::kLargest) {}

void Float8Scales::reset() {
  steps_ = 0;
  step_.reset();
  for (const Tensors* tensors : {&operands_, &gradients_}) {
    backend_.fill_zero(Stream::kCompute, tensors->largest.data(), tensors->largest.bytes());
    backend_.fill_zero(Stream::kCompute, tensors->history.data(), tensors->history.bytes());
  }
}

void Float8Scales::begin(uint64_t step) {
  if (step_ == step) return;
  step_ = step;
  if (++steps_ == 1) return;
  for (const Tensors* tensors : {&operands_, &gradients_}) {
    backend_.float8_update(Stream::kCompute, {.scales = tensors->scales.as<float>(),
                                              .largest = tensors->largest.as<float>(),
                                              .history = tensors->history.as<float>(),
                                              .count = tensors->count,
                                              .limit = tensors->limit});
  }
}

Float8Scales::Product Float8Scales::product(int64_t number, bool training) const {
  return {.x = operands_.scaling(2 * number, rounds(), training),
          .weight = operands_.scaling(2 * number + 1, rounds(), training),
          .dy = gradients_.scaling(number, rounds(), training)};
}

}  // namespace strata::bert
