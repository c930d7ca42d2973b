#include "compliance/package/submission_tree.h"

#include "compliance/checks/rounds.h"
#include "tests/compliance/package/small_package.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

TEST(SubmissionTree, UsageAndRoundAreInferredFromBenchmarksAndPaths) {
  struct Case {
    const char *path, *benchmark, *ruleset, *choice;
  };
  for (const Case& one :
       {Case{"A/results/s/strong/openfold", "openfold", "3.0.0", "hpc 3.0.0"},
        Case{"A/results/s/strong/x", "cosmoflow", "3.0.0", "hpc 3.0.0"},
        Case{"v2.0", "deepcam", "", "hpc 2.0.0"}, Case{"v2.0", "bert", "", "training 2.0.0"},
        Case{"A", "bert", "3.0.0", "training 3.0.0"},
        Case{"A", "unheard of", "3.0.0", "training 3.0.0"},
        Case{"hpc_results_v1.0", "unheard of", "", "hpc 1.0.0"}}) {
    const TemporaryFolder folder;
    BertLog log = BertLog::passing();
    log.set("submission_benchmark", '"' + std::string(one.benchmark) + '"');
    folder.write(std::string(one.path) + "/result_0.txt", log.text());
    const auto choice = infer_ruleset_of_tree(folder.path() / fs::path(one.path).begin()->string(),
                                              "", one.ruleset);
    EXPECT_EQ(choice.usage + ' ' + choice.ruleset, one.choice)
        << one.benchmark << " in " << one.path;
  }
}

TEST(SubmissionTree, PrunedResultsAreNoResults) {
  const TemporaryFolder folder;
  for (const char* path : {"A/results/s/weak/deepcam/", "A/results/s/weak/deepcam/pruned_results/"})
    folder.write(std::string(path) + "result_0.txt", BertLog::passing().text());
  const auto folders = find_result_folders(folder.path());
  ASSERT_EQ(folders.size(), 1u);
  EXPECT_EQ(folders[0].place(), "s/weak/deepcam");
  // A folder of pruned results is used if it is named itself.
  EXPECT_EQ(find_result_folders(folder.path() / "A/results/s/weak/deepcam/pruned_results").size(),
            1u);
}

}  // namespace
}  // namespace strata::compliance
