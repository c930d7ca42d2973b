// Commands that do not exist.
#pragma once

#include <CLI/CLI.hpp>

namespace strata::cli {

// Throws Error where the command line names a command that `app`, or a command of its that is
// named, does not have: says which, the nearest there is, and all.
void refuse_unknown_command(const CLI::App& app, int argc, const char* const* argv);

}  // namespace strata::cli
