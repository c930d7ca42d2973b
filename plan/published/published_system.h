// Combines the logs of a published system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compliance/package/submission_tree.h"
#include "plan/calibration.h"

namespace strata::plan {

// A system's BERT results. Times are in seconds.
struct PublishedSystem {
  std::string name;         // submitter and system
  std::string submitter;    // empty if the folder is not in a submission's tree
  std::string round;        // "2.0.0"
  std::string accelerator;  // the processor's name if there is none
  std::string network;      // the network between nodes, in the description's words
  std::string framework;    // the description's framework and version
  std::string division;
  MeasuredStep step;         // its seconds are the median of the times between evaluations
  double start = 0;          // time from run_start, without the steps before the first evaluation
  double samples = 0;        // samples to converge, mean without the fewest and the most
  double samples_stdev = 0;  // standard deviation over its runs
  double time_to_train = 0;  // mean without the fastest and the slowest
  size_t runs = 0;           // converged runs
  std::vector<std::string> left_out;  // unusable logs, and why

  // Returns the machine's generation: "A100" for "NVIDIA A100-SXM4-80GB (400W)".
  std::string generation() const;
  // Returns "SXM", "PCIe", "OAM" or "NVL" if the accelerator's name says so, else "".
  std::string form_factor() const;
  int64_t ranks_per_node() const { return step.ranks / step.nodes; }
};

// Reads a result folder. Throws Error with the file and what to do if its description lacks the
// number of accelerators, or no log can be used.
PublishedSystem read_published_system(const compliance::ResultFolder& folder);

// Returns the BERT folders under `path`: a round, a submitter, a system or a folder of
// result_N.txt; or ROUND/SYSTEM, a system of any submitter. Throws Error if there is none.
std::vector<compliance::ResultFolder> find_bert_folders(const std::filesystem::path& path);

}  // namespace strata::plan
