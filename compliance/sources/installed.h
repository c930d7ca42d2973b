// Finds official rule files on this machine: mlperf_logging packages of `strata rules install` or
// of Python.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compliance/sources/rule_store.h"

namespace strata::compliance {

// The value of `--rules` and `--rcp` for only the built-in ones.
inline constexpr char kBuiltIn[] = "built-in";

struct InstalledRules {
  std::filesystem::path package;  // .../mlperf_logging
  std::string version;            // empty if unknown
};

// Returns the folder of `strata rules install`: $XDG_DATA_HOME/strata/rules, or
// ~/.local/share/strata/rules. Empty if neither variable is set.
std::filesystem::path user_rules_folder();

// Returns packages in the order of their use: those of `strata rules install`, newest first, then
// those that Python would find (PYTHONPATH, the active virtual or Conda environment, the user's,
// the system's). Reads folders and runs nothing.
std::vector<InstalledRules> installed_rules();

// Returns the rules in `given`; if it is empty, the built-in ones, which fall back on installed
// ones; if it is kBuiltIn, only the built-in ones.
std::unique_ptr<RuleStore> open_rules(const std::string& given);
// Returns the rcp_checker folder of the package that `rules` belongs to, in or beside it, or an
// empty path.
std::filesystem::path points_beside_rules(const std::filesystem::path& rules);
// Returns the places for reference points that are not built in: the installed packages, unless
// points are `given`.
std::vector<std::filesystem::path> installed_points(const std::string& given);

}  // namespace strata::compliance
