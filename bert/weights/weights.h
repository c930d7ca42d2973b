// Where a model's weights come from and go to: random values, Hugging Face safetensors,
// TensorFlow's checkpoints.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bert/parameters.h"

namespace strata::bert {

// Matrices and embeddings normal with standard deviation 0.02, cut at two deviations; biases 0;
// LayerNorm gains 1 (the BERT reference). The same seed gives the same bits everywhere, on any
// number of `threads` (0: see thread_count in base/parallel.h).
HostWeights random_weights(const ParameterLayout& layout, uint64_t seed, unsigned threads = 0);

struct LoadedWeights {
  HostWeights values;
  std::vector<std::string> initialised;  // parameters the file lacks, in Strata's names
  std::vector<std::string> unused;       // tensors of the file the model has no place for
};

// Reads BertModel's or BertForPreTraining's weights: `path` is a safetensors file, or the prefix of
// a TensorFlow 1 checkpoint (or one of its files) with the variables of the MLPerf reference. What
// it may lack is the masked-LM head, the pooler and the next-sentence head: the transform starts as
// the identity, the rest as in random_weights. Throws Error naming file and tensor where an encoder
// tensor is missing or a shape differs.
LoadedWeights load_weights(const ParameterLayout& layout, const std::filesystem::path& path,
                           uint64_t seed, unsigned threads = 0);

// Writes a file that transformers' BertForPreTraining loads.
void save_weights(const ParameterLayout& layout, const HostWeights& weights,
                  const std::filesystem::path& path);

}  // namespace strata::bert
