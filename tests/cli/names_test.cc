// Gives every tool names that steer terminals, forge lines and commands, or are not UTF-8: names of
// folders, and texts in descriptions and logs.

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "base/text/characters.h"
#include "tests/cli/tools.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"

namespace strata::cli {
namespace {

using nlohmann::json;

// A title, a cleared screen, forged lines, a mark of direction, an eight-bit control character.
const std::string kControls =
    "=x\x1b]0;pwn\x07\x1b[2J\n::error::pwn\npassed pwn\xe2\x80\xae"
    "abc\xc2\x9b"
    "2J\xe2\x80\xa8<script>";
// The same as a file name; the last byte is not UTF-8.
const std::string kName = kControls + "\xff";

std::string quoted(const std::string& text) { return json(text).dump(-1, ' ', true); }

class Names : public Tools {
 protected:
  Names() {
    for (int i = 0; i < 10; ++i) {
      BertLog log = BertLog::passing();
      for (auto& event : log.events) event.time_ms += 60'000 * i;
      for (const char* key : {"submission_org", "submission_platform", "submission_status"})
        log.set(key, quoted(kControls));
      log.at("run_stop").metadata += ", \"status_text\": " + quoted(kControls);
      log.append({kEscapedKey, quoted(kControls), "", 0});
      folder_.write("round/" + kName + "/results/" + kName + "/bert/" + run_name(i), log.text());
    }
    json description;
    for (const char* field :
         {"submitter", "status", "system_name", "number_of_nodes", "host_processor_model_name",
          "accelerator_model_name", "accelerators_per_node", "framework", "sw_notes", "hw_notes"}) {
      description[field] = kControls;
    }
    description["division"] = "open";
    folder_.write("round/" + kName + "/systems/" + kName + ".json", description.dump());
    folder_.write("round/" + kName + "/" + kName + ".txt", "x");
  }
  std::string round() const { return path("round"); }
  std::string submission() const { return path("round/" + kName); }
  std::string results() const { return submission() + "/results/" + kName + "/bert"; }

  static constexpr char kEscapedKey[] = R"(=k\u001b[2J\n::error::pwn)";
};

// Expects that a terminal, or a CI service, only displays the text.
void expect_harmless(const std::string& text, const std::string& what, bool commands = false) {
  EXPECT_TRUE(is_utf8(text)) << what;
  std::string found;
  for (size_t at = 0; at < text.size();) {
    bool valid = false;
    const char32_t c = next_character(text, at, valid);
    if (is_control(c) && c != '\n' && c != '\t') found += std::to_string(c) + ' ';
  }
  EXPECT_EQ(found, "") << what << ": control characters\n" << text.substr(0, 2000);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string shown = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    const bool own =
        commands && (shown.starts_with("::error file=") || shown.starts_with("::warning file=") ||
                     shown.starts_with("::notice file="));
    EXPECT_FALSE(!own && shown.starts_with("::")) << what << ": " << line;
    EXPECT_FALSE(shown.starts_with("passed pwn")) << what << ": " << line;
  }
}

TEST_F(Names, CannotSteerATerminalOrForgeALine) {
  const std::vector<std::vector<std::string>> commands = {
      {"check", "log", round(), "--ruleset", "5.0"},
      {"check", "log", round(), "--ruleset", "5.0", "--quiet"},
      {"check", "log", round(), "--ruleset", "5.0", "--github"},
      {"check", "log", results() + "/none\n::error::x", "--ruleset", "5.0"},
      {"check", "package", submission(), "--ruleset", "5.0"},
      {"check", "package", submission(), "--ruleset", "5.0", "--github"},
      {"check", "round", round(), "--ruleset", "5.0"},
      {"check", "rcp", submission(), "--ruleset", "5.0"},
      {"check", "seeds", submission()},
      {"check", "power", submission()},
      {"check", "repo", submission()},
      {"check", "system", submission() + "/systems/" + kName + ".json", "--ruleset", "5.0"},
      {"score", round(), "--ruleset", "5.0"},
      {"package", "preview", submission(), "--ruleset", "5.0"},
      {"package", "merge", submission(), "-o", path("merged")},
      {"compare", results(), results()},
      {"compare", results(), results(), "--markdown"},
      {"export", "tensorboard", round(), "-o", path("events")},
      {"plot", "scores", round(), "-o", path("scores.svg")},
      {"plot", "curves", round(), "-o", path("\x1b[2J\n::error::x.svg")},
      {"report", round(), "-o", path("\x1b[2J.html")},
      {"rules", "diff", kName, "5.0"}};
  for (const auto& words : commands) {
    const ProcessResult result = strata(words);
    const std::string what = words[0] + ' ' + words[1].substr(0, 9);
    const bool github = std::ranges::find(words, "--github") != words.end();
    EXPECT_LE(result.exit_code, 2) << what << result.err;
    expect_harmless(result.out, what + " out", github);
    expect_harmless(result.err, what + " err");
  }
}

TEST_F(Names, AreValidInEveryFormat) {
  const auto python = [&](const std::string& code, const std::string& file) {
    const auto read =
        testing_support::run_command("/usr/bin/python3 -I -c '" + code + "' '" + path(file) + "'");
    EXPECT_EQ(read.status, 0) << file << ": " << read.output;
  };
  const std::string xml = "import sys, xml.dom.minidom as d; d.parse(sys.argv[1])";
  ASSERT_LE(
      strata({"check", "package", submission(), "--ruleset", "5.0", "--junit", path("junit.xml"),
              "--sarif", path("sarif.json"), "--log-output", path("text.txt")})
          .exit_code,
      1);
  python(xml, "junit.xml");
  EXPECT_TRUE(json::accept(read_file(path("sarif.json"))));
  expect_harmless(read_file(path("text.txt")), "--log-output");
  expect_harmless(read_file(path("junit.xml")), "junit");
  const ProcessResult drawn = strata({"plot", "scores", round(), "-o", path("scores.svg")});
  if (drawn.exit_code == 0) python(xml, "scores.svg");
  ASSERT_EQ(strata({"report", round(), "-o", path("report.html")}).exit_code, 0);
  EXPECT_TRUE(is_utf8(read_file(path("report.html"))));
}

TEST_F(Names, CannotBreakJson) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"check", "log", round(), "--ruleset", "5.0", "--json"},
           {"check", "package", submission(), "--ruleset", "5.0", "--json"},
           {"check", "round", round(), "--ruleset", "5.0", "--json"},
           {"check", "rcp", submission(), "--ruleset", "5.0", "--json"},
           {"check", "seeds", submission(), "--json"},
           {"check", "repo", submission(), "--json"},
           {"score", round(), "--ruleset", "5.0", "--json"},
           {"package", "preview", submission(), "--ruleset", "5.0", "--json"},
           {"package", "merge", submission(), "-o", path("merged"), "--json"},
           {"plot", "curves", round(), "--json"}}) {
    const ProcessResult result = strata(words);
    EXPECT_TRUE(json::accept(result.out))
        << words[0] << ' ' << words[1] << ": " << result.err << result.out.substr(0, 500);
    EXPECT_THAT(result.err, Not(HasSubstr("unexpected")));
  }
}

// Spreadsheets must not take a cell for a formula.
TEST_F(Names, AreNotFormulasInSpreadsheets) {
  const auto first_cells = [&](const std::string& file) {
    const auto read = testing_support::run_command(
        "/usr/bin/python3 -I -c 'import csv, sys\n"
        "for row in csv.reader(open(sys.argv[1], encoding=\"utf-8\", newline=\"\")):\n"
        "  for cell in row:\n"
        "    if cell[:1] in (\"=\", \"@\", \"\\t\"): print(repr(cell))' '" +
        path(file) + "'");
    EXPECT_EQ(read.status, 0) << read.output;
    return read.output;
  };
  ASSERT_LE(strata({"score", round(), "--ruleset", "5.0", "--csv", path("scores.csv")}).exit_code,
            1);
  EXPECT_EQ(first_cells("scores.csv"), "");
  ASSERT_EQ(strata({"export", "csv", round(), "-o", path("events.csv")}).exit_code, 0);
  EXPECT_EQ(first_cells("events.csv"), "");
  ASSERT_LE(strata({"compare", results(), results(), "--csv", path("compare.csv")}).exit_code, 1);
  EXPECT_EQ(first_cells("compare.csv"), "");
}

}  // namespace
}  // namespace strata::cli
