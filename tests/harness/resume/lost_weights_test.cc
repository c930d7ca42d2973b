#include "tests/harness/resume/resumed_run.h"
#include "tests/support/matchers.h"

namespace strata::harness {
namespace {

// The run ends at step 9 while the disk is full. Its last complete checkpoint is that of step 8.
class LostWeights : public Resume {
 protected:
  LostWeights() {
    config_.log.save_checkpoint = true;
    system_.when_evaluated = [&] { system_.disk_is_full = ++evaluations_ >= 3; };
    const std::string error = error_of([&] { run(); });
    EXPECT_THAT(error, HasSubstr("No space left"));
    EXPECT_THAT(error, HasSubstr("--resume then writes the weights"));
    system_.when_evaluated = [] {};
    system_.calls.clear();
    log_ = read_file(tree().log(0));
  }
  std::string weights() { return read_file(tree().checkpoint(0)); }

  int evaluations_ = 0;
  std::string log_;
};

TEST_F(LostWeights, AreWrittenFromTheLastCheckpoint) {
  EXPECT_EQ(steps(), (std::vector<int64_t>{8, 6, 4}));
  system_.disk_is_full = false;
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  EXPECT_EQ(system_.calls, "prepare warm_up restore barrier start save barrier ");
  EXPECT_EQ(weights(), "after step 9");
  EXPECT_EQ(read_file(tree().log(0)), log_);
  EXPECT_FALSE(std::filesystem::exists(tree().checkpoints(0)));
  EXPECT_TRUE(system_.files_.step_trace.empty()) << "what was recorded stays";
}

TEST_F(LostWeights, StayInTheCheckpointsUntilTheyAreWritten) {
  EXPECT_THROW(run(ExistingResults::kResume), Error) << "the disk is still full";
  EXPECT_EQ(steps(), (std::vector<int64_t>{8, 6, 4}));
  system_.disk_is_full = false;
  run(ExistingResults::kKeep);
  EXPECT_EQ(steps(), (std::vector<int64_t>{8, 6, 4})) << "--continue does not go on from them";
  EXPECT_FALSE(std::filesystem::exists(tree().checkpoint(0)));
  for (const int64_t step : steps()) write_file_atomically(part(step), "damaged");
  run(ExistingResults::kResume);
  EXPECT_EQ(steps(), (std::vector<int64_t>{8, 6, 4})) << "what is damaged is for the user to see";
}

TEST_F(LostWeights, AreMadeFromAnOlderCheckpointIfTheLastIsDamaged) {
  system_.disk_is_full = false;
  write_file_atomically(part(8), "damaged");
  run(ExistingResults::kResume);
  EXPECT_EQ(weights(), "after step 9");
}

TEST_F(LostWeights, AreNotMadeFromOtherData) {
  system_.disk_is_full = false;
  system_.data_checksum = 2;
  EXPECT_THAT(error_of([&] { run(ExistingResults::kResume); }), HasSubstr("the data have changed"));
  EXPECT_EQ(steps(), (std::vector<int64_t>{8, 6, 4}));
}

}  // namespace
}  // namespace strata::harness
