// Refuses commands that do not exist.
#pragma once

#include <CLI/CLI.hpp>

namespace strata::cli {

// Throws Error if the command line names a command that `app` or one of its named commands does not
// have. The message gives the nearest command and all others.
void refuse_unknown_command(const CLI::App& app, int argc, const char* const* argv);

}  // namespace strata::cli
