#include "compliance/package/power.h"

#include <set>

#include "tests/compliance/package/small_package.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

TEST(Power, EveryRunNeedsTheSameCompleteFiles) {
  const TemporaryFolder folder;
  std::vector<fs::path> logs;
  for (int i = 0; i < 3; ++i) {
    const std::string run = "result_" + std::to_string(i);
    logs.push_back(folder.path() / (run + ".txt"));
    for (const char* name : {"node_0.txt", "node_1.txt", "sw_0.txt"})
      folder.write("power/" + run + "/" + name, "");
  }
  EXPECT_TRUE(check_power(folder.path() / "power", logs).failed_runs.empty());
  EXPECT_TRUE(check_power(folder.path() / "power", logs).section.notes.empty());
  folder.write("power/result_1/node_5.txt", "");
  folder.write("power/result_2/sw_1.txt", "");
  EXPECT_EQ(check_power(folder.path() / "power", logs).failed_runs,
            (std::set<std::string>{"result_1", "result_2"}));
  EXPECT_TRUE(check_power(folder.path() / "power", logs).section.warnings.empty());
  folder.write("power/result_0/notes.txt", "");
  const PowerVerdict noted = check_power(folder.path() / "power", logs);
  ASSERT_EQ(noted.section.warnings.size(), 1u);
  EXPECT_TRUE(noted.section.warnings[0].starts_with("result_0: has files that are neither"));
  EXPECT_EQ(noted.failed_runs.count("result_0"), 0u);
  logs.push_back(folder.path() / "result_9.txt");
  EXPECT_EQ(check_power(folder.path() / "power", logs).failed_runs.count("result_9"), 1u);
}

TEST(Power, RunsWithoutWholePowerLogsCountAsFailed) {
  const TemporaryFolder folder;
  write_package(folder, "open");
  const auto node_of = [](int run) {
    return std::string(kResults) + "power/result_" + std::to_string(run) + "/node_0.txt";
  };
  for (int run = 0; run < 10; ++run) folder.write(node_of(run), "");
  EXPECT_TRUE(check(folder).passed()) << text_of(folder);
  fs::remove(folder.path() / node_of(3));
  EXPECT_TRUE(check(folder).passed()) << text_of(folder);
  EXPECT_THAT(text_of(folder), HasSubstr("result_3; accepted"));
  fs::remove_all((folder.path() / node_of(7)).parent_path());
  EXPECT_FALSE(check(folder).passed());
  EXPECT_THAT(text_of(folder), HasSubstr("result_3, result_7; at most 1 may"));
}

TEST(Power, WithoutAPowerLogNothingIsJudged) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "power/result_0");
  const auto verdict = check_power(folder.path() / "power", {folder.path() / "result_0.txt"});
  EXPECT_EQ(verdict.section.outcome(), Outcome::kNotJudged);
  EXPECT_TRUE(verdict.failed_runs.empty());
}

}  // namespace
}  // namespace strata::compliance
