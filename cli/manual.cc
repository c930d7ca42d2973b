// `strata completion` and `strata man`.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "cli/commands.h"
#include "cli/manual/command_tree.h"
#include "cli/manual/completion.h"
#include "cli/manual/man_page.h"
#include "cli/options/outputs.h"

namespace strata::cli {
namespace {

struct ManOptions {
  std::vector<std::string> command;
  std::string all;  // a folder
};

int print_manual(const CLI::App& root, const ManOptions& options) {
  const std::vector<CommandInfo> commands = all_commands(root);
  if (!options.all.empty()) {
    for (const CommandInfo& command : commands) {
      write_file_atomically(std::filesystem::path(options.all) / man_page_name(command),
                            man_page(command, commands));
    }
    fmt::print("{} written to {}\n", counted(commands.size(), "page"), options.all);
    return 0;
  }
  std::string path = root.get_name();
  for (const std::string& word : options.command) path += ' ' + word;
  for (const CommandInfo& command : commands) {
    if (command.path != path) continue;
    fmt::print("{}", man_page(command, commands));
    return 0;
  }
  fail("there is no command '{}'", path);
}

}  // namespace

void add_manual_commands(CLI::App& app, int& exit_code) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand(
      "completion", "Completion of commands and options: a script for bash, zsh or fish");
  completion->add_option("SHELL", *shell, "bash: eval \"$(strata completion bash)\"")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([shell, &app, &exit_code] {
    const std::vector<CommandInfo> commands = all_commands(app);
    fmt::print("{}", *shell == "bash"  ? bash_completion(commands)
                     : *shell == "zsh" ? zsh_completion(commands)
                                       : fish_completion(commands));
    exit_code = 0;
  });

  const auto options = std::make_shared<ManOptions>();
  CLI::App* man = app.add_subcommand(
      "man", "The manual of a command, in roff: strata man check log | man -l -");
  man->add_option("COMMAND", options->command,
                  "Command, such as check log (default: strata itself)");
  names_output(
      man->add_option("--all", options->all, "Write the pages of all commands to this folder"),
      OutputKind::kFolder);
  man->callback([options, &app, &exit_code] { exit_code = print_manual(app, *options); });
}

}  // namespace strata::cli
