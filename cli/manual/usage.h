// What is said of a command line that cannot be read.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace strata::cli {

// A message for CLI11 to print: the command and what is wrong, how it is used, and where there is
// more.
std::string usage_error(const CLI::App* app, const CLI::Error& error);

}  // namespace strata::cli
