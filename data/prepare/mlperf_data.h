// MLPerf's BERT data set from its published text: the very instances that the reference's programs
// (create_pretraining_data.py, pick_eval_samples.py) make of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/instance_file.h"
#include "data/text/pretraining_instances.h"

namespace strata::data {

struct MlperfDataOptions {
  std::filesystem::path text;        // directory of part-00000-of-00500 ... and eval.txt
  std::filesystem::path vocabulary;  // vocab.txt
  // train/part-00000-of-00500.hdf5 ... and eval.hdf5 are written into it.
  std::filesystem::path out;
  Recipe recipe;  // the defaults are MLPerf's
  uint32_t eval_samples = 10000;
  InstanceForm form = InstanceForm::kPacked;
  UnicodeVersion unicode = kNewestUnicode;  // kReferenceUnicode is that of the reference
  bool incomplete = false;  // make what there is where parts of the text are missing
  bool force = false;       // also what is already there, made from the same
  unsigned threads = 0;     // files made at once; 0: one for each core
};

struct MlperfDataSummary {
  size_t files = 0;    // eval.hdf5 included
  size_t skipped = 0;  // of them: there already
  uint64_t train_samples = 0;
  uint64_t eval_samples = 0;
  // Files that are not what MLPerf publishes, each with its MD5: the data set is made as the
  // reference would make it of them, but it is another one.
  std::vector<std::string> unofficial;
  // Of the texts that were read: on what the reference's samples may differ.
  NewerCharacters newer_characters;
  // Sentences about these texts, each with its file, for example about bytes that were left out.
  std::vector<std::string> warnings;
  double seconds = 0.0;
};

// `report` receives a line for each file, from one thread at a time; what is unofficial comes
// first, newer characters and warnings last. Every file is whole or not there, so an interrupted
// call is continued by the same call. Throws Error where text is missing, cannot be read or
// written.
MlperfDataSummary make_mlperf_data(const MlperfDataOptions& options,
                                   const std::function<void(std::string_view)>& report);

// Of all instances of eval.txt those that MLPerf evaluates: `count`, evenly spread.
Instances pick_eval_samples(const Instances& all, uint32_t count);

}  // namespace strata::data
