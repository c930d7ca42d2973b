// Makes MLPerf's BERT data set from its published text: the same instances as the reference's
// programs (create_pretraining_data.py, pick_eval_samples.py).
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
  // Output directory of train/part-00000-of-00500.hdf5 ... and eval.hdf5.
  std::filesystem::path out;
  Recipe recipe;  // the defaults are MLPerf's
  uint32_t eval_samples = 10000;
  InstanceForm form = InstanceForm::kPacked;
  UnicodeVersion unicode = kNewestUnicode;  // kReferenceUnicode is the reference's
  bool incomplete = false;                  // allow missing parts of the text
  bool force = false;    // also remake existing files that were made from the same inputs
  unsigned threads = 0;  // number of files made at once; 0: one per core
};

struct MlperfDataSummary {
  size_t files = 0;    // including eval.hdf5
  size_t skipped = 0;  // files that existed already
  uint64_t train_samples = 0;
  uint64_t eval_samples = 0;
  // Files that differ from MLPerf's published ones, with their MD5. The reference would make the
  // same data set from them, but it is not the official one.
  std::vector<std::string> unofficial;
  // Characters in the texts for which the reference's samples may differ.
  NewerCharacters newer_characters;
  // Warnings about these texts, each with its file, for example about bytes that were dropped.
  std::vector<std::string> warnings;
  double seconds = 0.0;
};

// `report` receives a line for each file, one call at a time. Unofficial files come first, newer
// characters and warnings last. Files are written atomically, so calling again continues an
// interrupted call. Throws Error if text is missing, or files cannot be read or written.
MlperfDataSummary make_mlperf_data(const MlperfDataOptions& options,
                                   const std::function<void(std::string_view)>& report);

// Picks the instances of eval.txt that MLPerf evaluates: `count`, evenly spaced.
Instances pick_eval_samples(const Instances& all, uint32_t count);

}  // namespace strata::data
