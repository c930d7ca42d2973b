#include "harness/record/result_tree.h"

#include "base/error.h"
#include "base/files.h"
#include "harness/record/experiment_log.h"
#include "tests/support/temporary_directory.h"

namespace strata::harness {
namespace {

class ResultTreeTest : public testing_support::TemporaryDirectory {
 protected:
  std::string error_of_preparing(const ResultTree& tree, int experiments) {
    try {
      prepare_result_tree(tree, experiments);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
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
  prepare_result_tree(tree, 2);
  EXPECT_TRUE(std::filesystem::is_empty(tree.results()));
  EXPECT_TRUE(std::filesystem::is_empty(tree.system_description().parent_path()));
}

TEST_F(ResultTreeTest, AResultThatIsThereIsNotTrainedOver) {
  const ResultTree tree{directory_, "Org", "box"};
  write_file_atomically(tree.log(1), "kept");
  EXPECT_EQ(error_of_preparing(tree, 1), "");
  EXPECT_EQ(error_of_preparing(tree, 2),
            tree.log(1).string() +
                ": exists already; move it away, choose another run.output, or have the results "
                "that are there kept with --continue");
  EXPECT_EQ(read_file(tree.log(1)), "kept");
}

TEST_F(ResultTreeTest, ResultsThatAreThereMayBeKept) {
  const ResultTree tree{directory_, "Org", "box"};
  EXPECT_TRUE(prepare_result_tree(tree, 3).empty());
  ExperimentLog log(tree.log(1));
  log.run_start();
  log.run_stop(true, 64);
  const auto kept = prepare_result_tree(tree, 3, ExistingResults::kKeep);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].experiment, 1);
  EXPECT_EQ(kept[0].log, tree.log(1));
  EXPECT_TRUE(kept[0].reached_target);
  EXPECT_TRUE(prepare_result_tree(tree, 1, ExistingResults::kKeep).empty());
}

TEST_F(ResultTreeTest, AnOutputThatCannotBeMadeIsNamed) {
  write_file_atomically(directory_ / "file", "x");
  const std::string error = error_of_preparing({directory_ / "file", "Org", "box"}, 1);
  EXPECT_NE(error.find("file/Org/results/box/bert: cannot make this directory"), std::string::npos)
      << error;
  EXPECT_NE(error.find("choose another run.output"), std::string::npos) << error;
}

// /proc lets nobody make files, not even root.
TEST_F(ResultTreeTest, AnUnwritableOutputIsNamed) {
  const std::string error = error_of_preparing({"/proc", "Org", "box"}, 1);
  EXPECT_NE(error.find("/proc/Org/results/box/bert"), std::string::npos) << error;
}

}  // namespace
}  // namespace strata::harness
