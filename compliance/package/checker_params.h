// package_checker_params: options of the package check that a submission brings along, a line each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace strata::compliance {

struct CheckerParams {
  bool rcp_bypass = false;          // too fast convergence is a warning
  bool seed_bypass = false;         // seeds are not checked
  bool bert_train_samples = false;  // BERT's samples to converge are what train_samples says
  bool quiet = false;               // without warnings of logs
  bool werror = false;              // warnings of logs are errors
  std::vector<std::string> given;   // the lines understood
  std::vector<std::string> unknown;

  bool empty() const { return given.empty() && unknown.empty(); }
};

// Of the folder's package_checker_params; nothing where there is none or it cannot be read.
CheckerParams read_checker_params(const std::filesystem::path& folder);

}  // namespace strata::compliance
