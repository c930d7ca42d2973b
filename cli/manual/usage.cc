#include "cli/manual/usage.h"

#include <fmt/format.h>

namespace strata::cli {

std::string usage_error(const CLI::App* app, const CLI::Error& error) {
  const std::string help = app->help();  // the help of the last named command
  std::string path = app->get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    path += ' ' + app->get_name();
  }
  const size_t begin = help.find("Usage: ");
  const std::string usage =
      begin == help.npos ? "" : help.substr(begin, help.find('\n', begin) - begin + 1);
  return fmt::format("{}: {}\n{}Run '{} --help' for more.\n", path, error.what(), usage, path);
}

}  // namespace strata::cli
