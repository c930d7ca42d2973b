#include "report/runs/tree_state.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/compliance/bert_log.h"

namespace strata::report {
namespace {

TEST(TreeState, ChangesWithEveryFile) {
  const strata::testing::TemporaryFolder folder;
  const auto state = [&] { return state_of({folder.path()}); };
  const std::string empty = state();
  folder.write("a/result_0.txt", "one line\n");
  const std::string one = state();
  EXPECT_NE(one, empty);
  EXPECT_EQ(state(), one);
  std::ofstream(folder.path() / "a/result_0.txt", std::ios::app) << "another\n";
  const std::string longer = state();
  EXPECT_NE(longer, one);
  std::filesystem::remove(folder.path() / "a/result_0.txt");
  EXPECT_EQ(state(), empty);
}

TEST(TreeState, ChangesWithAFileThatIsNamed) {
  const strata::testing::TemporaryFolder folder;
  const auto state = [&] { return state_of({folder.path() / "plan.json"}); };
  const std::string none = state();
  folder.write("plan.json", "{}");
  const std::string one = state();
  EXPECT_NE(one, none);
  folder.write("plan.json", "{} ");
  EXPECT_NE(state(), one);
}

TEST(TreeState, AMissingPathDoesNotCount) {
  const strata::testing::TemporaryFolder folder;
  EXPECT_EQ(state_of({folder.path() / "not there"}), state_of({}));
}

}  // namespace
}  // namespace strata::report
