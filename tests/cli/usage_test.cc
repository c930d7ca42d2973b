// Tests how the program describes itself, and how its options are given.

#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "tests/cli/tools.h"
#include "tests/support/built_files.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

class Usage : public Tools {
 protected:
  static std::string error_of(const std::vector<std::string>& words) {
    const ProcessResult refused = strata(words);
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_EQ(refused.out, "");
    return refused.err;
  }
};

TEST_F(Usage, AnErrorNamesTheCommandAndItsUsage) {
  EXPECT_EQ(error_of({"check", "log"}),
            "strata check log: FILE is required\nUsage: strata check log [OPTIONS] FILE...\n"
            "Run 'strata check log --help' for more.\n");
  EXPECT_EQ(error_of({"score", "x", "--nope"}),
            "strata score: The following argument was not expected: --nope\n"
            "Usage: strata score [OPTIONS] DIR...\nRun 'strata score --help' for more.\n");
  EXPECT_EQ(error_of({}).substr(0, 7), "strata:");
}

TEST_F(Usage, TheVersionNamesCommitBuildMachineAndLibraries) {
  const ProcessResult version = strata({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  const std::regex form(
      R"(strata \d+\.\d+\.\d+\ncommit ([0-9a-f]{12}\+?|unknown), build type \w+, .*\n)"
      R"(compiler \S+ .*\nthis machine .+\nlibraries Boost \d+\.\d+\.\d+, CLI11 \d.*, fmt \d.*\n)");
  EXPECT_TRUE(std::regex_match(version.out, form)) << version.out;
  // Expects exactly the flags that the processor reports.
  std::string flags;
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("flags") || line.starts_with("Features")) flags = line + " ";
  for (const char* set : {"avx2", "avx512f", "amx_tile", "sve"}) {
    EXPECT_EQ(version.out.find(" " + std::string(set)) != std::string::npos,
              flags.find(" " + std::string(set) + " ") != std::string::npos)
        << set << " in " << version.out;
  }
}

TEST_F(Usage, TheNameOfTheProcessThatReadsHdf5IsNoCommand) {
  const ProcessResult result = strata({"strata-hdf5"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("strata-hdf5"));
}

TEST_F(Usage, ARulesetOfTwoNumbersIsTheSameAsOfThree) {
  const std::string acme = path("Acme");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"check", "log", acme, "--json", "--ruleset"},
                                             {"check", "package", acme, "--json", "--ruleset"},
                                             {"check", "rcp", acme, "--json", "--ruleset"},
                                             {"score", acme, "--json", "--ruleset"},
                                             {"compare", acme, acme, "--json", "--ruleset"}}) {
    folder_.write("Acme/systems/good.json", R"({"division": "closed"})");
    std::vector<std::string> two = words, three = words, other = words;
    two.push_back("2.0");
    three.push_back("2.0.0");
    other.push_back("5.0");
    const ProcessResult a = strata(two), b = strata(three);
    EXPECT_EQ(a.out, b.out) << words[0];
    EXPECT_EQ(a.exit_code, b.exit_code);
    EXPECT_LE(a.exit_code, 1) << a.err;
    if (words[0] == "score") {
      EXPECT_NE(a.out, strata(other).out);
    }
  }
  EXPECT_THAT(error_of({"score", acme, "--ruleset", "5"}), HasSubstr("no round '5' "));
  EXPECT_THAT(error_of({"score", acme, "--ruleset", "5.0.0.0"}), HasSubstr("no round '5.0.0.0' "));
}

TEST_F(Usage, ScoresOfSeveralFoldersAreOneTable) {
  write_run("other", 0, BertLog::passing());
  BertLog image = BertLog::passing();
  folder_.write("Bolt/results/fast/resnet/result_0.txt",
                image.set("submission_benchmark", "\"resnet\"").text());
  const std::string good = path("Acme/results/good"), other = path("Acme/results/other");
  const auto rows = [](const std::string& csv) { return std::count(csv.begin(), csv.end(), '\n'); };
  const auto csv_of = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "score");
    words.insert(words.end(), {"--csv", path("csv")});
    EXPECT_EQ(strata(words).exit_code, 0);
    return read_file(path("csv"));
  };
  const std::string both = csv_of({good, other});
  EXPECT_EQ(rows(both), 3) << both;
  EXPECT_LT(both.find(",good,"), both.find(",other,")) << both;
  // A folder in two of the directories counts once.
  EXPECT_EQ(csv_of({good, other, path("Acme"), path("Acme") + "/../Acme"}), both);
  EXPECT_EQ(rows(csv_of({path("Acme"), path("Bolt")})), 4);
  EXPECT_EQ(csv_of({path("Acme"), path("Bolt"), "--benchmark", "bert"}), both);
  EXPECT_THAT(csv_of({path(), "--benchmark", "resnet"}), HasSubstr("Bolt,fast,resnet"));
  EXPECT_THAT(error_of({"score", path(), "--benchmark", "ssd"}), HasSubstr("'ssd'"));
}

TEST_F(Usage, AFolderWithoutScoresDoesNotStopTheOthers) {
  const ProcessResult result = strata({"score", path("absent"), path("Acme"), "--json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, HasSubstr("\"system\": \"good\""));
  EXPECT_THAT(result.err, HasSubstr("absent"));
}

// There are no colours, and only terminals get cursor movements.
TEST_F(Usage, OnlyTerminalsGetEscapeSequences) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"score", path("Acme")}, {"check", "log", path("Acme")}, {"check", "log"}, {"--help"}}) {
    for (const char* no_color : {"", "1"}) {
      std::vector<std::string> command = words;
      command.insert(command.begin(), testing_support::strata_program());
      const ProcessResult result =
          run(command, {{{"NO_COLOR", no_color}, {"TERM", "xterm-256color"}}, {}});
      EXPECT_THAT(result.out + result.err, Not(HasSubstr("\033")));
    }
  }
}

}  // namespace
}  // namespace strata::cli
