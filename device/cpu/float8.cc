#include "device/cpu/float8.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "device/cpu/operations.h"

namespace strata::device::cpu {
namespace {

float value(float x) { return x; }
float value(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// Exact: numbers of 8 bits times a power of two have few enough digits for either type.
void set(float& to, float x) { to = x; }
void set(uint16_t& to, float x) { to = BFloat16(x).bits; }

}  // namespace

template <typename Format, typename T>
const T* operand(const Context& context, const ConstTensor& tensor, const Float8Scaling& scaling,
                 int slot) {
  const T* from = tensor.as<T>();
  if (scaling.largest) {
    std::vector<float> largest(static_cast<size_t>(context.threads));
    parallel_ranges(context.threads, tensor.size(), [&](int64_t begin, int64_t end, int part) {
      float most = 0;
      for (int64_t i = begin; i < end; ++i) most = std::max(most, std::abs(value(from[i])));
      largest[static_cast<size_t>(part)] = most;
    });
    *scaling.largest =
        std::max(*scaling.largest, *std::max_element(largest.begin(), largest.end()));
  }
  if (!scaling.scale) return from;
  const float scale = scaling.scale[0];
  T* rounded = context.scratch[static_cast<size_t>(slot)].template get<T>(tensor.size());
  parallel_ranges(context.threads, tensor.size(), [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      set(rounded[i], in_float8<Format>(value(from[i]), scale));
    }
  });
  return rounded;
}

template const float* operand<E4M3, float>(const Context&, const ConstTensor&, const Float8Scaling&,
                                           int);
template const float* operand<E5M2, float>(const Context&, const ConstTensor&, const Float8Scaling&,
                                           int);
template const uint16_t* operand<E4M3, uint16_t>(const Context&, const ConstTensor&,
                                                 const Float8Scaling&, int);
template const uint16_t* operand<E5M2, uint16_t>(const Context&, const ConstTensor&,
                                                 const Float8Scaling&, int);

void FlatOperations::float8_update(const Context&, const Float8Update& op) {
  for (int64_t i = 0; i < op.count; ++i) {
    update_float8_scale(op.limit, op.largest[i], op.history + i * kFloat8History,
                        op.scales + 2 * i);
  }
}

}  // namespace strata::device::cpu
