#include "tests/harness/resume/resumed_run.h"
#include "tests/support/matchers.h"

namespace strata::harness {
namespace {

// The result would be stored under the name of the ranks that began the run.
TEST_F(Resume, OtherRanksNeedACompleteCheckpoint) {
  system_.named_ranks = 4;
  interrupt_at(4);
  write_file_atomically(part(2), "damaged");
  const std::string log = read_file(tree().log(0));
  system_.named_ranks = 2;
  const std::string error = error_of([&] { run(ExistingResults::kResume); });
  EXPECT_THAT(error, HasSubstr("has no complete checkpoint"));
  system_.named_ranks = 4;
  EXPECT_EQ(read_file(tree().log(0)), log);
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
}

TEST_F(Resume, OtherRanksContinueUnderTheOriginalName) {
  config_.run.system.reset();
  system_.named_ranks = 4;
  system_.fails_at = 8;
  EXPECT_THROW(run(), Error);
  system_.fails_at = 0;
  system_.named_ranks = 2;
  config_.batch.micro_batch *= 2;
  config_.parallel.stages = 2;
  const auto results = run(ExistingResults::kResume);
  EXPECT_TRUE(results[0].reached_target);
  EXPECT_THAT(results[0].log.string(), HasSubstr("4rank")) << results[0].log;
  EXPECT_THAT(system_.calls, HasSubstr("restore"));
}

TEST_F(Resume, OtherRanksContinueUnderAGivenName) {
  system_.named_ranks = 4;
  interrupt_at(8);
  system_.named_ranks = 2;
  EXPECT_THROW(run(ExistingResults::kKeep), Error) << "it would begin anew, on other ranks";
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  EXPECT_THAT(system_.calls, HasSubstr("restore"));
}

// Results of new experiments would be stored under the name of another system.
TEST_F(Resume, OtherRanksStartNoNewExperiment) {
  config_.run.system.reset();
  config_.run.experiments = 2;
  system_.named_ranks = 4;
  system_.fails_at = 8;
  EXPECT_THROW(run(), Error);
  system_.fails_at = 0;
  system_.named_ranks = 2;
  const std::string error = error_of([&] { run(ExistingResults::kResume); });
  EXPECT_THAT(error, HasSubstr("result_1 has no checkpoint"));
  config_.run.experiments = 1;
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
}

TEST_F(Resume, FinishedResultsOfOtherRanksAreIgnored) {
  config_.run.system.reset();
  system_.named_ranks = 4;
  const std::filesystem::path four = run()[0].log;
  system_.named_ranks = 2;
  EXPECT_NE(run(ExistingResults::kResume)[0].log, four);
  EXPECT_EQ(system_.seeds.size(), 2u) << "it was trained";
}

TEST_F(Resume, LostWeightsAreWrittenOnOtherRanks) {
  config_.run.system.reset();
  config_.log.save_checkpoint = true;
  system_.named_ranks = 4;
  int evaluations = 0;
  system_.when_evaluated = [&] { system_.disk_is_full = ++evaluations >= 3; };
  EXPECT_THROW(run(), Error);
  system_.when_evaluated = [] {};
  system_.disk_is_full = false;
  system_.calls.clear();
  system_.named_ranks = 2;
  const auto results = run(ExistingResults::kResume);
  EXPECT_THAT(results[0].log.string(), HasSubstr("4rank")) << results[0].log;
  EXPECT_EQ(system_.calls, "prepare warm_up restore barrier start save barrier ");
  EXPECT_EQ(read_file(std::filesystem::path(results[0].log).replace_extension(".safetensors")),
            "after step 9");
}

}  // namespace
}  // namespace strata::harness
