#include "tests/harness/resume/resumed_run.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"

namespace strata::harness {
namespace {

TEST_F(Resume, GoesOnAfterTheLastCheckpoint) {
  interrupt_at(8);
  const std::string before = read_file(tree().log(0));
  const auto results = run(ExistingResults::kResume);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_TRUE(results[0].reached_target);
  EXPECT_EQ(results[0].steps, 9);
  EXPECT_EQ(results[0].samples, 90);
  EXPECT_EQ(results[0].seed, 5u);
  EXPECT_EQ(system_.seeds, (std::vector<uint64_t>{5, 5}));
  EXPECT_EQ(system_.calls,
            "prepare warm_up restore barrier barrier start checkpoint evaluate save barrier ");
  EXPECT_TRUE(system_.files_.resumed);
  EXPECT_EQ(read_file(tree().log(0).string() + ".interrupted.1"), before) << "nothing is lost";
}

// Every rank sees the disk as the first rank says.
TEST_F(Resume, EveryRankMakesTheSameCalls) {
  interrupt_at(8);
  const std::filesystem::path saved = directory_ / "saved";
  std::filesystem::copy(config_.run.output, saved, std::filesystem::copy_options::recursive);
  broadcasts_.clear();
  const auto of_first = run(ExistingResults::kResume);
  const std::string calls = std::exchange(system_.calls, "");
  std::filesystem::remove_all(config_.run.output);
  std::filesystem::rename(saved, config_.run.output);
  rank_ = 1;
  const auto of_second = run(ExistingResults::kResume);
  EXPECT_EQ(system_.calls, calls);
  EXPECT_TRUE(broadcasts_.empty());
  ASSERT_EQ(of_second.size(), 1u);
  EXPECT_EQ(of_second[0].steps, of_first[0].steps);
  EXPECT_EQ(of_second[0].seed, of_first[0].seed);
  EXPECT_EQ(of_second[0].accuracy, of_first[0].accuracy);
  EXPECT_EQ(steps(), (std::vector<int64_t>{8, 6, 4, 2})) << "the first rank removes them";
}

// Except for times and the events of resuming, the log equals that of an uninterrupted run.
TEST_F(Resume, TheLogContinuesFromTheCheckpoint) {
  config_.run.output = directory_ / "whole";
  run();
  const auto whole = without_checkpoints(timed_events());
  config_.run.output = directory_ / "out";
  for (const int64_t step : {4, 5, 7, 8, 9}) {
    std::filesystem::remove_all(config_.run.output);
    interrupt_at(step);
    run(ExistingResults::kResume);
    const auto events = timed_events();
    EXPECT_EQ(without_checkpoints(events), whole) << step;
    const std::string resumed = "resumed=" + std::to_string((step - 1) / 2 * 2);
    const std::string checkpoint = "checkpoint=" + resumed.substr(resumed.find('=') + 1);
    const auto at = std::find(events.begin(), events.end(), resumed);
    ASSERT_NE(at, events.end()) << step;
    EXPECT_EQ(*std::prev(at), checkpoint) << step;
    EXPECT_EQ(std::count(events.begin(), events.end(), "run_start"), 1);
    EXPECT_EQ(std::count(events.begin(), events.end(), "run_stop"), 1);
  }
}

TEST_F(Resume, MayBeInterruptedAgain) {
  interrupt_at(4);
  system_.fails_at = 8;
  EXPECT_EQ(error_of([&] { run(ExistingResults::kResume); }), "the device is gone");
  system_.fails_at = 0;
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  EXPECT_TRUE(std::filesystem::exists(tree().log(0).string() + ".interrupted.2"));
  const auto events = timed_events();
  EXPECT_EQ(std::count_if(events.begin(), events.end(),
                          [](const auto& event) { return event.starts_with("resumed="); }),
            2);
}

TEST_F(Resume, ADamagedCheckpointIsSkipped) {
  interrupt_at(8);
  write_file_atomically(part(6), "damaged");
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  const auto events = timed_events();
  EXPECT_NE(std::find(events.begin(), events.end(), "resumed=4"), events.end());
}

// The user must decide whether to discard the training so far.
TEST_F(Resume, WithoutACompleteCheckpointNothingIsChanged) {
  interrupt_at(8);
  write_file_atomically(part(6), "damaged");
  write_file_atomically(part(4), "damaged");
  write_file_atomically(part(2), "damaged");
  const std::string log = read_file(tree().log(0));
  EXPECT_THAT(error_of([&] { run(ExistingResults::kResume); }), HasSubstr("--continue"));
  EXPECT_EQ(read_file(tree().log(0)), log);
  EXPECT_FALSE(std::filesystem::exists(tree().log(0).string() + ".interrupted.1"));
  EXPECT_TRUE(run(ExistingResults::kKeep)[0].reached_target);
  EXPECT_TRUE(std::filesystem::exists(tree().log(0).string() + ".interrupted.1"));
  EXPECT_TRUE(std::filesystem::exists(tree().checkpoints(0).string() + ".interrupted.1"));
}

// The run was interrupted while it wrote its first checkpoint.
TEST_F(Resume, WithoutAFinishedCheckpointTheExperimentRunsAgain) {
  interrupt_at(4);
  write_file_atomically(part(2), "damaged");
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  EXPECT_THAT(system_.calls, Not(HasSubstr("restore")));
  EXPECT_TRUE(std::filesystem::exists(tree().checkpoints(0).string() + ".interrupted.1"));
}

TEST_F(Resume, ContinuingArchivesTheCheckpoints) {
  interrupt_at(8);
  EXPECT_TRUE(run(ExistingResults::kKeep)[0].reached_target);
  EXPECT_THAT(system_.calls, Not(HasSubstr("restore")));
  EXPECT_EQ(checkpoint_steps(tree().checkpoints(0).string() + ".interrupted.1"),
            (std::vector<int64_t>{6, 4, 2}));
}

TEST_F(Resume, CheckpointsOfAnotherLogAreRefused) {
  interrupt_at(8);
  std::string log = read_file(tree().log(0));
  log[log.find("init_start")] = 'x';
  write_file_atomically(tree().log(0), log);
  const std::string error = error_of([&] { run(ExistingResults::kResume); });
  EXPECT_THAT(error, HasSubstr(tree().checkpoints(0).string()));
  EXPECT_EQ(read_file(tree().log(0)), log);
  EXPECT_EQ(steps(), (std::vector<int64_t>{6, 4, 2}));
}

TEST_F(Resume, AnotherConfigurationOrOtherDataAreRefused) {
  interrupt_at(8);
  config_.optimizer.lr *= 2;
  const std::string error = error_of([&] { run(ExistingResults::kResume); });
  EXPECT_THAT(error, HasSubstr("differs from this run's configuration"));
  EXPECT_THAT(error, HasSubstr("(optimizer.lr: "));
  config_.optimizer.lr /= 2;
  system_.data_checksum = 2;
  EXPECT_THAT(error_of([&] { run(ExistingResults::kResume); }), HasSubstr("the data have changed"));
  system_.data_checksum = 1;
  config_.checkpoint.every_steps = 1;  // may change
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
}

TEST_F(Resume, ACheckpointOfAnotherStepIsSkipped) {
  interrupt_at(8);
  const std::string bytes = read_file(part(4));
  write_file_atomically(part(6), bytes);
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  const auto events = timed_events();
  EXPECT_NE(std::find(events.begin(), events.end(), "resumed=4"), events.end());
}

TEST_F(Resume, TheOfficialCheckerPassesItsLog) {
  if (!testing_support::oracle_python()) GTEST_SKIP() << testing_support::kNoOracle;
  interrupt_at(8);
  run(ExistingResults::kResume);
  const auto result = testing_support::official_check(tree().log(0));
  EXPECT_EQ(result.status, 0) << result.output;
}

}  // namespace
}  // namespace strata::harness
