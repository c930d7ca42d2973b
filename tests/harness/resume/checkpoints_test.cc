// The checkpoints that a run takes, keeps and removes.
#include "tests/harness/resume/resumed_run.h"
#include "tests/support/matchers.h"

namespace strata::harness {
namespace {

TEST_F(Resume, TheLastTwoAreKeptBesideTheOneThatIsBeingWritten) {
  interrupt_at(9);
  EXPECT_EQ(steps(), (std::vector<int64_t>{8, 6, 4}));
}

TEST_F(Resume, CheckpointsAreRemovedAfterTheRun) {
  interrupt_at(8);
  EXPECT_EQ(steps(), (std::vector<int64_t>{6, 4, 2}));
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  EXPECT_FALSE(std::filesystem::exists(tree().checkpoints(0)));
}

TEST_F(Resume, CheckpointsAreTakenAfterStepsWithAKnownLoss) {
  system_.loss_interval = 3;
  interrupt_at(8);
  EXPECT_EQ(steps(), (std::vector<int64_t>{6, 3})) << "due after 2 and 4";
}

TEST_F(Resume, CheckpointsMayBeTakenByTime) {
  config_.checkpoint = {.every_steps = 0, .every_seconds = 1e-9};
  interrupt_at(6);
  EXPECT_EQ(steps(), (std::vector<int64_t>{5, 4, 3})) << "after every step";
  std::filesystem::remove_all(config_.run.output);
  config_.checkpoint.every_seconds = 1e9;
  interrupt_at(6);
  EXPECT_EQ(steps(), std::vector<int64_t>());
}

TEST_F(Resume, ACheckpointThatCannotBeWrittenDoesNotEndTheRun) {
  system_.disk_is_full = true;
  EXPECT_TRUE(run()[0].reached_target);
  EXPECT_THAT(system_.calls, HasSubstr("checkpoint"));
}

TEST_F(Resume, NoCheckpointsAreTakenUnasked) {
  config_.checkpoint = {};
  interrupt_at(8);
  EXPECT_FALSE(std::filesystem::exists(tree().checkpoints(0)));
  EXPECT_EQ(timed_events().size(), without_checkpoints(timed_events()).size());
}

TEST_F(Resume, CheckpointsWithoutALogAreArchived) {
  interrupt_at(8);
  std::filesystem::remove(tree().log(0));
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  EXPECT_EQ(checkpoint_steps(tree().checkpoints(0).string() + ".interrupted.1"),
            (std::vector<int64_t>{6, 4, 2}));
}

// The run was stopped between run_stop and its last files.
TEST_F(Resume, AnEndedRunKeepsItsResultAndNoCheckpoints) {
  run();
  write_file_atomically(part(8), "8 a note");
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  EXPECT_EQ(system_.seeds.size(), 1u) << "it was trained again";
  EXPECT_EQ(steps(), std::vector<int64_t>());
}

// The run was killed while it removed its checkpoints.
TEST_F(Resume, AnEndedRunKeepsNoEmptyFolderOfCheckpoints) {
  run();
  std::filesystem::create_directory(tree().checkpoints(0));
  run(ExistingResults::kResume);
  EXPECT_FALSE(std::filesystem::exists(tree().checkpoints(0)));
}

}  // namespace
}  // namespace strata::harness
