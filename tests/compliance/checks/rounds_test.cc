#include "compliance/checks/rounds.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "tests/compliance/published.h"

namespace strata::compliance {
namespace {

std::vector<std::vector<std::string>> golden_rows(const std::string& kind) {
  auto rows = testing::read_table(
      std::string(STRATA_SOURCE_DIR) + "/tests/golden/compliance/rounds.tsv", /*header=*/false);
  std::erase_if(rows, [&](const auto& row) { return row[0] != kind; });
  return rows;
}

// The official checker is the oracle: tests/golden/compliance/rounds.py.
TEST(Rounds, HaveTheBenchmarksOfTheOfficialChecker) {
  std::map<std::pair<std::string, std::string>, std::set<std::string_view>> expected;
  const auto rows = golden_rows("round");
  for (const auto& row : rows) expected[{row[1], row[2]}].insert(row[3]);
  size_t rounds = 0;
  for (const char* usage : {"training", "hpc"}) {
    for (const std::string_view ruleset : known_rulesets(usage)) {
      const auto& benchmarks = round_benchmarks(usage, ruleset);
      const std::set<std::string_view> found(benchmarks.begin(), benchmarks.end());
      EXPECT_EQ(found, (expected[{usage, std::string(ruleset)}])) << usage << " " << ruleset;
      ++rounds;
    }
  }
  EXPECT_EQ(rounds, expected.size());
  EXPECT_TRUE(round_benchmarks("training", "9.9.0").empty());
  EXPECT_TRUE(known_rulesets("inference").empty());
}

TEST(Rounds, NumbersOfResultsMatchTheOfficialChecker) {
  const auto rows = golden_rows("results");
  EXPECT_GT(rows.size(), 25u);
  for (const auto& row : rows)
    EXPECT_EQ(result_file_count(row[1], row[2]), std::stoi(row[3])) << row[1] << " " << row[2];
  EXPECT_EQ(result_file_count("training", "elsewhere"), 0);
  EXPECT_EQ(result_file_count("hpc", "bert"), 0);
}

TEST(Rounds, VersionsAreOrderedNumberByNumber) {
  const std::vector<const char*> rising = {"0.6.0", "0.7.0", "1.0.0", "1.0.2", "1.1",
                                           "2",     "2.0.1", "9.0.0", "10.0.0"};
  for (size_t i = 0; i < rising.size(); ++i) {
    for (size_t j = 0; j < rising.size(); ++j) {
      EXPECT_EQ(compare_versions(rising[i], rising[j]), i < j ? -1 : i > j)
          << rising[i] << " " << rising[j];
    }
  }
  EXPECT_EQ(compare_versions("2.0.0", "2"), 0);
  EXPECT_EQ(compare_versions("2", "2.0.0"), 0);
}

}  // namespace
}  // namespace strata::compliance
