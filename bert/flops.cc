#include "bert/flops.h"

namespace strata::bert {

double training_flops(const BertConfig& config, std::span<const int32_t> lengths, int64_t masked,
                      std::optional<int64_t> some_layers) {
  const double h = static_cast<double>(config.hidden_size);
  const double layers = static_cast<double>(some_layers.value_or(config.layers));
  const double weights =
      layers * (4.0 * h * h + 2.0 * h * static_cast<double>(config.intermediate_size));
  const double head = h * h + h * static_cast<double>(config.vocab_size);
  double flops = 6.0 * head * static_cast<double>(masked);
  for (const int32_t length : lengths) {
    const double s = length;
    flops += 6.0 * weights * s + 12.0 * layers * h * s * s;
  }
  return flops;
}

}  // namespace strata::bert
