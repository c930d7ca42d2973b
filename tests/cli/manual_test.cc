// Compares completion and man pages with `--help` of every command.

#include <functional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "tests/cli/tools.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"

namespace strata::cli {
namespace {

using testing_support::run_command;
using Words = std::set<std::string>;

// The contents of --help: a command's long and short options, its subcommands, and the values of
// its options.
struct Help {
  std::string text;
  Words options, commands;
  std::map<std::string, Words> values;
};

Words split(const std::string& text, char separator) {
  Words words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);)
    if (!word.empty()) words.insert(word);
  return words;
}

class Manual : public Tools {
 protected:
  static Help help_of(std::vector<std::string> command) {
    command.push_back("--help");
    const std::string text = strata(command).out;
    Help help{.text = text};
    std::istringstream lines(text);
    bool in_commands = false;
    const std::regex option(R"(  (-[-\w,]+)(?: \w+:\{([^}]*)\})?.*)"), name(R"(  ([a-z]\S*).*)");
    for (std::string line; std::getline(lines, line);) {
      std::smatch match;
      if (line == "Subcommands:") in_commands = true;
      if (std::regex_match(line, match, option)) {
        for (const std::string& word : split(match[1], ',')) {
          help.options.insert(word);
          if (match[2].matched) help.values[word] = split(match[2], ',');
        }
      } else if (in_commands && std::regex_match(line, match, name)) {
        help.commands.insert(match[1]);
      }
    }
    return help;
  }

  // Calls visit(command, its help) for every command, starting with `strata`.
  static int for_every_command(
      const std::function<void(const std::vector<std::string>&, const Help&)>& visit,
      const std::vector<std::string>& command = {}) {
    const Help help = help_of(command);
    EXPECT_TRUE(help.options.contains("--help"));
    visit(command, help);
    int visited = 1;
    for (const std::string& name : help.commands) {
      std::vector<std::string> below = command;
      below.push_back(name);
      visited += for_every_command(visit, below);
    }
    return visited;
  }

  // Returns bash's completions after these words.
  Words bash_offers(const std::vector<std::string>& words) {
    std::string line = "COMP_WORDS=(strata";
    for (const std::string& word : words) line += " '" + word + "'";
    return split(run_command("cd '" + path() + "' && bash -c 'source completion.bash; " + line +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _strata; printf \"%s\\n\" "
                             "\"${COMPREPLY[@]}\"'")
                     .output,
                 '\n');
  }
};

TEST_F(Manual, BashOffersWhatHelpLists) {
  const ProcessResult script = strata({"completion", "bash"});
  ASSERT_EQ(script.exit_code, 0);
  folder_.write("completion.bash", script.out);
  // One bash completes all commands: the script answers each line with a line.
  std::string requests;
  std::vector<std::pair<std::string, Words>> wanted;
  const int commands = for_every_command([&](const auto& command, const Help& help) {
    std::string words = "strata";
    for (const std::string& word : command) words += ' ' + word;
    const auto request = [&](const std::string& last, const Words& answer) {
      requests += words + ' ' + (last.empty() ? "''" : last) + '\n';
      wanted.emplace_back(words + ' ' + last, answer);
    };
    request("-", help.options);
    if (!help.commands.empty()) request("", help.commands);
    for (const auto& [option, values] : help.values) request(option + " ''", values);
  });
  EXPECT_GE(commands, 25);
  folder_.write("requests", requests);
  const auto answers =
      run_command("cd '" + path() +
                  "' && bash --norc -c 'source completion.bash; while read -r line; do eval "
                  "\"COMP_WORDS=($line)\"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _strata; echo "
                  "\"${COMPREPLY[*]}\"; done < requests'");
  ASSERT_EQ(answers.status, 0) << answers.output;
  std::istringstream lines(answers.output);
  for (const auto& [request, answer] : wanted) {
    std::string line;
    ASSERT_TRUE(std::getline(lines, line)) << request;
    EXPECT_EQ(split(line, ' '), answer) << request;
  }
}

TEST_F(Manual, BashCompletesFilesValuesAndPrefixes) {
  folder_.write("completion.bash", strata({"completion", "bash"}).out);
  folder_.write("one file.json", "");
  EXPECT_EQ(bash_offers({"check", "log", "one"}), Words{"one file.json"});
  EXPECT_EQ(bash_offers({"check", "log", "--rules", "one"}), Words{"one file.json"});
  EXPECT_EQ(bash_offers({"check", "log", "--usage", "=", "t"}), Words{"training"});
  EXPECT_EQ(bash_offers({"check", "log", "--usage", "h"}), Words{"hpc"});
  EXPECT_EQ(bash_offers({"sco"}), Words{"score"});
  EXPECT_EQ(bash_offers({"check", "log", "--werror", "--thr"}), Words{"--threads"});
  // These words only look like a command.
  EXPECT_EQ(bash_offers({"check", "log", "check", "one"}), Words{"one file.json"});
}

// Other shells, if they are installed, load the script and complete with it.
TEST_F(Manual, ZshLoadsItsScriptAndCompletes) {
  folder_.write("_strata", strata({"completion", "zsh"}).out);
  if (run_command("command -v zsh").status != 0) GTEST_SKIP() << "no zsh (apt install zsh)";
  const auto loaded =
      run_command("cd '" + path() +
                  "' && zsh -f -c 'autoload -U compinit && compinit -u -D && source "
                  "./_strata && print -r -- $_comps[strata]'");
  EXPECT_EQ(loaded.output, "_strata\n");
  // The fake completion functions print their arguments.
  const auto offered = run_command(
      "cd '" + path() +
      "' && zsh -f -c 'compdef() { }; _describe() { print -rl -- \"${(@P)@[-1]}\" }; _files() { "
      "print "
      "files }; compadd() { print -rl -- \"$@[2,-1]\" }; source ./_strata; words=(strata check log "
      "--usage \"\"); CURRENT=5; PREFIX=; _strata; words=(strata check log -); CURRENT=4; "
      "PREFIX=-; "
      "_strata; words=(strata check log \"\"); PREFIX=; _strata; words=(strata rules \"\"); "
      "CURRENT=3; "
      "_strata'");
  EXPECT_EQ(offered.output.substr(0, 13), "training\nhpc\n") << offered.output;
  EXPECT_THAT(offered.output, HasSubstr("\n--werror:Count warnings as errors\n"));
  EXPECT_THAT(offered.output, HasSubstr("\nfiles\nlist:"));
}

TEST_F(Manual, FishLoadsItsScriptAndCompletes) {
  folder_.write("strata.fish", strata({"completion", "fish"}).out);
  if (run_command("command -v fish").status != 0) GTEST_SKIP() << "no fish (apt install fish)";
  const auto offers = [&](const std::string& line) {
    const auto result = run_command("cd '" + path() + "' && HOME='" + path() +
                                    "' fish --no-config -c 'source strata.fish; complete -C \"" +
                                    line + "\"' | cut -f1");
    return split(result.output, '\n');
  };
  for_every_command([&](const auto& command, const Help& help) {
    std::string line = "strata ";
    for (const std::string& word : command) line += word + ' ';
    Words wanted;
    for (const std::string& option : help.options)
      if (option.starts_with("--")) wanted.insert(option);
    EXPECT_EQ(offers(line + "--"), wanted) << line;
    if (!help.commands.empty()) {
      EXPECT_EQ(offers(line), help.commands) << line;
    }
  });
  EXPECT_EQ(offers("strata check log --usage "), (Words{"hpc", "training"}));
}

TEST_F(Manual, PagesHaveWhatHelpLists) {
  ASSERT_EQ(strata({"man", "--all", path("man")}).exit_code, 0);
  const int commands = for_every_command([&](const auto& command, const Help& help) {
    std::string name = "strata";
    for (const std::string& word : command) name += '-' + word;
    const std::string page = read_file(path("man/" + name + ".1"));
    std::vector<std::string> words = command;
    words.insert(words.begin(), "man");
    EXPECT_EQ(strata(words).out, page);
    Words options, below;
    const std::string text = std::regex_replace(page, std::regex(R"(\\-)"), "-");
    const std::regex entry(R"(\\fB(-[-\w]+)\\fR)"), inner(R"(\.TP\n\\fBstrata-([-\w]+)\\fR)");
    for (std::sregex_iterator match(text.begin(), text.end(), entry), end; match != end; ++match)
      options.insert((*match)[1]);
    for (std::sregex_iterator match(text.begin(), text.end(), inner), end; match != end; ++match) {
      const std::string found = "strata-" + (*match)[1].str();
      ASSERT_TRUE(found.starts_with(name + "-")) << found;
      below.insert(found.substr(name.size() + 1));
    }
    EXPECT_EQ(options, help.options) << name;
    EXPECT_EQ(below, help.commands) << name;
    if (run_command("command -v groff").status == 0) {
      const auto warnings =
          run_command("groff -man -Tutf8 -ww -z '" + path("man/" + name + ".1") + "'");
      EXPECT_EQ(warnings.output, "") << name;
    }
  });
  EXPECT_EQ(static_cast<size_t>(commands), list_directory(path("man")).size());
}

// Returns the words of a page, or of --help, on one line, without roff's requests and escapes.
std::string words_of(std::string text) {
  text = std::regex_replace(text, std::regex(R"((^|\n)\.(TP|br|nf|fi|SH[^\n]*)(?=\n))"), "$1");
  for (const auto& [escape, shown] :
       {std::pair(R"(\\-)", "-"), std::pair(R"(\\\(aq)", "'"), std::pair(R"(\\&)", ""),
        std::pair(R"(\\f[BIR])", ""), std::pair(R"(\\e)", "\\")}) {
    text = std::regex_replace(text, std::regex(escape), shown);
  }
  return std::regex_replace(text, std::regex(R"(\s+)"), " ");
}

// Finds the text behind the options and a blank line, and each default, need and exclusion.
TEST_F(Manual, PagesHaveDefaultsAndFootersOfHelp) {
  int defaults = 0, footers = 0, relations = 0;
  for_every_command([&](const auto& command, const Help& help) {
    std::vector<std::string> words = command;
    words.insert(words.begin(), "man");
    const std::string page = words_of(strata(words).out);
    // CLI11 prints a default as "=5", since version 2.4 as " [5]".
    const std::regex option(
        R"(\n  (-[-\w,]+)(?: [A-Z]+(?::(?:\{[^}\n]*\}|[^=\n]*?\]))?(?:=([^ \n]+)| \[([^ \n\]]+)\])?)?)"
        R"((?: \.\.\.)?(?: REQUIRED)?(?: Needs: (--[-\w]+))?(?: Excludes: (--[-\w]+))?)");
    for (std::sregex_iterator match(help.text.begin(), help.text.end(), option), end; match != end;
         ++match) {
      const std::string names = std::regex_replace((*match)[1].str(), std::regex(","), ", ");
      const size_t at = page.find(' ' + names + ' ');
      ASSERT_NE(at, page.npos) << names << " in " << page;
      for (const auto& [group, says] : {std::pair(2, "Default: "), std::pair(3, "Default: "),
                                        std::pair(4, "Needs "), std::pair(5, "Excludes ")}) {
        // --set KEY=VALUE is no default.
        const std::string value = (*match)[group];
        if (value.empty() || value == "VALUE") continue;
        ++(group <= 3 ? defaults : relations);
        const size_t said = page.find(says, at);
        ASSERT_LT(said - at, 600u) << names << ": " << (*match)[0] << "\n" << page.substr(at, 600);
        EXPECT_LT(page.find(value, said) - said, 100u) << names << page.substr(said, 100);
      }
    }
    const size_t options = help.text.find("\nOptions:"), below = help.text.find("\nSubcommands:");
    const size_t footer = help.text.find("\n\n", options + 1);
    if (below != help.text.npos || footer == help.text.npos) return;
    const std::string text = words_of(help.text.substr(footer));
    if (text.size() < 3) return;
    ++footers;
    EXPECT_NE(page.find(text.substr(1, text.size() - 2)), page.npos) << text << " in " << page;
  });
  EXPECT_GT(defaults, 5);
  EXPECT_GT(relations, 3);
  EXPECT_GE(footers, 1);
}

TEST_F(Manual, UnknownShellsAndCommandsAreRefused) {
  EXPECT_EQ(strata({"completion", "tcsh"}).exit_code, 2);
  const ProcessResult unknown = strata({"man", "check", "everything"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("'strata check everything'"));
}

}  // namespace
}  // namespace strata::cli
