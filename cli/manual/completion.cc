#include "cli/manual/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace strata::cli {
namespace {

// Quotes `text` in single quotes for bash and zsh.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string patterns(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts) all.push_back(quoted(text));
  return fmt::format("{}", fmt::join(all, " | "));
}

std::vector<std::string> paths_below_root(const std::vector<CommandInfo>& commands) {
  std::vector<std::string> paths;
  for (const CommandInfo& command : commands) {
    if (command.path.find(' ') != std::string::npos) paths.push_back(command.path);
  }
  return paths;
}

// Returns a case for each option that takes a value: `one_of` completes options with a list of
// values, `file` all others.
template <typename OneOf>
std::string value_cases(const std::vector<CommandInfo>& commands, const OneOf& one_of,
                        const std::string& file) {
  std::string text;
  for (const CommandInfo& command : commands) {
    for (const OptionInfo& option : command.options) {
      if (option.positional || option.type.empty()) continue;
      std::vector<std::string> keys;
      for (const std::string& name : option.names) keys.push_back(command.path + ':' + name);
      text += fmt::format("    {}) {}; return ;;\n", patterns(keys),
                          option.values.empty() ? file : one_of(option.values));
    }
  }
  return text;
}

}  // namespace

std::string bash_completion(const std::vector<CommandInfo>& commands) {
  std::string text =
      "# bash completion of strata: eval \"$(strata completion bash)\"\n"
      "_strata() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
      "  local command=strata options='' commands='' files='' i\n"
      "  # bash makes words of their own of '=' in --option=value.\n"
      "  if [[ $cur == = ]]; then cur=''\n"
      "  elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case \"$command ${COMP_WORDS[i]}\" in\n";
  text += fmt::format("      {}) command+=\" ${{COMP_WORDS[i]}}\" ;;\n",
                      patterns(paths_below_root(commands)));
  text += "    esac\n  done\n  case \"$command:$prev\" in\n";
  text += value_cases(
      commands,
      [](const std::vector<std::string>& values) {
        return fmt::format("mapfile -t COMPREPLY < <(compgen -W {} -- \"$cur\")",
                           quoted(fmt::format("{}", fmt::join(values, " "))));
      },
      "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")");
  text += "  esac\n  case \"$command\" in\n";
  for (const CommandInfo& command : commands) {
    std::vector<std::string> options;
    for (const OptionInfo& option : command.options) {
      if (!option.positional)
        options.insert(options.end(), option.names.begin(), option.names.end());
    }
    text += fmt::format("    {}) options={} commands={} files={} ;;\n", quoted(command.path),
                        quoted(fmt::format("{}", fmt::join(options, " "))),
                        quoted(fmt::format("{}", fmt::join(command.commands, " "))),
                        command.takes_positionals() ? "1" : "''");
  }
  return text +
         "  esac\n"
         "  if [[ $cur == -* ]]; then mapfile -t COMPREPLY < <(compgen -W \"$options\" -- "
         "\"$cur\")\n"
         "  elif [[ -n $commands ]]; then mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- "
         "\"$cur\")\n"
         "  elif [[ -n $files ]]; then mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); fi\n"
         "}\n"
         "complete -o filenames -F _strata strata\n";
}

std::string zsh_completion(const std::vector<CommandInfo>& commands) {
  // zsh takes everything before the description's first colon as the word.
  const auto described = [](const std::string& word, const std::string& help) {
    return quoted(word + ':' + first_line(help));
  };
  std::string text =
      "#compdef strata\n"
      "# zsh completion of strata: eval \"$(strata completion zsh)\", or as _strata in a folder of "
      "$fpath\n"
      "_strata() {\n"
      "  local command=strata files='' i\n"
      "  local -a options commands\n"
      "  for ((i = 2; i < CURRENT; ++i)); do\n"
      "    case \"$command ${words[i]}\" in\n";
  text += fmt::format("      {}) command+=\" ${{words[i]}}\" ;;\n",
                      patterns(paths_below_root(commands)));
  text += "    esac\n  done\n  case \"$command:${words[CURRENT - 1]}\" in\n";
  text += value_cases(
      commands,
      [](const std::vector<std::string>& values) {
        return "compadd -- " + fmt::format("{}", fmt::join(values, " "));
      },
      "_files");
  text += "  esac\n  case \"$command\" in\n";
  for (const CommandInfo& command : commands) {
    text += fmt::format("    {})\n      options=(\n", quoted(command.path));
    for (const OptionInfo& option : command.options) {
      for (const std::string& name : option.names) {
        if (!option.positional) text += fmt::format("        {}\n", described(name, option.help));
      }
    }
    text += "      )\n      commands=(\n";
    for (const CommandInfo& other : commands) {
      for (const std::string& name : command.commands) {
        if (other.path == command.path + ' ' + name)
          text += fmt::format("        {}\n", described(name, other.help));
      }
    }
    text += fmt::format("      )\n      files={} ;;\n", command.takes_positionals() ? "1" : "''");
  }
  return text +
         "  esac\n"
         "  if [[ $PREFIX == -* ]]; then _describe -o option options\n"
         "  elif (( ${#commands} )); then _describe command commands\n"
         "  elif [[ -n $files ]]; then _files; fi\n"
         "}\n"
         "if [[ ${funcstack[1]} == _strata ]]; then _strata \"$@\"; else compdef _strata strata; "
         "fi\n";
}

std::string fish_completion(const std::vector<CommandInfo>& commands) {
  std::vector<std::string> paths;
  for (const std::string& path : paths_below_root(commands)) paths.push_back(fish_quoted(path));
  std::string text = fmt::format(
      "# fish completion of strata: strata completion fish | source\n"
      "function __strata_command\n"
      "    set -l command strata\n"
      "    for word in (commandline -opc)[2..-1]\n"
      "        if contains -- \"$command $word\" {}\n"
      "            set command \"$command $word\"\n"
      "        end\n"
      "    end\n"
      "    echo $command\n"
      "end\n"
      "complete -c strata -f\n",
      fmt::join(paths, " "));
  for (const CommandInfo& command : commands) {
    const std::string condition =
        fish_quoted(fmt::format("test (__strata_command) = \"{}\"", command.path));
    for (const CommandInfo& other : commands) {
      for (const std::string& name : command.commands) {
        if (other.path != command.path + ' ' + name) continue;
        text += fmt::format("complete -c strata -n {} -a {} -d {}\n", condition, name,
                            fish_quoted(first_line(other.help)));
      }
    }
    if (command.takes_positionals())
      text += fmt::format("complete -c strata -n {} -F\n", condition);
    for (const OptionInfo& option : command.options) {
      if (option.positional) continue;
      text += fmt::format("complete -c strata -n {}", condition);
      for (const std::string& name : option.names) {
        text += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                       : fmt::format(" -s {}", name.substr(1));
      }
      if (!option.values.empty()) {
        text +=
            fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(option.values, " "))));
      } else if (!option.type.empty()) {
        text += " -r -F";
      }
      text += fmt::format(" -d {}\n", fish_quoted(first_line(option.help)));
    }
  }
  return text;
}

}  // namespace strata::cli
