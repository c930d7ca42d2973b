// All commands and options of CLI11's tree, the source of completions and man pages.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace strata::cli {

struct OptionInfo {
  std::vector<std::string> names;   // "-o", "--output", or a positional's "FILE"
  std::string type;                 // "TEXT"; empty: a flag
  std::vector<std::string> values;  // the accepted values; empty: any
  std::string help;
  bool positional = false;
  bool required = false;
  std::string preset;                        // default value
  std::vector<std::string> needs, excludes;  // names of other options
};

struct CommandInfo {
  std::string path;  // "strata check log"
  std::string help;
  std::string usage;  // "strata check log [OPTIONS] FILE..."
  std::vector<OptionInfo> options;
  std::string footer;                 // lines below the options in --help
  std::vector<std::string> commands;  // names of the commands below it

  bool takes_positionals() const;
};

// Returns `root` and every command below it, depth first.
std::vector<CommandInfo> all_commands(const CLI::App& root);

}  // namespace strata::cli
