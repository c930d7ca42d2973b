#include "device/cpu/float8.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "device/cpu/operations.h"
#include "device/operations/float8.h"

namespace strata::device::cpu {
namespace {

float value(float x) { return x; }
float value(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }
float value(Float16 x) { return x; }

// Exact for f32 and bf16, because FP8 numbers times a power of two have few digits. f16 is not used
// with FP8.
void set(float& to, float x) { to = x; }
void set(uint16_t& to, float x) { to = BFloat16(x).bits; }
void set(Float16& to, float x) { to = x; }

template <typename T>
float largest_of(const Context& context, const T* x, int64_t count) {
  std::vector<float> largest(static_cast<size_t>(context.threads));
  parallel_ranges(context.threads, count, [&](int64_t begin, int64_t end, int part) {
    float most = 0;
    for (int64_t i = begin; i < end; ++i) most = std::max(most, std::abs(value(x[i])));
    largest[static_cast<size_t>(part)] = most;
  });
  return *std::max_element(largest.begin(), largest.end());
}

template <typename Format, typename T>
void encode(const Context& context, const T* x, const Tensor& codes) {
  const float scale = codes.scale[0];
  auto* to = codes.as<uint8_t>();
  parallel_ranges(context.threads, codes.size(), [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) to[i] = to_float8<Format>(value(x[i]) * scale);
  });
}

template <typename Format, typename T>
void decode(const Context& context, const ConstTensor& codes, T* to) {
  std::array<T, 256> numbers;
  for (int code = 0; code < 256; ++code) {
    set(numbers[static_cast<size_t>(code)],
        from_float8<Format>(static_cast<uint8_t>(code)) * codes.scale[1]);
  }
  const auto* from = codes.as<uint8_t>();
  parallel_ranges(context.threads, codes.size(), [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) to[i] = numbers[from[i]];
  });
}

}  // namespace

template <typename T>
const T* operand(const Context& context, const ConstTensor& tensor, int slot) {
  if (tensor.dtype == dtype_of<T>()) return tensor.as<T>();
  T* numbers = context.scratch[static_cast<size_t>(slot)].template get<T>(tensor.size());
  if (tensor.dtype == DType::kE4M3) {
    decode<E4M3>(context, tensor, numbers);
  } else {
    decode<E5M2>(context, tensor, numbers);
  }
  return numbers;
}

template <typename T>
Tensor place_of_output(const Context& context, const Tensor& output, int slot) {
  Tensor place = output;
  if (!place) {
    place.data = context.scratch[static_cast<size_t>(slot)].template get<T>(output.size());
  }
  return place;
}

template <typename T>
void write_copy(const Context& context, const ConstTensor& tensor, const Float8Copy& copy) {
  const T* x = tensor.as<T>();
  if (copy.amax) {
    *copy.amax = std::max(*copy.amax, largest_of(context, x, tensor.size()));
  }
  if (!copy.data) return;
  if (copy.data.dtype == DType::kE4M3) {
    encode<E4M3>(context, x, copy.data);
  } else {
    encode<E5M2>(context, x, copy.data);
  }
}

template <typename T>
void Operations<T>::round_to_float8(const Context& context, const RoundToFloat8& op) {
  write_copy<T>(context, op.x, op.copy);
}

void FlatOperations::float8_update(const Context&, const Float8Update& op) {
  for (int64_t i = 0; i < op.count; ++i) {
    update_float8_scale(op.limit, op.amax[i], op.history + i * kFloat8History, op.scales + 2 * i);
  }
}

template const float* operand(const Context&, const ConstTensor&, int);
template const uint16_t* operand(const Context&, const ConstTensor&, int);
template Tensor place_of_output<float>(const Context&, const Tensor&, int);
template Tensor place_of_output<uint16_t>(const Context&, const Tensor&, int);
template void write_copy<float>(const Context&, const ConstTensor&, const Float8Copy&);
template void write_copy<uint16_t>(const Context&, const ConstTensor&, const Float8Copy&);
STRATA_INSTANTIATE(round_to_float8, RoundToFloat8);
template const Float16* operand(const Context&, const ConstTensor&, int);
template Tensor place_of_output<Float16>(const Context&, const Tensor&, int);
template void write_copy<Float16>(const Context&, const ConstTensor&, const Float8Copy&);

}  // namespace strata::device::cpu
