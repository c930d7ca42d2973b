// Arithmetic of a batch: model FLOPs, with a multiply-add counted as two.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bert/config.h"

namespace strata::bert {

// Returns the FLOPs of forward and backward (three times forward) for sequences of these lengths
// with `masked` masked positions in total, through all layers or `layers` of them. A layer takes 6
// (4 h^2 + 2 h I) a token and 12 h s^2 a sequence of s tokens (attention). The heads take 6 (h^2 +
// h V) a masked position (docs/methods/packed_batches.md).
double training_flops(const BertConfig& config, std::span<const int32_t> lengths, int64_t masked,
                      std::optional<int64_t> layers = {});

}  // namespace strata::bert
