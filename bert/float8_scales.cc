#include "bert/float8_scales.h"

#include "device/float8.h"

namespace strata::bert {

using device::Stream;

Float8Scales::Tensors::Tensors(device::Backend& backend, float* largest_, int64_t count_,
                               float limit_)
    : scales(backend, static_cast<size_t>(2 * count_) * sizeof(float)),
      history(backend, static_cast<size_t>(count_ * device::kFloat8History) * sizeof(float)),
      largest(largest_),
      count(count_),
      limit(limit_) {}

Float8Scales::Scaling Float8Scales::Tensors::scaling(int64_t number, bool rounds,
                                                     bool looks) const {
  return {.scale = rounds ? scales.as<float>() + 2 * number : nullptr,
          .largest = looks ? largest + number : nullptr};
}

Float8Scales::Float8Scales(device::Backend& backend, int64_t products)
    : backend_(backend),
      largest_(backend, static_cast<size_t>(3 * products) * sizeof(float)),
      operands_(backend, largest_.as<float>(), 2 * products, device::E4M3::kLargest),
      gradients_(backend, largest_.as<float>() + 2 * products, products, device::E5M2::kLargest) {}

void Float8Scales::reset() {
  steps_ = 0;
  step_.reset();
  backend_.fill_zero(Stream::kCompute, largest_.data(), largest_.bytes());
  for (const Tensors* tensors : {&operands_, &gradients_}) {
    backend_.fill_zero(Stream::kCompute, tensors->history.data(), tensors->history.bytes());
  }
}

void Float8Scales::begin(uint64_t step) {
  if (step_ == step) return;
  step_ = step;
  if (++steps_ == 1) return;
  for (const Tensors* tensors : {&operands_, &gradients_}) {
    backend_.float8_update(Stream::kCompute, {.scales = tensors->scales.as<float>(),
                                              .largest = tensors->largest,
                                              .history = tensors->history.as<float>(),
                                              .count = tensors->count,
                                              .limit = tensors->limit});
  }
}

device::Tensor Float8Scales::largest() const {
  return {largest_.data(), device::DType::kF32, 1, operands_.count + gradients_.count};
}

Float8Scales::Product Float8Scales::product(int64_t number, bool training) const {
  return {.x = operands_.scaling(2 * number, rounds(), training),
          .weight = operands_.scaling(2 * number + 1, rounds(), training),
          .dy = gradients_.scaling(number, rounds(), training)};
}

}  // namespace strata::bert
