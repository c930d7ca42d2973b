// package_checker_params: a submission's own options for the package check, one per line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace strata::compliance {

struct CheckerParams {
  bool rcp_bypass = false;          // too fast convergence is a warning
  bool seed_bypass = false;         // seeds are not checked
  bool bert_train_samples = false;  // BERT's samples to converge come from train_samples
  bool quiet = false;               // logs' warnings are left out
  bool werror = false;              // warnings of logs are errors
  std::vector<std::string> given;   // the recognized lines
  std::vector<std::string> unknown;

  bool empty() const { return given.empty() && unknown.empty(); }
};

// Reads the folder's package_checker_params. Returns defaults if it is missing or cannot be read.
CheckerParams read_checker_params(const std::filesystem::path& folder);

}  // namespace strata::compliance
