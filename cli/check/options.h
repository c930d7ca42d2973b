// The options of `strata check`, and what its subcommands do with them.
#pragma once

#include <string>
#include <vector>

#include "compliance/checks/rcp.h"

namespace strata::cli {

// The options of all subcommands. Each takes those that concern it.
struct CheckOptions {
  std::vector<std::string> paths;
  std::string ruleset;
  std::string usage;
  std::string rules;
  std::string rcp;
  std::string rcp_pass = "pruned";
  std::string custom_rcps;  // a file
  bool write_scaling = false;
  unsigned threads = 0;
  bool rcp_bypass = false;
  bool seed_bypass = false;
  bool bert_train_samples = false;
  bool werror = false, strict = false;
  bool quiet = false;
  bool require_verdict = false;
  bool json = false;
  bool github = false;
  std::string log_output;        // a file
  mutable std::string inferred;  // the line that says the round, once it is printed
  std::string sarif, junit;      // files

  compliance::RcpPass pass() const {
    return rcp_pass.starts_with("full") ? compliance::RcpPass::kFull : compliance::RcpPass::kPruned;
  }
};

// Each runs a subcommand and returns its exit code.
int check_logs(const CheckOptions& options);
int check_packages(const CheckOptions& options, bool whole_round);
int check_rcp(const CheckOptions& options);
int check_seeds(const CheckOptions& options);
int check_power(const CheckOptions& options);
int check_systems(const CheckOptions& options);
int check_repository(const CheckOptions& options);

}  // namespace strata::cli
