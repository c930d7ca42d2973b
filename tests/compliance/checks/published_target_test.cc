#include "compliance/checks/published_target.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "base/files/files.h"
#include "compliance/checks/rounds.h"
#include "tests/support/oracle.h"

namespace strata::compliance {
namespace {

TEST(PublishedTarget, DependsOnBenchmarkAndRound) {
  EXPECT_EQ(published_target("bert", "1.1.0"), 0.720);
  EXPECT_EQ(published_target("bert"), 0.720);
  EXPECT_EQ(published_target("bert", "0.7.0"), std::nullopt);
  EXPECT_EQ(published_target("ssd", "1.1.0"), 0.23);
  EXPECT_EQ(published_target("ssd", "2.0.0"), 0.34);
  EXPECT_EQ(published_target("ssd"), std::nullopt);
  EXPECT_EQ(published_target("maskrcnn", "1.1.0"), std::nullopt);
  EXPECT_EQ(published_target("", ""), std::nullopt);
}

// Returns the first number that an accuracy is compared with, if all runs have the same.
std::optional<double> official_target(const std::string& rule_file) {
  static const std::regex kTarget(R"(ATLEAST_ONE_CHECK: " *\(?v\['value'\] [<>]= ([0-9.]+))"),
      kByBatch("ATLEAST_ONE_CHECK:.* if ");
  std::smatch match;
  if (std::regex_search(rule_file, kByBatch)) return std::nullopt;
  if (!std::regex_search(rule_file, match, kTarget)) return std::nullopt;
  return std::stod(match[1]);
}

TEST(PublishedTarget, MatchesTheOfficialRules) {
  if (!testing_support::oracle_python()) GTEST_SKIP() << testing_support::kNoOracle;
  std::string rules =
      testing_support::run_command(std::string(testing_support::oracle_python()) +
                                   " -c \"import mlperf_logging.compliance_checker as c; "
                                   "print(list(c.__path__)[0], end='')\"")
          .output;
  size_t compared = 0;
  for (const std::string_view round : known_rulesets("training")) {
    if (round == "0.6.0") continue;
    for (const std::string_view benchmark : round_benchmarks("training", round)) {
      const std::filesystem::path file =
          rules + "/training_" + std::string(round) + "/closed_" + std::string(benchmark) + ".yaml";
      if (!std::filesystem::exists(file)) continue;
      EXPECT_EQ(published_target(benchmark, round), official_target(read_file(file))) << file;
      ++compared;
    }
  }
  EXPECT_GT(compared, 60u) << rules;
}

}  // namespace
}  // namespace strata::compliance
