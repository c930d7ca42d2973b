#include "cli/manual/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace strata::cli {
namespace {

std::string dashed(std::string path) {
  std::ranges::replace(path, ' ', '-');
  return path;
}

// Escapes text for roff.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool starts_line = out.empty() || out.back() == '\n';
    if (starts_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else {
      out += c;
    }
  }
  return out;
}

std::string option_text(const OptionInfo& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    const char* font = option.positional ? "\\fI" : "\\fB";
    names.push_back(font + plain(name) + "\\fR");
  }
  std::string text = fmt::format(".TP\n{}", fmt::join(names, ", "));
  if (!option.values.empty()) {
    text += " " + plain(fmt::format("{}", fmt::join(option.values, " | ")));
  } else if (!option.type.empty() && !option.positional) {
    // "INT:INT in [1 - 1024]" becomes "INT in [1 - 1024]".
    text += " \\fI" + plain(option.type.substr(option.type.rfind(':') + 1)) + "\\fR";
  }
  std::string help = option.help;
  const auto add = [&](const std::string& sentence) {
    help += (help.empty() || help.ends_with('.') ? "" : ".");
    help += (help.empty() ? "" : " ") + sentence + '.';
  };
  if (!option.preset.empty()) add("Default: " + option.preset);
  if (option.required && !option.positional) add("Required");
  if (!option.needs.empty()) add(fmt::format("Needs {}", fmt::join(option.needs, ", ")));
  if (!option.excludes.empty()) add(fmt::format("Excludes {}", fmt::join(option.excludes, ", ")));
  return text + '\n' + plain(help) + '\n';
}

// Keeps the footer's line breaks. troff must not fill the lines of tables.
std::string footer_text(const std::string& footer) {
  if (footer.find("\n ") != footer.npos) return ".nf\n" + plain(footer) + "\n.fi\n";
  std::string text = plain(footer);
  for (size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 5) text.insert(at, "\n.br");
  return text + '\n';
}

}  // namespace

std::string man_page_name(const CommandInfo& command) { return dashed(command.path) + ".1"; }

std::string man_page(const CommandInfo& command, const std::vector<CommandInfo>& all) {
  std::string name = dashed(command.path), title = name;
  std::ranges::transform(title, title.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  std::string text =
      fmt::format(".TH {} 1 \"\" \"Strata {}\" \"Strata\"\n", plain(title), STRATA_VERSION);
  text += fmt::format(".SH NAME\n{} \\- {}\n", plain(name),
                      plain(command.help.substr(0, command.help.find('\n'))));
  text += fmt::format(".SH SYNOPSIS\n{}\n", plain(command.usage));
  text += fmt::format(".SH DESCRIPTION\n{}\n", plain(command.help));
  if (!command.commands.empty()) text += ".SH COMMANDS\n";
  for (const CommandInfo& below : all) {
    const bool is_below = std::ranges::any_of(command.commands, [&](const std::string& one) {
      return below.path == command.path + ' ' + one;
    });
    if (is_below)
      text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", plain(dashed(below.path)), plain(below.help));
  }
  for (const bool positional : {true, false}) {
    std::string options;
    for (const OptionInfo& option : command.options) {
      if (option.positional == positional) options += option_text(option);
    }
    if (!options.empty())
      text += fmt::format(".SH {}\n{}", positional ? "ARGUMENTS" : "OPTIONS", options);
  }
  if (!command.footer.empty()) text += ".SH NOTES\n" + footer_text(command.footer);
  text +=
      ".SH EXIT STATUS\n0 success, 1 a check failed or the target was not reached, 2 an error, "
      "such as bad usage or unreadable input.\n";
  if (const size_t last = command.path.rfind(' '); last != command.path.npos) {
    text +=
        fmt::format(".SH SEE ALSO\n\\fB{}\\fR(1)\n", plain(dashed(command.path.substr(0, last))));
  }
  return text;
}

}  // namespace strata::cli
