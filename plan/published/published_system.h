// What the logs of a published system say, taken together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compliance/package/submission_tree.h"
#include "plan/calibration.h"

namespace strata::plan {

// BERT results alone. Seconds.
struct PublishedSystem {
  std::string name;       // submitter and system
  std::string submitter;  // empty where the folder is not in a submission's tree
  std::string round;      // "2.0.0"
  std::string accelerator;
  std::string framework;  // as the description has it, with its version
  std::string division;
  MeasuredStep step;   // its seconds are the median over the times between evaluations
  double start = 0;    // from run_start, beyond what the steps before the first evaluation take
  double samples = 0;  // to converge; without the fewest and the most
  double samples_stdev = 0;           // over its runs
  double time_to_train = 0;           // without the fastest and the slowest
  size_t runs = 0;                    // that converged
  std::vector<std::string> left_out;  // logs that say nothing, and why

  // The machine's generation: "A100" of "NVIDIA A100-SXM4-80GB (400W)".
  std::string generation() const;
};

// Reads a result folder. Throws Error, naming the file and what to do, where its description does
// not say how many accelerators it has, or none of its logs can be used.
PublishedSystem read_published_system(const compliance::ResultFolder& folder);

// The BERT folders under `path`: a round, a submitter, a system or a folder of result_N.txt; or
// ROUND/SYSTEM, a system of whatever submitter. Throws Error where there is none.
std::vector<compliance::ResultFolder> find_bert_folders(const std::filesystem::path& path);

}  // namespace strata::plan
