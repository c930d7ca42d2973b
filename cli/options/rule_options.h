// The options --ruleset and --usage of commands that apply a round's rules.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "compliance/checks/rounds.h"
#include "compliance/sources/installed.h"

namespace strata::cli {

// `ruleset` and `usage` must outlive the parsing. A ruleset of two numbers gets its third.
inline void add_ruleset_options(CLI::App& command, std::string& ruleset, std::string& usage) {
  command
      .add_option("--ruleset", ruleset,
                  "Round whose rules apply, such as 2.1 or 2.1.0 (default: inferred)")
      ->transform(compliance::full_ruleset);
  command.add_option("--usage", usage, "training or hpc (default: inferred)")
      ->check(CLI::IsMember({"training", "hpc"}));
}

// Adds --rules. `rules` must outlive the parsing.
inline CLI::Option* add_rules_option(CLI::App& command, std::string& rules) {
  return command.add_option(
      "--rules", rules,
      "Directory of rule files, such as the official checker's, or built-in (default: the built-in "
      "rules of BERT, then those of an installed mlperf_logging)");
}

// Adds --rcp, for a command that has --rules or has not. `rcp` must outlive the parsing.
inline CLI::Option* add_rcp_option(CLI::App& command, std::string& rcp, bool has_rules) {
  return command.add_option(
      "--rcp", rcp,
      fmt::format("Directory of reference convergence points, or built-in (default: {}the "
                  "built-in points of BERT, then those of an installed mlperf_logging)",
                  has_rules ? "the points of --rules, then " : ""));
}

// Returns the directory that --rules or --rcp names, or an empty text if it is built in.
inline std::string directory_of(const std::string& given) {
  return given == compliance::kBuiltIn ? "" : given;
}

// The places of reference points: first `directory` (empty: built in), then `others`.
struct PointFolders {
  std::filesystem::path directory;
  std::vector<std::filesystem::path> others;
};

// Returns the places that --rcp names; without it the points beside --rules come first.
inline PointFolders point_folders(const std::string& rules, const std::string& rcp) {
  PointFolders folders{directory_of(rcp), compliance::installed_points(rcp)};
  if (!rcp.empty() || directory_of(rules).empty()) return folders;
  folders.directory = compliance::points_beside_rules(rules);
  if (!folders.directory.empty()) folders.others.insert(folders.others.begin(), "");
  return folders;
}

}  // namespace strata::cli
