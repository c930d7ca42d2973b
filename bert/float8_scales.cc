#include "bert/float8_scales.h"

#include "device/operations/float8.h"

namespace strata::bert {

using device::Stream;

Float8Scales::Tensors::Tensors(device::Backend& backend, float* amax_, int64_t count_, float limit_)
    : scales(backend, static_cast<size_t>(2 * count_) * sizeof(float)),
      history(backend, static_cast<size_t>(count_ * device::kFloat8History) * sizeof(float)),
      amax(amax_),
      count(count_),
      limit(limit_) {}

Float8Scales::Scaling Float8Scales::Tensors::scaling(int64_t number, bool rounds,
                                                     bool measures) const {
  return {.scale = rounds ? scales.as<float>() + 2 * number : nullptr,
          .amax = measures ? amax + number : nullptr};
}

Float8Scales::Float8Scales(device::Backend& backend, int64_t gemms)
    : backend_(backend),
      amax_(backend, static_cast<size_t>(3 * gemms) * sizeof(float)),
      operands_(backend, amax_.as<float>(), 2 * gemms, device::E4M3::kLargest),
      gradients_(backend, amax_.as<float>() + 2 * gemms, gemms, device::E5M2::kLargest) {}

void Float8Scales::reset() {
  steps_ = 0;
  step_.reset();
  backend_.fill_zero(Stream::kCompute, amax_.data(), amax_.bytes());
  for (const Tensors* tensors : {&operands_, &gradients_}) {
    backend_.fill_zero(Stream::kCompute, tensors->history.data(), tensors->history.bytes());
  }
}

std::vector<device::StateTensor> Float8Scales::state() const {
  std::vector<device::StateTensor> state{{"float8_amax", amax()}};
  const auto add = [&](const char* name, const device::Buffer& buffer) {
    const auto size = static_cast<int64_t>(buffer.bytes() / sizeof(float));
    state.push_back({name, {buffer.data(), device::DType::kF32, 1, size}});
  };
  add("float8_operand_scales", operands_.scales);
  add("float8_operand_history", operands_.history);
  add("float8_gradient_scales", gradients_.scales);
  add("float8_gradient_history", gradients_.history);
  return state;
}

void Float8Scales::resume_after(uint64_t step) {
  step_ = step;
  steps_ = static_cast<int64_t>(step);
}

void Float8Scales::begin(uint64_t step) {
  if (step_ == step) return;
  step_ = step;
  if (++steps_ == 1) return;
  for (const Tensors* tensors : {&operands_, &gradients_}) {
    backend_.float8_update(Stream::kCompute, {.scales = tensors->scales.as<float>(),
                                              .amax = tensors->amax,
                                              .history = tensors->history.as<float>(),
                                              .count = tensors->count,
                                              .limit = tensors->limit});
  }
}

device::Tensor Float8Scales::amax() const {
  return {amax_.data(), device::DType::kF32, 1, operands_.count + gradients_.count};
}

Float8Scales::Gemm Float8Scales::gemm(int64_t number, bool training) const {
  return {.x = operands_.scaling(2 * number, rounds(), training),
          .weight = operands_.scaling(2 * number + 1, rounds(), training),
          .dy = gradients_.scaling(number, rounds(), training)};
}

}  // namespace strata::bert
