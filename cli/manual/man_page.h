// Man pages of the commands.
#pragma once

#include <string>
#include <vector>

#include "cli/manual/command_tree.h"

namespace strata::cli {

// Returns a name like "strata-check-log.1".
std::string man_page_name(const CommandInfo& command);

// Returns the page in roff, with the macros of man(7).
std::string man_page(const CommandInfo& command, const std::vector<CommandInfo>& all);

}  // namespace strata::cli
