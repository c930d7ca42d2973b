// Official rule files on this machine: mlperf_logging packages, of `strata rules install` or of
// Python.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compliance/sources/rule_store.h"

namespace strata::compliance {

// What `--rules` and `--rcp` are given for the built-in ones alone.
inline constexpr char kBuiltIn[] = "built-in";

struct InstalledRules {
  std::filesystem::path package;  // .../mlperf_logging
  std::string version;            // empty where it does not say
};

// Where `strata rules install` puts packages: $XDG_DATA_HOME/strata/rules, or
// ~/.local/share/strata/rules. Empty where neither variable is set.
std::filesystem::path user_rules_folder();

// Packages in the order in which they are asked: those of `strata rules install`, newest first,
// then those that Python would find (PYTHONPATH, the virtual or Conda environment that is active,
// the user's, the system's). Reads folders and runs nothing.
std::vector<InstalledRules> installed_rules();

// The rules of a command: those in `given`; where it is empty the built-in ones, which fall back on
// installed ones; where it is kBuiltIn the built-in ones alone.
std::unique_ptr<RuleStore> open_rules(const std::string& given);
// The rcp_checker folder of the package that `rules` belongs to, in or beside it. Empty if there is
// none.
std::filesystem::path points_beside_rules(const std::filesystem::path& rules);
// Where reference points may be that the built-in ones lack: installed packages where none are
// `given`.
std::vector<std::filesystem::path> installed_points(const std::string& given);

}  // namespace strata::compliance
