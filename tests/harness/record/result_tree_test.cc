#include "harness/record/result_tree.h"

#include "base/error.h"
#include "base/files/files.h"
#include "harness/record/experiment_log.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace strata::harness {
namespace {

class ResultTreeTest : public testing_support::TemporaryDirectory {
 protected:
  std::string error_of_preparing(const ResultTree& tree) {
    return testing_support::error_of([&] { prepare_result_tree(tree); });
  }
};

TEST_F(ResultTreeTest, IsLaidOutAsMlperfAsks) {
  const ResultTree tree{"out", "Org", "box"};
  EXPECT_EQ(tree.log(3), "out/Org/results/box/bert/result_3.txt");
  EXPECT_EQ(tree.config(3), "out/Org/results/box/bert/result_3.yaml");
  EXPECT_EQ(tree.system_description(), "out/Org/systems/box.json");
}

TEST_F(ResultTreeTest, PreparingMakesEmptyDirectories) {
  const ResultTree tree{directory_ / "deep" / "er", "Org", "box"};
  prepare_result_tree(tree);
  EXPECT_TRUE(std::filesystem::is_empty(tree.results()));
  EXPECT_TRUE(std::filesystem::is_empty(tree.system_description().parent_path()));
}

TEST_F(ResultTreeTest, ExistingResultsAreNotReplaced) {
  const ResultTree tree{directory_, "Org", "box"};
  write_file_atomically(tree.log(1), "kept");
  EXPECT_TRUE(find_results(tree, 1).empty());
  EXPECT_EQ(testing_support::error_of([&] { find_results(tree, 2); }),
            tree.log(1).string() +
                ": exists already; move it away, choose another run.output, or give --continue or "
                "--resume to keep existing results");
  EXPECT_EQ(read_file(tree.log(1)), "kept");
}

TEST_F(ResultTreeTest, ResultsThatAreThereMayBeKept) {
  const ResultTree tree{directory_, "Org", "box"};
  prepare_result_tree(tree);
  EXPECT_TRUE(find_results(tree, 3).empty());
  {
    ExperimentLog log(tree.log(1));
    log.run_start();
    log.run_stop(true, 64);
  }
  {
    ExperimentLog interrupted(tree.log(2));
    interrupted.run_start();
  }
  const FoundResults found = find_results(tree, 3, ExistingResults::kKeep);
  ASSERT_EQ(found.results.size(), 1u);
  EXPECT_EQ(found.results[0].experiment, 1);
  EXPECT_EQ(found.results[0].log, tree.log(1));
  EXPECT_TRUE(found.results[0].reached_target);
  EXPECT_EQ(found.interrupted, std::vector<int>{2});
  EXPECT_TRUE(find_results(tree, 1, ExistingResults::kKeep).empty());
}

TEST_F(ResultTreeTest, AnInterruptedExperimentIsArchivedUnderANameOfItsOwn) {
  const ResultTree tree{directory_, "Org", "box"};
  for (const std::string number : {"1", "2", "3"}) {
    write_file_atomically(tree.log(0), "log " + number);
    if (number != "2") write_file_atomically(tree.step_trace(0), "trace " + number);
    const auto archived = archive(tree, 0);
    EXPECT_EQ(archived, tree.results() / ("result_0.txt.interrupted." + number));
    EXPECT_EQ(read_file(archived), "log " + number);
    EXPECT_FALSE(std::filesystem::exists(tree.log(0)));
    EXPECT_FALSE(std::filesystem::exists(tree.step_trace(0)));
  }
  EXPECT_EQ(read_file(tree.results() / "result_0.steps.jsonl.interrupted.3"), "trace 3");
}

TEST_F(ResultTreeTest, AnOutputThatCannotBeMadeIsNamed) {
  write_file_atomically(directory_ / "file", "x");
  const std::string error = error_of_preparing({directory_ / "file", "Org", "box"});
  EXPECT_THAT(error, HasSubstr("file/Org/results/box/bert: cannot create this directory"));
  EXPECT_THAT(error, HasSubstr("choose another run.output"));
}

// Nobody, not even root, can make files in /proc.
TEST_F(ResultTreeTest, AnUnwritableOutputIsNamed) {
  const std::string error = error_of_preparing({"/proc", "Org", "box"});
  EXPECT_THAT(error, HasSubstr("/proc/Org/results/box/bert"));
}

}  // namespace
}  // namespace strata::harness
