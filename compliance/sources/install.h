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
  std::string sha256;            // of a version that is not known; empty: the pinned one
  std::filesystem::path folder;  // that takes the packages: user_rules_folder()
};

struct Installed {
  std::filesystem::path package;  // .../mlperf_logging
  std::string version;
  bool was_there = false;
};

// The versions whose hashes are pinned, newest first.
std::vector<std::string> pinned_versions();

// Whether the newest pinned version has rules for a round.
bool has_installable_rules(std::string_view usage, std::string_view ruleset);
// A clause for messages that says how to get the rules for a round and which would be installed.
std::string how_to_get_rules(std::string_view usage, std::string_view ruleset);

// Fetches with curl, else with pip, whichever is there; unpacks with unzip, python3 or bsdtar. The
// package gets its name once it is whole: a failure leaves what was there. Throws Error where the
// hash differs, no tool is there, or the version is not known.
Installed install_rules(const InstallOptions& options);

}  // namespace strata::compliance
