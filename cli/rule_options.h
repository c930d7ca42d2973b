// --ruleset and --usage, for every command that judges by a round's rules.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "compliance/checks/rounds.h"

namespace strata::cli {

// `ruleset` and `usage` outlive the command's parsing; a ruleset of two numbers gets its third.
inline void add_ruleset_options(CLI::App& command, std::string& ruleset, std::string& usage) {
  command
      .add_option("--ruleset", ruleset,
                  "Round whose rules apply, such as 2.1 or 2.1.0 (default: inferred)")
      ->transform(compliance::full_ruleset);
  command.add_option("--usage", usage, "training or hpc (default: inferred)")
      ->check(CLI::IsMember({"training", "hpc"}));
}

}  // namespace strata::cli
