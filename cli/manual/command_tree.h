// All commands with their options, as CLI11 knows them: what completion and man pages are made of.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace strata::cli {

struct OptionInfo {
  std::vector<std::string> names;   // "-o", "--output"; of a positional "FILE"
  std::string type;                 // "TEXT"; empty: a flag
  std::vector<std::string> values;  // the only ones it takes; empty: any
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
  std::string footer;                 // below the options in --help, in lines
  std::vector<std::string> commands;  // the names of those below it

  bool takes_positionals() const;
};

// `root` and every command below it, depth first.
std::vector<CommandInfo> all_commands(const CLI::App& root);

}  // namespace strata::cli
