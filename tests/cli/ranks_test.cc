// Tests the ranks of one job: an error of one ends all, and ranks that cannot find each other are
// refused.
#include <chrono>
#include <filesystem>

#include "base/files/files.h"
#include "tests/cli/small_benchmark.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

class RanksOfAJob : public SmallBenchmark {
 protected:
  RanksOfAJob() {
    // The data have a larger vocabulary, so that their samples can be opened but not read.
    std::string words = read_file(path("vocab.txt")), text;
    for (char letter = 'a'; letter <= 'z'; ++letter) words += std::string(2, letter) + "\n";
    for (int document = 0; document < 40; ++document) {
      for (int sentence = 0; sentence < 6; ++sentence) {
        for (int word = 0; word < 6; ++word) {
          text += std::string(2, static_cast<char>('a' + (document + 5 * sentence + word) % 26));
          text += ' ';
        }
        text += '\n';
      }
      text += '\n';
    }
    write_file_atomically(path("more_words.txt"), words);
    write_file_atomically(path("other.txt"), text);
    const ProcessResult made =
        strata({"data", "prepare", "--text", path("other.txt"), "--vocab", path("more_words.txt"),
                "--out", path("other"), "--max-length", "48", "--max-predictions", "8",
                "--eval-every", "10", "--dupe-factor", "3", "--threads", "1"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }

  // Runs `strata` with these arguments on two ranks; the second gets further ones. `mpirun A : B`
  // of Open MPI 5.0.7 crashes.
  ProcessResult on_two_ranks(const std::vector<std::string>& arguments,
                             const std::vector<std::string>& of_second) const {
    std::string further;
    for (const std::string& word : of_second) further += " '" + word + "'";
    write_file_atomically(path("rank.sh"),
                          "[ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 1 ] || exec \"$@\"\n"
                          "exec \"$@\"" +
                              further + "\n");
    std::vector<std::string> words = {kMpirun, "-n", "2", "/bin/sh", path("rank.sh"), kStrata};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run(words, {.environment = {{"ASAN_OPTIONS", "detect_leaks=0"}}},
               std::chrono::seconds(120));
  }
};

TEST_F(RanksOfAJob, AnErrorOfOneEndsTrainingOnAll) {
  const ProcessResult result = on_two_ranks(train({"--set", "target.masked_lm_accuracy=1"}),
                                            {"--set", "data.train=" + path("other/train.hdf5")});
  EXPECT_FALSE(result.timed_out) << "the other rank waits for ever";
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("strata: rank 1: " + path("other/train.hdf5") + ": row "));
  const auto ended = [&] { return ends_with_run_stop(events_so_far(), "aborted"); };
  EXPECT_TRUE(wait_until(ended, std::chrono::seconds(20)));
}

TEST_F(RanksOfAJob, AnErrorOfOneEndsAnEvaluationOnAll) {
  const ProcessResult result = on_two_ranks({"eval", "--config", path("run.yaml")},
                                            {"--set", "data.eval=" + path("other/eval.hdf5")});
  EXPECT_FALSE(result.timed_out) << "the other rank waits for ever";
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("strata: rank 1: " + path("other/eval.hdf5") + ": row "));
}

using LaunchedAlone = SmallBenchmark;

// Simulates srun with an MPI library that does not support Slurm.
TEST_F(LaunchedAlone, OneOfSeveralTasksIsRefused) {
  const ProcessOptions step{.environment = {{"SLURM_STEP_NUM_TASKS", "2"},
                                            {"SLURM_NTASKS", "2"},
                                            {"SLURM_STEP_ID", "0"},
                                            {"SLURM_PROCID", "1"}}};
  expect_refusal(strata(train(), 1, step), {"started 2 ranks", "SLURM_STEP_NUM_TASKS=2", "pmix"});
  EXPECT_EQ(output_files(), std::vector<std::string>());
  expect_refusal(strata(train({"--dry-run"}), 1, step), {"started 2 ranks"});
  expect_refusal(strata({"eval", "--config", path("run.yaml")}, 1, step), {"started 2 ranks"});
  expect_refusal(strata(train(), 1, {.environment = {{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}}}),
                 {"started 2 ranks", "PMI_SIZE=2"});
  const ProcessResult other = strata({"data", "info", path("data/train.hdf5")}, 1, step);
  EXPECT_EQ(other.exit_code, 0) << "it works on no ranks: " << other.err;
}

TEST_F(LaunchedAlone, ABatchScriptMayTrainOnOneRank) {
  const ProcessResult result = strata(
      train({"--set", "target.max_steps=4"}), 1,
      {.environment = {{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}});
  EXPECT_LE(result.exit_code, 1) << result.err;
}

// A measurement may do so on purpose, so this is a warning, not an error.
TEST_F(LaunchedAlone, ARunWithoutAnEvaluationInTimeIsWarnedOf) {
  const std::vector<std::string> settings = {"--set", "target.max_steps=3"};
  const ProcessResult result = strata(train(settings));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.err,
              HasSubstr("strata: warning: target: the first evaluation is due at 16 samples"));
  std::vector<std::string> dry = train(settings);
  dry.emplace_back("--dry-run");
  expect_refusal(strata(dry), {"the first evaluation is due at 16 samples"});
  EXPECT_EQ(strata(train({"--dry-run"})).exit_code, 0) << "the benchmark's samples are not shared";
}

}  // namespace
}  // namespace strata::cli
