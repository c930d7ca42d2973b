// Tests that no output of any command replaces a file that the command reads or a file of a result
// tree.

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "tests/cli/tools.h"
#include "tests/support/built_files.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;

struct Output {
  std::string command;
  std::string option;
  std::string words;  // the other words; FILE and TREE are inputs
  std::string ending = "";
};

// A row for each option that names an output.
const std::vector<Output> kOutputs = {
    {"check log", "--log-output", "TREE"},
    {"check log", "--sarif", "TREE"},
    {"check log", "--junit", "TREE"},
    {"check package", "--log-output", "TREE"},
    {"check package", "--sarif", "TREE"},
    {"check package", "--junit", "TREE"},
    {"check round", "--log-output", "TREE"},
    {"check round", "--sarif", "TREE"},
    {"check round", "--junit", "TREE"},
    {"check rcp", "--log-output", "TREE"},
    {"check system", "--log-output", "FILE"},
    {"check seeds", "--log-output", "TREE"},
    {"check power", "--log-output", "TREE"},
    {"check repo", "--log-output", "TREE"},
    {"score", "--csv", "TREE"},
    {"score", "--output", "TREE"},
    {"score", "--summary", "TREE", ".csv"},
    {"compare", "--csv", "TREE TREE"},
    {"compare", "--output", "TREE TREE"},
    {"export csv", "--output", "TREE"},
    {"export tensorboard", "--output", "TREE"},
    {"package merge", "--output", "TREE"},
    {"plot curves", "--output", "TREE"},
    {"plot scores", "--output", "TREE"},
    {"plot rcp", "--output", "--custom-rcps FILE"},
    {"plot plan", "--output", "FILE"},
    {"plot timeline", "--output", "FILE"},
    {"plot history", "--output", "FILE"},
    {"plot search", "--output", "TREE"},
    {"report", "--output", "TREE"},
    {"man", "--all", "score"},
    {"data prepare", "--out", "--text FILE --vocab FILE"},
    {"data mlperf", "--out", "--text TREE --vocab FILE"},
    {"data convert", "--out", "FILE"},
    {"search", "--out", "--space FILE"},
    {"bench cost", "--out", "--config FILE"},
    {"bench overlap", "--timeline", "--config FILE"},
    {"bench schedule", "--timeline", "--config FILE"},
    {"bench simulate", "--timeline", "--ranks 1 --gflops 1 --config FILE"},
};

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

class Outputs : public Tools {
 protected:
  Outputs() {
    for (const char* file :
         {"Acme/systems/good.json", "Acme/systems/csv.csv", "Acme/benchmarks/bert/README.md",
          "Acme/results/good/bert/result_0.yaml", "Acme/results/good/bert/result_0.steps.jsonl",
          "Acme/results/good/bert/result_0.timeline.json", "Acme/notes.csv", "file", "file.csv"}) {
      folder_.write(file, std::string("these bytes stay: ") + file);
    }
    fs::create_symlink("file", path("linked_file"));
    fs::create_symlink("file.csv", path("linked_file.csv"));
    fs::create_symlink("../../file", path("Acme/systems/link"));
  }

  // Returns whether this program has the command. A build without training lacks some commands.
  bool is_there(const Output& row) {
    std::vector<std::string> words = words_in(row.command);
    words.emplace_back("--help");
    return strata(words).exit_code == 0;
  }

  // Runs the command with this output.
  ProcessResult write(const Output& row, const std::string& output) {
    std::vector<std::string> words = words_in(row.command);
    for (std::string word : words_in(row.words)) {
      if (word == "TREE") word = path("Acme");
      if (word == "FILE") word = path("file" + row.ending);
      words.push_back(word);
    }
    words.insert(words.end(), {row.option, output});
    return strata(words);
  }

  std::map<std::string, std::string> contents() {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(path())) {
      const std::string name = entry.path().string();
      all[name] = entry.is_symlink()        ? "-> " + fs::read_symlink(entry.path()).string()
                  : entry.is_regular_file() ? read_file(entry.path())
                                            : "folder";
    }
    return all;
  }
};

// Returns the program's commands and their options.
std::map<std::string, std::set<std::string>> commands_of(const fs::path& pages) {
  std::map<std::string, std::set<std::string>> commands;
  for (const fs::path& page : list_directory(pages)) {
    const std::string text = std::regex_replace(read_file(page), std::regex(R"(\\(f[BIRP]|))"), "");
    std::smatch name;
    if (!std::regex_search(text, name, std::regex(R"(strata((?: [a-z-]+)*) \[OPTIONS\])")))
      continue;
    std::string command = name[1];
    if (!command.empty()) command.erase(0, 1);
    const std::regex option(R"((--[a-z][a-z_-]*)[^\n]* (?:TEXT|FILE)\b)");
    for (std::sregex_iterator at(text.begin(), text.end(), option), end; at != end; ++at)
      commands[command].insert((*at)[1]);
    commands[command];
  }
  return commands;
}

TEST_F(Outputs, EveryOutputOptionOfEveryCommandIsInTheTable) {
  ASSERT_EQ(strata({"man", "--all", path("pages")}).exit_code, 0);
  const auto commands = commands_of(path("pages"));
  ASSERT_GT(commands.size(), 20u);
  size_t found = 0;
  for (const auto& [command, options] : commands) {
    for (const char* option : {"--output", "--out", "--csv", "--sarif", "--junit", "--log-output",
                               "--summary", "--timeline", "--all", "--json", "--markdown"}) {
      if (!options.contains(option)) continue;
      ++found;
      EXPECT_TRUE(std::ranges::any_of(
          kOutputs,
          [&](const Output& row) { return row.command == command && row.option == option; }))
          << command << ' ' << option;
    }
  }
  const auto in_table = std::ranges::count_if(
      kOutputs, [&](const Output& row) { return commands.contains(row.command); });
  EXPECT_EQ(found, in_table);
}

TEST_F(Outputs, NoOutputReplacesAnInputOrAFileOfAResultTree) {
  const auto before = contents();
  for (const Output& row : kOutputs) {
    if (!is_there(row)) continue;
    std::vector<std::string> names = {"file", "linked_file"};
    if (row.words.find("FILE") == std::string::npos) names = {"Acme/systems/link"};
    if (row.command == "man") names.clear();  // it reads nothing
    for (const char* file :
         {"Acme/systems/good.json", "Acme/benchmarks/bert/README.md",
          "Acme/results/good/bert/result_0.txt", "Acme/results/good/bert/result_0.yaml",
          "Acme/results/good/bert/result_0.steps.jsonl",
          "Acme/results/good/bert/result_0.timeline.json"}) {
      names.emplace_back(file);
    }
    if (!row.ending.empty()) {
      for (std::string& name : names) {
        if (name == "file" || name == "linked_file") name += row.ending;
      }
      names.emplace_back("Acme/systems/csv.csv");
    }
    if (row.words.find("TREE") != std::string::npos) names.emplace_back("Acme/notes.csv");
    for (const std::string& name : names) {
      const ProcessResult refused = write(row, path(name));
      EXPECT_EQ(refused.exit_code, 2) << row.command << ' ' << row.option << ' ' << name;
      EXPECT_THAT(refused.err, HasSubstr(row.option + " " + path(name) + ": "))
          << row.command << ' ' << name;
      EXPECT_THAT(refused.err, HasSubstr("; name another file")) << row.command << ' ' << name;
    }
  }
  EXPECT_EQ(contents(), before);
}

// Returns what to give instead of "-".
std::string advice_for(const Output& row) {
  const std::set<std::string> folders = {"export tensorboard", "package merge", "man",
                                         "data prepare",       "data mlperf",   "search"};
  if (folders.contains(row.command)) return "-: is not standard output here; name a folder";
  if (row.command.starts_with("plot ") || row.command.starts_with("bench ") ||
      row.command == "data convert" || row.option == "--summary") {
    return "-: is not standard output here; name a file";
  }
  return "-: give /dev/stdout for standard output";
}

TEST_F(Outputs, ADashIsRefusedAsAnOutput) {
  for (const Output& row : kOutputs) {
    if (!is_there(row)) continue;
    const ProcessResult refused = write(row, "-");
    EXPECT_EQ(refused.exit_code, 2) << row.command;
    EXPECT_THAT(refused.err, HasSubstr(advice_for(row))) << row.command << ' ' << row.option;
  }
}

TEST_F(Outputs, AnEmptyNameIsRefusedAsAnOutput) {
  for (const Output& row : kOutputs) {
    if (!is_there(row)) continue;
    const ProcessResult refused = write(row, "");
    EXPECT_EQ(refused.exit_code, 2) << row.command << ' ' << row.option;
    EXPECT_THAT(refused.err, HasSubstr(row.option + ": the name of the file is empty"))
        << row.command << ' ' << row.option;
  }
}

TEST_F(Outputs, AFileBeyondTheLimitIsAnErrorThatNamesIt) {
  for (const std::string words : {"report -o", "score --output", "check log --sarif"}) {
    const std::string output = path("page");
    // Uses a pipe, because the limit would also apply to a file for the message.
    const std::string command = "{ (ulimit -f 0; exec " + testing_support::strata_program() + " " +
                                words + " " + output + " " + path("Acme") +
                                "); echo exit code $?; } 2>&1 | cat";
    const ProcessResult refused = run({"sh", "-c", command}, {}, std::chrono::seconds(60));
    EXPECT_THAT(refused.out, HasSubstr(output + ": cannot write: File too large")) << words;
    EXPECT_THAT(refused.out, HasSubstr("exit code 2")) << words;
  }
}

TEST_F(Outputs, TwoOutputsInOneFileAreRefused) {
  const ProcessResult refused =
      strata({"score", path("Acme"), "--csv", path("new"), "--output", path("new")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("names the same file"));
  EXPECT_FALSE(fs::exists(path("new")));
}

TEST_F(Outputs, AnEarlierOutputInTheTreeIsReplaced) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"report", path("Acme"), "-o", path("Acme/report.html")},
           {"score", path("Acme"), "--csv", path("Acme/scores.csv")},
           {"check", "log", path("Acme"), "--sarif", path("Acme/findings.sarif")},
           {"check", "log", path("Acme"), "--junit", path("Acme/findings.xml")},
           {"compare", path("Acme"), path("Acme"), "--csv", path("Acme/differences.csv")},
           {"plot", "curves", path("Acme"), "-o", path("Acme/curves.svg")}}) {
    for (int i = 0; i < 2; ++i) {
      const ProcessResult result = strata(words);
      EXPECT_THAT(result.err, Not(HasSubstr("exists already")));
      EXPECT_TRUE(fs::exists(words.back())) << words.back() << ": " << result.err;
    }
  }
}

TEST_F(Outputs, FormatFlagsTakeNoFileName) {
  const std::string a = folder_.write("a.json", R"({"step_seconds": 1})").string();
  const std::string b = folder_.write("b.json", R"({"step_seconds": 2})").string();
  for (const char* flag : {"--json", "--markdown"}) {
    const ProcessResult printed = strata({"compare", flag, a, b, a});
    EXPECT_EQ(printed.exit_code, 0) << printed.err;
    const ProcessResult written = strata({"compare", flag, a, b, a, "-o", path("comparison")});
    EXPECT_EQ(written.out, "");
    EXPECT_EQ(read_file(path("comparison")), printed.out);
  }
  EXPECT_EQ(read_file(a), R"({"step_seconds": 1})");
  const ProcessResult scores = strata({"score", "--json", path("Acme")});
  EXPECT_EQ(scores.exit_code, 0) << scores.err;
  EXPECT_EQ(scores.out.front(), '{');
}

}  // namespace
}  // namespace strata::cli
