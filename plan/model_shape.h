// Derives a model's shape from its dimensions.
#pragma once

#include <string>
#include <string_view>

#include "plan/step_time.h"

namespace strata::plan {

struct ModelDimensions {
  int64_t layers = 24, hidden = 1024, intermediate = 4096, heads = 16;
  int64_t vocabulary = 30522, positions = 512, types = 2;
};

// Returns the shape of BERT for pre-training. heads_share assumes 15 % masked tokens: 0.15 (V + H)
// over L (4 H + 2 I), without attention's scores. tail is the share of the word embeddings.
ModelShape shape_of(const ModelDimensions& dimensions);

// Parses a config.json of Hugging Face's BERT. Throws Error with the key and the reason; `name`
// replaces the path in messages.
ModelShape parse_model_shape(std::string_view json, const std::string& name);

}  // namespace strata::plan
