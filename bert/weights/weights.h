// Sources and destinations of a model's weights: random values, Hugging Face safetensors,
// TensorFlow checkpoints.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bert/parameters/parameters.h"

namespace strata::bert {

// Returns initial weights. Matrices and embeddings are normal with standard deviation 0.02,
// truncated at two deviations; biases are 0; LayerNorm gains are 1 (the BERT reference). The same
// seed gives the same bits everywhere, on any number of `threads` (0: see thread_count in
// base/threads/parallel.h).
HostWeights random_weights(const ParameterLayout& layout, uint64_t seed, unsigned threads = 0);

struct LoadedWeights {
  HostWeights values;
  std::vector<std::string> initialised;  // parameters that the file lacks, by MLPerf's names
  // Tensors of the file that are known to be harmless and unused: position ids, tensors of the
  // pooler for which the model has no parameter, optimizer state, counters.
  std::vector<std::string> unused;
  int64_t padding_rows = 0;  // padding rows after the vocabulary, not loaded
};

// Reads BertModel's or BertForPreTraining's weights. `path` is a safetensors file, the index of
// several (model.safetensors.index.json), or the prefix of a TensorFlow 1 checkpoint (or one of its
// files) with the variables of the MLPerf reference. The masked-LM head, the pooler and the
// next-sentence head may be missing: the transform is then initialised to the identity, the others
// as in random_weights. The file's vocabulary may be padded (is_padded_vocabulary). Throws Error
// naming file and tensor if another tensor is missing, a shape differs, a value is not finite, the
// output weights differ from the word embeddings, or a tensor is neither used nor known to be
// harmless. If `path` holds no weights, the Error says what it is instead.
LoadedWeights load_weights(const ParameterLayout& layout, const std::filesystem::path& path,
                           uint64_t seed, unsigned threads = 0);

// Writes a safetensors file, which transformers' BertForPreTraining loads if layout.norm is kPost.
void save_weights(const ParameterLayout& layout, const HostWeights& weights,
                  const std::filesystem::path& path);

}  // namespace strata::bert
