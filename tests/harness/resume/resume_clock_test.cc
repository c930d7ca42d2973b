// The time of a run that was interrupted.
#include <chrono>
#include <thread>

#include "mllog/log_writer.h"
#include "tests/harness/resume/resumed_run.h"
#include "tests/support/matchers.h"

namespace strata::harness {
namespace {

TEST_F(Resume, TheInterruptionCountsAsTrainingTime) {
  interrupt_at(8);
  move_log_by(-3'600'000);  // as if the run had begun an hour ago
  const auto results = run(ExistingResults::kResume);
  EXPECT_GE(results[0].seconds, 3600);
  EXPECT_LT(results[0].seconds, 3700);
}

// The machine's clock is an hour behind when the run is resumed.
TEST_F(Resume, ASlowClockContinuesFromTheTimeOfTheLastEvent) {
  interrupt_at(8);
  move_log_by(3'600'000);
  const int64_t before = mllog::latest_time_ms(tree().log(0));
  system_.when_evaluated = [] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
  testing::internal::CaptureStderr();
  const auto results = run(ExistingResults::kResume);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(results[0].reached_target);
  EXPECT_GE(results[0].seconds, 0.3);
  EXPECT_LT(results[0].seconds, 60);
  const int64_t after = mllog::latest_time_ms(tree().log(0));
  EXPECT_GE(after - before, 300);
  EXPECT_LT(after - before, 60'000);
  EXPECT_THAT(said, HasSubstr("the machine's clock is 3"));
  EXPECT_THAT(said, HasSubstr("behind the last event of the interrupted log"));
  EXPECT_THAT(said, Not(HasSubstr("was changed by"))) << "nobody has set it: ";
}

// The job that cut the log back to its checkpoint ended before it logged anything.
TEST_F(Resume, TheLastEventMayBeInACopyOfTheLog) {
  interrupt_at(8);
  move_log_by(3'600'000);
  const std::string whole = read_file(tree().log(0));
  const auto of_checkpoint = checkpoint_folder(tree().checkpoints(0), 6) / "part";
  const std::string note = read_file(of_checkpoint);
  const ResumePoint point = parse_note(note.substr(note.find(' ') + 1)).value();
  // An hour passed between the checkpoint and the last event.
  std::string tail = whole.substr(point.log_bytes);
  move_times(tail, 3'600'000);
  write_file_atomically(tree().log(0).string() + ".interrupted.1",
                        whole.substr(0, point.log_bytes) + tail);
  write_file_atomically(tree().log(0), whole.substr(0, point.log_bytes));
  EXPECT_GE(run(ExistingResults::kResume)[0].seconds, 3600);
}

TEST_F(Resume, AnInterruptionIsNoDifferenceOfClocks) {
  interrupt_at(8);
  move_log_by(-3'600'000);
  testing::internal::CaptureStderr();
  run(ExistingResults::kResume);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("the log shows")))
      << "the interruption is no difference";
}

}  // namespace
}  // namespace strata::harness
