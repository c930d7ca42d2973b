// Messages for command lines that cannot be parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace strata::cli {

// Returns a message for CLI11 to print: the command, the error, the usage, and where help is.
std::string usage_error(const CLI::App* app, const CLI::Error& error);

}  // namespace strata::cli
