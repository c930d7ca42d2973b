// Makes train and evaluation files from raw text, with statistics.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/instance_file.h"
#include "data/text/pretraining_instances.h"

namespace strata::data {

struct PrepareOptions {
  std::vector<std::filesystem::path> text;  // raw-text files
  std::filesystem::path vocabulary;         // vocab.txt
  std::filesystem::path out;                // directory of train.hdf5 and eval.hdf5
  // Documents held out for evaluation: every `eval_every`-th, or, if it is not 0, `eval_documents`
  // spread evenly. If both are 0, none, and there is no eval.hdf5.
  uint32_t eval_every = 20;
  uint32_t eval_documents = 0;
  Recipe recipe;  // the evaluation file is made with a dupe factor of 1
  InstanceForm form = InstanceForm::kPacked;
  UnicodeVersion unicode = kNewestUnicode;
  bool force = false;    // also remake existing outputs that would be the same
  unsigned threads = 0;  // 0: one per core
};

// Masked-LM targets of a data set, and the accuracy of always guessing the most frequent one.
struct TargetStatistics {
  uint64_t masked = 0;
  int32_t most_frequent = -1;  // token id
  double share = 0.0;
};
TargetStatistics count_targets(std::span<const int32_t> masked_ids);

struct FileSummary {
  std::filesystem::path path;
  uint64_t documents = 0, sentences = 0, text_tokens = 0;  // counts in the text
  uint64_t instances = 0, tokens = 0;                      // counts in the file
  int32_t longest = 0;
  double mean_length = 0.0;
  TargetStatistics targets;
  std::string most_frequent;  // entry of the vocabulary
};

struct PrepareSummary {
  bool skipped = false;  // the outputs existed, made from the same inputs and options
  // Sentences left out of training because they also occur in held-out documents.
  uint64_t repeated_sentences = 0;
  FileSummary train;
  std::optional<FileSummary> eval;
  // Warnings about the text: dropped bytes, meaningless labels, a cased vocabulary. Empty if
  // skipped.
  std::vector<std::string> warnings;
  double seconds = 0.0;
};

// Returns which of `documents` documents to hold out. Throws Error if that would be all of them.
std::vector<bool> choose_held_out(size_t documents, const PrepareOptions& options);

// `report` receives progress lines, warnings last. Each file is replaced atomically, the training
// file last. Throws Error for bad inputs and options, and if the output cannot be written.
PrepareSummary prepare(const PrepareOptions& options,
                       const std::function<void(std::string_view)>& report);

}  // namespace strata::data
