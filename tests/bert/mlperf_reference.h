// What tests/golden/mlperf_reference.py had MLCommons' BERT reference write.
#pragma once

#include <string>

#include "bert/config.h"

namespace strata::bert {

inline const std::string kReferenceCheckpoint =
    STRATA_SOURCE_DIR "/tests/golden/mlperf_reference.ckpt";

// Of the model that the checkpoint's weights are of. The reference computes GELU by tanh.
inline BertConfig reference_config() {
  BertConfig config;
  config.vocab_size = 182;
  config.hidden_size = 32;
  config.layers = 2;
  config.heads = 1;
  config.intermediate_size = 64;
  config.max_positions = 24;
  config.activation = device::Activation::kGeluTanh;
  return config;
}

}  // namespace strata::bert
