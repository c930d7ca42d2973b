#include "bert/float8_encoder.h"

namespace strata::bert {
namespace {

device::Float8Copy copy_of(const device::Buffer& buffer, device::DType dtype, int64_t rows,
                           int64_t cols, const Float8Scales::Scaling& scaling) {
  device::Float8Copy copy{.largest = scaling.largest};
  if (scaling.scale) copy.codes = {buffer.data(), dtype, rows, cols, scaling.scale};
  return copy;
}

}  // namespace

Float8Encoder::Float8Encoder(const BertConfig& config, device::Backend& backend, int64_t tokens)
    : shapes_{Shape{config.hidden_size, 3 * config.hidden_size},
              Shape{config.hidden_size, config.hidden_size},
              Shape{config.hidden_size, config.intermediate_size},
              Shape{config.intermediate_size, config.hidden_size}},
      scales_(backend, static_cast<int64_t>(kProducts) * config.layers),
      layers_(static_cast<size_t>(config.layers)) {
  const auto codes = [&](int64_t rows, int64_t cols) {
    return device::Buffer(backend, static_cast<size_t>(rows * cols));
  };
  for (size_t i = 0; i < kProducts; ++i) {
    const auto [in, out] = shapes_[i];
    for (auto& layer : layers_) layer[i] = {.x = codes(tokens, in), .weight = codes(out, in)};
    dy_[i] = codes(tokens, out);
  }
}

Float8Encoder::Layer Float8Encoder::layer(size_t layer, int64_t tokens, bool training) const {
  return {.query_key_value = product(layer, 0, tokens, training),
          .attention_output = product(layer, 1, tokens, training),
          .intermediate = product(layer, 2, tokens, training),
          .output = product(layer, 3, tokens, training)};
}

Float8Encoder::Product Float8Encoder::product(size_t layer, size_t number, int64_t tokens,
                                              bool training) const {
  using enum device::DType;
  const Codes& codes = layers_[layer][number];
  const auto [in, out] = shapes_[number];
  const Float8Scales::Product scales =
      scales_.product(static_cast<int64_t>(layer * kProducts + number), training);
  return {.x = copy_of(codes.x, kE4M3, tokens, in, scales.x),
          .weight = copy_of(codes.weight, kE4M3, out, in, scales.weight),
          .dy = copy_of(dy_[number], kE5M2, tokens, out, scales.dy)};
}

}  // namespace strata::bert
