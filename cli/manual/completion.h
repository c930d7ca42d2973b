// Completion scripts for shells.
#pragma once

#include <string>
#include <vector>

#include "cli/manual/command_tree.h"

namespace strata::cli {

// Return scripts to source, or to put in the shell's completion folder.
std::string bash_completion(const std::vector<CommandInfo>& commands);
std::string zsh_completion(const std::vector<CommandInfo>& commands);
std::string fish_completion(const std::vector<CommandInfo>& commands);

}  // namespace strata::cli
