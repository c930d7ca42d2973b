// Tests verdicts as SARIF, JUnit XML and GitHub's workflow commands with logs that contain these
// formats' own syntax. An independent program reads each format.

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "tests/cli/tools.h"
#include "tests/support/built_files.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"

namespace strata::cli {
namespace {

using nlohmann::json;
using testing_support::run_command;

// Values that end an attribute, an element, a line, a command or a text that is not UTF-8.
const std::string kHostile =
    R"(\"']]><!-- &amp; </failure> %0A::error::x ##[error]y \n::set-env name=A::b\r\n , : )"
    "\xff\xc3(\x7f\xef\xbf\xbf";

class Formats : public Tools {
 protected:
  Formats() {
    BertLog hostile = BertLog::passing();
    hostile.set("submission_division", "\"" + kHostile + "\"");
    hostile.without("run_stop");
    std::string text = hostile.text() + ":::MLLOG {\"broken " + kHostile + "\n";
    folder_.write("Acme/results/b a:d,%é/bert/result_0.txt", text);
    folder_.write("Acme/results/none/bert/result_0.txt", "no log\n");
    BertLog other = BertLog::passing();
    write_run("other", 0, other.set("submission_benchmark", "\"rgat\""));
    folder_.write("Acme/systems/good.json", R"({"division": "clos)"
                                            "\xfe"
                                            R"(ed"})");
  }
  // Runs `strata check log` in the folder of the logs.
  ProcessResult check(const std::string& words) {
    return run(
        {"sh", "-c",
         "cd '" + path() + "' && exec " + testing_support::strata_program() + " check " + words},
        {}, std::chrono::seconds(60));
  }
};

constexpr char kLogs[] = "log Acme --ruleset 5.0 --rules built-in ";

TEST_F(Formats, SarifFollowsTheStandard) {
  ASSERT_EQ(check(std::string(kLogs) + "--sarif out.sarif").exit_code, 1);
  const auto read =
      run_command("/usr/bin/python3 " STRATA_SOURCE_DIR "/tests/support/sarif_check.py '" +
                  path("out.sarif") + "'");
  EXPECT_EQ(read.status, 0) << read.output;
  const json run = json::parse(read_file(path("out.sarif"))).at("runs")[0];
  std::set<std::string> rules, places;
  for (const json& result : run.at("results")) {
    rules.insert(result.at("ruleId"));
    const json& place = result.at("locations")[0].at("physicalLocation");
    places.insert(place.at("artifactLocation").at("uri"));
    if (result.at("ruleId") == "log/bad-lines") {
      EXPECT_GT(place.at("region").at("startLine"), 10);
      EXPECT_EQ(result.at("level"), "error");
    }
  }
  EXPECT_TRUE(rules.contains("shared/timeline/run_stop/REQ")) << json(rules);
  EXPECT_TRUE(rules.contains("log/no-events")) << json(rules);
  // A file without events has no further findings; a log that passes has no result.
  EXPECT_EQ(places, (std::set<std::string>{"Acme/results/b%20a%3Ad%2C%25%C3%A9/bert/result_0.txt",
                                           "Acme/results/none/bert/result_0.txt"}));
}

TEST_F(Formats, ARuleHasTheSameIdInEveryLogAndIsNamedInJson) {
  BertLog broken = BertLog::passing();
  write_run("good", 1, broken.without("run_stop"));
  const json logs = json::parse(check(std::string(kLogs) + "--json").out).at("logs");
  int found = 0;
  for (const json& log : logs) {
    for (const json& error : log.at("errors")) {
      EXPECT_NE(error.at("id"), "") << error;
      found += error.at("id") == "shared/timeline/run_stop/REQ" && error.at("key") == "run_stop";
    }
  }
  EXPECT_EQ(found, 3);  // files that are no log count, too
}

TEST_F(Formats, JunitIsReadByAnotherParser) {
  ASSERT_EQ(check(std::string(kLogs) + "--junit out.xml").exit_code, 1);
  const auto read = run_command(
      "/usr/bin/python3 -c \"import xml.etree.ElementTree as E, sys, json\n"
      "r = E.parse('" +
      path("out.xml") +
      "').getroot()\n"
      "print(json.dumps({'counts': [r.get(k) for k in ('tests', 'failures', 'skipped')],\n"
      "  'tags': sorted({e.tag for e in r.iter()}),\n"
      "  'failures': {c.get('file'): c.find('failure').text for c in r.iter('testcase')\n"
      "               if c.find('failure') is not None}}))\"");
  ASSERT_EQ(read.status, 0) << read.output;
  const json parsed = json::parse(read.output);
  EXPECT_EQ(parsed.at("counts"), json({"4", "2", "1"}));
  EXPECT_EQ(parsed.at("tags"), json({"failure", "skipped", "testcase", "testsuite", "testsuites"}));
  const std::string text = parsed.at("failures").at("Acme/results/b a:d,%\u00e9/bert/result_0.txt");
  EXPECT_THAT(text, HasSubstr("]]><!-- &amp; </failure>"));
}

// Parses a line like GitHub's runner: actions/runner, src/Runner.Common/ActionCommand.cs.
struct Command {
  std::string name, message;
  std::map<std::string, std::string> properties;
};

std::string unescaped(std::string text, const std::vector<std::pair<std::string, char>>& marks) {
  for (const auto& [mark, c] : marks) {
    for (size_t at = 0; (at = text.find(mark, at)) != text.npos; ++at)
      text.replace(at, mark.size(), 1, c);
  }
  return text;
}

std::optional<Command> parse_command(std::string line) {
  line.erase(0, std::min(line.find_first_not_of(" \t\r\f\v"), line.size()));
  if (!line.starts_with("::")) return std::nullopt;
  const size_t end = line.find("::", 2);
  if (end == line.npos) return std::nullopt;
  Command command;
  std::string head = line.substr(2, end - 2);
  command.name = head.substr(0, head.find(' '));
  command.message = unescaped(line.substr(end + 2), {{"%0D", '\r'}, {"%0A", '\n'}, {"%25", '%'}});
  std::istringstream properties(head.find(' ') == head.npos ? "" : head.substr(head.find(' ') + 1));
  for (std::string property; std::getline(properties, property, ',');) {
    const size_t equals = property.find('=');
    command.properties[property.substr(0, equals)] =
        unescaped(property.substr(equals + 1),
                  {{"%0D", '\r'}, {"%0A", '\n'}, {"%3A", ':'}, {"%2C", ','}, {"%25", '%'}});
  }
  return command;
}

TEST_F(Formats, TextOfALogCannotBecomeAWorkflowCommand) {
  folder_.write("Acme/results/good/bert/notes.txt", "");
  for (const std::string& words : {std::string(kLogs), std::string("package Acme --ruleset 5.0 "),
                                   std::string("round . --ruleset 5.0 ")}) {
    const ProcessResult printed = check(words + "--github");
    EXPECT_EQ(printed.exit_code, 1) << printed.err;
    std::istringstream lines(printed.out);
    int commands = 0, plain = 0;
    bool found = false;
    for (std::string line; std::getline(lines, line);) {
      const auto command = parse_command(line);
      EXPECT_EQ(line.find('\r'), line.npos) << line;
      if (!command) {
        ++plain;
        EXPECT_EQ(line.find_first_not_of("0123456789 ,abcdefghijklmnopqrstuvwxyz"), line.npos)
            << line;
        continue;
      }
      ++commands;
      EXPECT_TRUE(command->name == "error" || command->name == "warning" ||
                  command->name == "notice")
          << line;
      const std::set<std::string> allowed = {"file", "line", "title"};
      for (const auto& [name, value] : command->properties)
        EXPECT_TRUE(allowed.contains(name)) << line;
      if (command->properties.at("title") == "log/bad-lines") {
        found = true;
        EXPECT_EQ(command->properties.at("file"), "Acme/results/b a:d,%é/bert/result_0.txt");
        EXPECT_GT(std::stoi(command->properties.at("line")), 10);
        EXPECT_THAT(command->message, HasSubstr("%0A::error::x ##[error]y")) << line;
      }
    }
    EXPECT_GT(commands, 2) << words;
    EXPECT_EQ(plain, 1) << printed.out;
    EXPECT_TRUE(found) << words;
  }
}

// A package may lack a run, so the run's findings are no errors of the package.
TEST_F(Formats, AFailedRunThatAPackageMayLackIsAWarning) {
  for (int i = 0; i < 10; ++i) {
    BertLog log = BertLog::passing("open");
    if (i == 3) log.without("run_stop");
    folder_.write("Bolt/results/fast/bert/result_" + std::to_string(i) + ".txt", log.text());
  }
  folder_.write("Bolt/systems/fast.json", R"({"division": "open"})");
  const ProcessResult printed = check("package Bolt --ruleset 5.0 --github");
  EXPECT_THAT(printed.out, HasSubstr("::warning file=Bolt/results/fast/bert/result_3.txt,"));
  EXPECT_THAT(printed.out, Not(HasSubstr("::error file=Bolt/results")));
  EXPECT_THAT(printed.out, HasSubstr("::error file=Bolt/systems/fast.json,"));
}

TEST_F(Formats, JsonAndGithubExcludeEachOther) {
  EXPECT_EQ(check(std::string(kLogs) + "--json --github").exit_code, 2);
}

}  // namespace
}  // namespace strata::cli
