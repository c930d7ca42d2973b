#include "cli/manual/command_tree.h"

#include <algorithm>
#include <set>

namespace strata::cli {
namespace {

// Returns the values in a type like "TEXT:{training,hpc}".
std::vector<std::string> values_in(const std::string& type) {
  const size_t begin = type.find('{'), end = type.rfind('}');
  if (begin == type.npos || end == type.npos) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

std::vector<std::string> names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::ranges::sort(names);  // the set is in the order of addresses
  return names;
}

OptionInfo describe(const CLI::Option& option) {
  OptionInfo info;
  for (const std::string& name : option.get_snames()) info.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) info.names.push_back("--" + name);
  info.positional = info.names.empty();
  if (info.positional) info.names.push_back(option.get_name(true));
  if (option.get_items_expected_max() > 0 || info.positional) {
    const std::string type = option.get_type_name();
    info.values = values_in(type);
    info.type = type.substr(0, type.find(":{"));
  }
  info.help = option.get_description();
  info.required = option.get_required();
  if (option.get_type_size() != 0) info.preset = option.get_default_str();
  info.needs = names_of(option.get_needs());
  info.excludes = names_of(option.get_excludes());
  return info;
}

void add(const CLI::App& command, const std::string& above, std::vector<CommandInfo>& all) {
  CommandInfo info;
  info.path = above.empty() ? command.get_name() : above + ' ' + command.get_name();
  info.help = command.get_description();
  // Uses the formatter, because App::help would answer for the command that is running.
  const std::string help =
      command.get_formatter()->make_help(&command, info.path, CLI::AppFormatMode::Normal);
  const std::string mark = "Usage: ";
  if (const size_t at = help.find(mark); at != help.npos)
    info.usage = help.substr(at + mark.size(), help.find('\n', at) - at - mark.size());
  info.footer = command.get_footer();
  for (const CLI::Option* option : command.get_options()) info.options.push_back(describe(*option));
  const auto below = command.get_subcommands({});
  for (const CLI::App* inner : below) info.commands.push_back(inner->get_name());
  const std::string path = info.path;
  all.push_back(std::move(info));
  for (const CLI::App* inner : below) add(*inner, path, all);
}

}  // namespace

bool CommandInfo::takes_positionals() const {
  return std::ranges::any_of(options, &OptionInfo::positional);
}

std::vector<CommandInfo> all_commands(const CLI::App& root) {
  std::vector<CommandInfo> all;
  add(root, "", all);
  return all;
}

}  // namespace strata::cli
