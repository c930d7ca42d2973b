// Arithmetic of a batch: model FLOPs, with a multiply-add counted as two.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "bert/config.h"

namespace strata::bert {

// Returns the FLOPs of forward and backward (three times forward) for sequences of these lengths
// with `masked` masked positions in total, through all or `layers` layers. A layer takes per token
// 6 (4 h^2 + 2 h I), and per sequence of s tokens 12 h s^2; the heads take per masked position
// 6 (h^2 + h V). h, I: hidden and inner size, V: words (docs/methods/packed_batches.md).
double training_flops(const BertConfig& config, std::span<const int32_t> lengths, int64_t masked,
                      std::optional<int64_t> layers = {});

}  // namespace strata::bert
