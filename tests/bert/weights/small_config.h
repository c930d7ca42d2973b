// The model whose weights these tests load.
#pragma once

#include "bert/config.h"

namespace strata::bert {

inline BertConfig small_config() {
  BertConfig config;
  config.vocab_size = 50;
  config.hidden_size = 64;
  config.layers = 2;
  config.heads = 2;
  config.intermediate_size = 64;
  config.max_positions = 16;
  return config;
}

}  // namespace strata::bert
