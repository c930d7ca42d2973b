// Results of MLCommons' BERT reference, recorded by tests/golden/reference/mlperf_reference.py.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "bert/config.h"
#include "tests/support/golden_files.h"

namespace strata::bert {

inline std::string reference_checkpoint() {
  return testing_support::golden_file("reference/mlperf_reference.ckpt");
}

inline nlohmann::json reference_results() {
  return nlohmann::json::parse(
      std::ifstream(testing_support::golden_file("reference/mlperf_reference.json")));
}

// Returns the configuration of the checkpoint's model, without dropout. The reference computes GELU
// by tanh.
inline BertConfig reference_config() {
  BertConfig config;
  config.vocab_size = 182;
  config.hidden_size = 32;
  config.layers = 2;
  config.heads = 1;
  config.intermediate_size = 64;
  config.max_positions = 24;
  config.hidden_dropout = config.attention_dropout = 0;
  config.activation = device::Activation::kGeluTanh;
  return config;
}

}  // namespace strata::bert
