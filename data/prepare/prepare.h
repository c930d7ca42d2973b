// Raw text -> train and evaluation files, and what can be said about them.
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
  // Held out for evaluation: every `eval_every`-th document, or `eval_documents` spread evenly
  // where that is not 0. Both 0: none, and no eval.hdf5.
  uint32_t eval_every = 20;
  uint32_t eval_documents = 0;
  Recipe recipe;  // the evaluation file is made with a dupe factor of 1
  InstanceForm form = InstanceForm::kPacked;
  UnicodeVersion unicode = kNewestUnicode;
  bool force = false;    // also where the outputs already exist and would come out the same
  unsigned threads = 0;  // 0: one for each core
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
  uint64_t documents = 0, sentences = 0, text_tokens = 0;  // of the text
  uint64_t instances = 0, tokens = 0;                      // of the file
  int32_t longest = 0;
  double mean_length = 0.0;
  TargetStatistics targets;
  std::string most_frequent;  // the vocabulary's entry
};

struct PrepareSummary {
  bool skipped = false;  // the outputs were there, made from the same inputs and options
  uint64_t repeated_sentences =
      0;  // left out of training because they also stand in held-out documents
  FileSummary train;
  std::optional<FileSummary> eval;
  // Sentences about the text: bytes that were left out, labels that mean nothing, a cased
  // vocabulary. Empty if skipped.
  std::vector<std::string> warnings;
  double seconds = 0.0;
};

// Which of `documents` documents to hold out. Throws Error where that would be all of them.
std::vector<bool> choose_held_out(size_t documents, const PrepareOptions& options);

// `report` receives a line now and then, warnings last. Each file is replaced only by a whole one,
// the training file last. Throws Error for bad inputs and options, and where the output cannot be
// written.
PrepareSummary prepare(const PrepareOptions& options,
                       const std::function<void(std::string_view)>& report);

}  // namespace strata::data
