// Fetches the official rules: the wheel of mlperf-logging from PyPI, by its pinned hash.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace strata::compliance {

struct InstallOptions {
  std::string version;           // empty: the newest known
  std::filesystem::path wheel;   // a file to install instead of fetching one
  std::string sha256;            // hash of a version that is not known; empty: the pinned one
  std::filesystem::path folder;  // parent of the packages: user_rules_folder()
};

struct Installed {
  std::filesystem::path package;  // .../mlperf_logging
  std::string version;
  bool was_there = false;
};

// Returns the versions whose hashes are pinned, newest first.
std::vector<std::string> pinned_versions();

// Returns whether the newest pinned version has rules for a round.
bool has_installable_rules(std::string_view usage, std::string_view ruleset);
// Returns a clause for messages: how to get the rules for a round, and which would be installed.
std::string how_to_get_rules(std::string_view usage, std::string_view ruleset);

// Fetches with curl, or else with pip; unpacks with unzip, python3 or bsdtar. Renames the package
// when it is complete, so that a failure changes nothing. Throws Error if the hash differs, no tool
// is available, or the version is not known.
Installed install_rules(const InstallOptions& options);

}  // namespace strata::compliance
