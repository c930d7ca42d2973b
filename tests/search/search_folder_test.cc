#include "search/search_folder.h"

#include "base/files/files.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace strata::search {
namespace {

using testing_support::error_of;

class SearchFolderTest : public testing_support::TemporaryDirectory {
 protected:
  SearchFolderTest() {
    write_file_atomically(directory_ / "run.yaml",
                          "model:\n  config: tiny\ndata:\n  train: t.hdf5\n  eval: e.hdf5\n");
    plan_.config = directory_ / "run.yaml";
    plan_.trials = 2;
    plan_.rungs = {10};
    plan_.space = {
        {.key = "optimizer.lr", .distribution = Distribution::kUniform, .low = 0.1, .high = 0.2}};
  }

  const std::filesystem::path folder_ = directory_ / "search";
  SearchPlan plan_;
};

TEST_F(SearchFolderTest, GoesOnWithTheSamePlanAlone) {
  { SearchFolder folder(folder_, plan_); }
  { SearchFolder folder(folder_, plan_); }
  SearchPlan other = plan_;
  other.rungs = {20};
  other.space[0].high = 0.3;
  const std::string message = error_of([&] { SearchFolder folder(folder_, other); });
  EXPECT_THAT(message, HasSubstr("Differences: rungs.samples; space"));
}

TEST_F(SearchFolderTest, AnotherConfigurationIsRefusedByKey) {
  { SearchFolder folder(folder_, plan_); }
  plan_.fixed = {{"optimizer.beta1", "0.5"}};
  const std::string message = error_of([&] { SearchFolder folder(folder_, plan_); });
  EXPECT_THAT(message, HasSubstr("optimizer.beta1: 0.9, now 0.5"));
}

TEST_F(SearchFolderTest, IsForOneSearchAtATime) {
  SearchFolder folder(folder_, plan_);
  error_of([&] { SearchFolder second(folder_, plan_); });
}

TEST_F(SearchFolderTest, OtherFilesAreNotReplacedAndLeftoversAreRemoved) {
  write_file_atomically(folder_ / "base.yaml", "mine: 1\n");
  write_file_atomically(folder_ / "plan.json.tmp.999999999.0", "half");
  const std::string message = error_of([&] { SearchFolder folder(folder_, plan_); });
  EXPECT_THAT(message, HasSubstr("base.yaml: exists already"));
  EXPECT_EQ(read_file(folder_ / "base.yaml"), "mine: 1\n");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "plan.json.tmp.999999999.0"));
}

TEST_F(SearchFolderTest, RunsWithoutAPlanAreNotTakenOver) {
  {
    SearchFolder folder(folder_, plan_);
    folder.log().add({{1, 0, 1}, {}, {Ending::kMissed, 0.1, 1, 1}});
  }
  std::filesystem::remove(folder_ / "plan.json");
  const std::string message = error_of([&] { SearchFolder folder(folder_, plan_); });
  EXPECT_THAT(message, HasSubstr("has runs of a search, but no plan.json"));
}

TEST_F(SearchFolderTest, RunsOfAnotherSearchAreRefused) {
  const RunResult missed{Ending::kMissed, 0.1, 1, 1};
  const std::string drawn = settings_of(plan_, 1).at(0).value;
  {
    SearchFolder folder(folder_, plan_);
    folder.log().add({{1, 0, 1}, settings_of(plan_, 1), missed});
    folder.log().add({{0, kFinals, 2}, {}, missed});
  }
  { SearchFolder folder(folder_, plan_); }  // the folder of the same search
  const std::string own = read_file(folder_ / "trials.jsonl");
  const auto refused = [&](const FinishedRun& foreign) {
    write_file_atomically(folder_ / "trials.jsonl", own + to_json_line(foreign) + "\n");
    return error_of([&] { SearchFolder folder(folder_, plan_); });
  };
  const std::string log = (folder_ / "trials.jsonl").string();
  EXPECT_EQ(refused({{1, 0, 1}, {{"optimizer.lr", "0.5"}}, missed}),
            log +
                ": rung 0, trial 1: its settings (optimizer.lr=0.5) differ from those of the plan "
                "(optimizer.lr=" +
                drawn + "); remove the line, or name another folder");
  EXPECT_EQ(refused({{3, 0, 1}, {}, missed}),
            log +
                ": rung 0, trial 3: the plan has no such trial; remove the line, or name another "
                "folder");
}

TEST_F(SearchFolderTest, TheWinnerIsAConfigurationWithItsOrigin) {
  SearchFolder folder(folder_, plan_);
  folder.write_winner({{"optimizer.lr", "0.125"}}, "one\ntwo");
  const auto winner = config::load_run_config(folder.winner());
  EXPECT_EQ(config::differences(configuration_of(plan_), winner),
            (std::vector<std::string>{"optimizer.lr: 0.0005, now 0.125"}));
  EXPECT_EQ(read_file(folder.winner()).substr(0, 12), "# one\n# two\n");
}

TEST_F(SearchFolderTest, ReadsItsPlanBack) {
  plan_.objective = Objective::kSeconds;
  { SearchFolder folder(folder_, plan_); }
  const SearchPlan plan = read_plan(folder_);
  EXPECT_EQ(plan.objective, Objective::kSeconds);
  EXPECT_EQ(plan.trials, 2);
  EXPECT_EQ(plan.rungs, (std::vector<int64_t>{10}));
  error_of([&] { read_plan(directory_ / "nowhere"); });
}

}  // namespace
}  // namespace strata::search
