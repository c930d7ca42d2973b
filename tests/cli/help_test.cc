#include "tests/cli/small_benchmark.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

class Help : public testing::TestWithParam<std::vector<std::string>> {};

std::vector<std::string> with(std::vector<std::string> command, const std::string& last) {
  command.insert(command.begin(), kStrata);
  command.push_back(last);
  return command;
}

INSTANTIATE_TEST_SUITE_P(
    Commands, Help,
    testing::Values(
        std::vector<std::string>{}, std::vector<std::string>{"train"},
        std::vector<std::string>{"eval"}, std::vector<std::string>{"data"},
        std::vector<std::string>{"data", "prepare"}, std::vector<std::string>{"data", "info"},
        std::vector<std::string>{"data", "show"}, std::vector<std::string>{"bench"},
        std::vector<std::string>{"bench", "step"}, std::vector<std::string>{"bench", "operations"},
        std::vector<std::string>{"bench", "machine"}, std::vector<std::string>{"bench", "balance"},
        std::vector<std::string>{"bench", "overlap"},
        std::vector<std::string>{"bench", "optimizer"},
        std::vector<std::string>{"bench", "layer_drop"},
        std::vector<std::string>{"bench", "schedule"}, std::vector<std::string>{"bench", "cost"},
        std::vector<std::string>{"check"}, std::vector<std::string>{"check", "log"},
        std::vector<std::string>{"score"}, std::vector<std::string>{"plot"},
        std::vector<std::string>{"plot", "curves"}, std::vector<std::string>{"plot", "scores"},
        std::vector<std::string>{"plot", "timeline"}, std::vector<std::string>{"plot", "plan"},
        std::vector<std::string>{"plan"}, std::vector<std::string>{"report"},
        std::vector<std::string>{"plot", "history"}, std::vector<std::string>{"plot", "search"},
        std::vector<std::string>{"search"}, std::vector<std::string>{"rules"},
        std::vector<std::string>{"rules", "list"}, std::vector<std::string>{"rules", "diff"},
        std::vector<std::string>{"rules", "install"}, std::vector<std::string>{"rcp", "diff"},
        std::vector<std::string>{"completion"}, std::vector<std::string>{"man"},
        std::vector<std::string>{"export", "tensorboard"}),
    [](const auto& test) {
      std::string name = "strata";
      for (const std::string& word : test.param) name += "_" + word;
      return name;
    });

TEST_P(Help, ExplainsEveryOption) {
  const ProcessResult help = run(with(GetParam(), "--help"));
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_THAT(help.out, HasSubstr("Usage: "));
  EXPECT_THAT(help.out, HasSubstr("--help"));
  EXPECT_GT(help.out.size(), 200u) << help.out;
}

TEST_P(Help, AnUnknownOptionIsRefusedByName) {
  const ProcessResult refused = run(with(GetParam(), "--no-such-option"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--"));
}

TEST(StrataHelp, NamesEveryCommand) {
  const std::string help = run({kStrata, "--help"}).out;
  for (const char* command :
       {"train", "eval", "data", "bench", "check", "plan", "score", "plot", "report"}) {
    EXPECT_THAT(help, HasSubstr(std::string("\n  ") + command));
  }
}

TEST(StrataHelp, AMissingCommandIsNamed) {
  const ProcessResult refused = run({kStrata});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("subcommand"));
}

TEST(StrataHelp, TrainWithoutAConfigurationSaysSo) {
  const ProcessResult refused = run({kStrata, "train"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--config"));
}

TEST(StrataHelp, DescribeConfigPrintsEveryKey) {
  const ProcessResult described = run({kStrata, "train", "--describe-config"});
  EXPECT_EQ(described.exit_code, 0);
  EXPECT_THAT(described.out, HasSubstr("`target.masked_lm_accuracy`"));
}

TEST(StrataHelp, VersionIsPrinted) {
  const ProcessResult version = run({kStrata, "--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, HasSubstr("."));
}

}  // namespace
}  // namespace strata::cli
