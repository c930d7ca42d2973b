// What the encoder's products take in 8 bits: codes of activations, weights and gradients.
#pragma once

#include <array>
#include <vector>

#include "bert/config.h"
#include "bert/float8_scales.h"
#include "device/backend.h"

namespace strata::bert {

class Float8Encoder {
 public:
  // Of y = x weight^T.
  struct Product {
    device::Float8Copy x, weight, dy;
  };
  // Those of a layer; without codes in the first step, which only looks at the numbers.
  struct Layer {
    Product query_key_value, attention_output, intermediate, output;
  };

  // Takes memory for up to `tokens` a micro-batch. `backend` outlives it.
  Float8Encoder(const BertConfig& config, device::Backend& backend, int64_t tokens);

  // Nothing has been seen yet.
  void reset() { scales_.reset(); }
  // Every micro-batch of a step begins with this, on Stream::kCompute.
  void begin(uint64_t step) { scales_.begin(step); }
  bool rounds() const { return scales_.rounds(); }
  device::Tensor largest() const { return scales_.largest(); }

  // Of a micro-batch of `tokens`. `training`: looks at the numbers, too. Layers share memory for
  // dy.
  Layer layer(size_t layer, int64_t tokens, bool training) const;

 private:
  static constexpr size_t kProducts = 4;
  struct Shape {
    int64_t in, out;
  };
  struct Codes {
    device::Buffer x, weight;
  };
  Product product(size_t layer, size_t number, int64_t tokens, bool training) const;

  std::array<Shape, kProducts> shapes_;
  Float8Scales scales_;
  std::vector<std::array<Codes, kProducts>> layers_;
  std::array<device::Buffer, kProducts> dy_;
};

}  // namespace strata::bert
