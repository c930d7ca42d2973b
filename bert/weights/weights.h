// Where a model's weights come from and go to: random values, Hugging Face safetensors,
// TensorFlow's checkpoints.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bert/parameters/parameters.h"

namespace strata::bert {

// Matrices and embeddings normal with standard deviation 0.02, cut at two deviations; biases 0;
// LayerNorm gains 1 (the BERT reference). The same seed gives the same bits everywhere, on any
// number of `threads` (0: see thread_count in base/threads/parallel.h).
HostWeights random_weights(const ParameterLayout& layout, uint64_t seed, unsigned threads = 0);

struct LoadedWeights {
  HostWeights values;
  std::vector<std::string> initialised;  // parameters the file lacks, in Strata's names
  // Tensors of the file that are known to be harmless and have no place: position ids, additions
  // to the pooler, an optimizer's state, counters.
  std::vector<std::string> unused;
  int64_t padding_rows = 0;  // behind the vocabulary, left out
};

// Reads BertModel's or BertForPreTraining's weights: `path` is a safetensors file, the index of
// several (model.safetensors.index.json), or the prefix of a TensorFlow 1 checkpoint (or one of its
// files) with the variables of the MLPerf reference. They may lack the masked-LM head, the
// pooler and the next-sentence head: the transform then starts as the identity, the rest as in
// random_weights. The file's vocabulary may be the model's, padded (is_padded_vocabulary). Throws
// Error naming file and tensor if an encoder tensor is missing, a shape differs, the output weights
// differ from the word embeddings, or the model has no place for a tensor that is not known to be
// harmless. If `path` holds no weights, the Error says what it is instead.
LoadedWeights load_weights(const ParameterLayout& layout, const std::filesystem::path& path,
                           uint64_t seed, unsigned threads = 0);

// Writes a file that transformers' BertForPreTraining loads.
void save_weights(const ParameterLayout& layout, const HostWeights& weights,
                  const std::filesystem::path& path);

}  // namespace strata::bert
