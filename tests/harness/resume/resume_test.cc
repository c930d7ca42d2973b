#include <algorithm>
#include <chrono>
#include <thread>

#include "base/files/crc32c.h"
#include "harness/resume/checkpoints.h"
#include "harness/resume/resume_point.h"
#include "mllog/log_writer.h"
#include "tests/harness/fake_training.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"

namespace strata::harness {
namespace {

using testing_support::error_of;

// Evaluations after steps 3, 6 and 9, which reaches the target; checkpoints after 2, 4, 6 and 8.
class Resume : public TimeToTrainTest {
 protected:
  Resume() { config_.checkpoint.every_steps = 2; }

  // A run that fails in step `step`.
  void interrupt_at(int64_t step) {
    system_.fails_at = step;
    EXPECT_EQ(error_of([&] { run(); }), "the device is gone");
    system_.fails_at = 0;
    system_.calls.clear();
  }
  std::filesystem::path part(int64_t step) const {
    return checkpoint_folder(tree().checkpoints(0), step) / "part";
  }
  // Adds `ms` to the times of a log's lines.
  static void move_times(std::string& text, int64_t ms) {
    for (size_t at = 0; (at = text.find("\"time_ms\": ", at)) != std::string::npos;) {
      at += 11;
      constexpr size_t kDigits = 13;
      text.replace(at, kDigits, std::to_string(std::stoll(text.substr(at, kDigits)) + ms));
    }
  }
  // The log and the checkpoints of a run that was interrupted at another time.
  void move_log_by(int64_t ms) {
    std::string text = read_file(tree().log(0));
    move_times(text, ms);
    write_file_atomically(tree().log(0), text);
    for (const int64_t step : steps()) {  // which hold the log's checksum
      const std::string whole = read_file(part(step));
      const size_t space = whole.find(' ');
      ResumePoint point = parse_note(whole.substr(space + 1)).value();
      point.log_checksum = crc32c(text.substr(0, point.log_bytes));
      write_file_atomically(part(step), whole.substr(0, space + 1) + to_note(point));
    }
  }
  std::vector<int64_t> steps() const { return checkpoint_steps(tree().checkpoints(0)); }
  // Those of an uninterrupted run, whose checkpoints are not among them.
  std::vector<std::string> without_checkpoints(std::vector<std::string> events) const {
    std::erase_if(events, [](const std::string& event) {
      return event.starts_with("checkpoint=") || event.starts_with("resumed=");
    });
    return events;
  }
};

TEST_F(Resume, TheLastTwoAreKeptBesideTheOneThatIsBeingWritten) {
  interrupt_at(9);
  EXPECT_EQ(steps(), (std::vector<int64_t>{8, 6, 4}));
}

TEST_F(Resume, NoneIsKeptWhenTheRunHasEnded) {
  interrupt_at(8);
  EXPECT_EQ(steps(), (std::vector<int64_t>{6, 4, 2}));
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  EXPECT_FALSE(std::filesystem::exists(tree().checkpoints(0)));
}

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

// Only the first rank looks at the disk; it tells the others what is there.
TEST_F(Resume, EveryRankMakesTheSameCalls) {
  interrupt_at(8);
  const std::filesystem::path aside = directory_ / "aside";
  std::filesystem::copy(config_.run.output, aside, std::filesystem::copy_options::recursive);
  broadcasts_.clear();
  const auto of_first = run(ExistingResults::kResume);
  const std::string calls = std::exchange(system_.calls, "");
  std::filesystem::remove_all(config_.run.output);
  std::filesystem::rename(aside, config_.run.output);
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

// But for times it is the log of a run that was never interrupted, and says that it was resumed.
TEST_F(Resume, TheLogGoesOnWhereTheCheckpointWasTaken) {
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

TEST_F(Resume, TheClockRunsThroughTheInterruption) {
  interrupt_at(8);
  move_log_by(-3'600'000);  // as if the run had begun an hour ago
  const auto results = run(ExistingResults::kResume);
  EXPECT_GE(results[0].seconds, 3600);
  EXPECT_LT(results[0].seconds, 3700);
}

// The machine's clock is an hour behind when the run goes on.
TEST_F(Resume, WhereTheClockIsBehindTrainingIsTimedFromTheLastEventOn) {
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
  EXPECT_THAT(said, Not(HasSubstr("was set by"))) << "nobody has set it: ";
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

TEST_F(Resume, SaysWhereTheLogAndTheSteadyClockOfThisProcessTellDifferentTimes) {
  interrupt_at(8);
  move_log_by(-3'600'000);
  testing::internal::CaptureStderr();
  run(ExistingResults::kResume);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("the steady clock")))
      << "the interruption is no difference";
}

TEST_F(Resume, ADamagedCheckpointIsPassedOver) {
  interrupt_at(8);
  write_file_atomically(part(6), "damaged");
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  const auto events = timed_events();
  EXPECT_NE(std::find(events.begin(), events.end(), "resumed=4"), events.end());
}

// Whether what was trained is lost is for the user to say.
TEST_F(Resume, WithoutAWholeCheckpointNothingIsChanged) {
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

// It was interrupted while the first was being written.
TEST_F(Resume, WithoutAFinishedCheckpointTheExperimentRunsAgain) {
  interrupt_at(4);
  write_file_atomically(part(2), "damaged");
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  EXPECT_THAT(system_.calls, Not(HasSubstr("restore")));
  EXPECT_TRUE(std::filesystem::exists(tree().checkpoints(0).string() + ".interrupted.1"));
}

// Its result would lie under the name of the ranks that began it.
TEST_F(Resume, WithoutAFinishedCheckpointNothingRunsAgainOnOtherRanks) {
  system_.named_ranks = 4;
  interrupt_at(4);
  write_file_atomically(part(2), "damaged");
  const std::string log = read_file(tree().log(0));
  system_.named_ranks = 2;
  const std::string error = error_of([&] { run(ExistingResults::kResume); });
  EXPECT_THAT(error, HasSubstr("the ranks that began it"));
  system_.named_ranks = 4;
  EXPECT_EQ(read_file(tree().log(0)), log);
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
}

TEST_F(Resume, ContinuingSetsTheCheckpointsAside) {
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
  EXPECT_THAT(error, HasSubstr("another configuration"));
  EXPECT_THAT(error, HasSubstr("(optimizer.lr: "));
  config_.optimizer.lr /= 2;
  system_.data_checksum = 2;
  EXPECT_THAT(error_of([&] { run(ExistingResults::kResume); }), HasSubstr("the data have changed"));
  system_.data_checksum = 1;
  config_.checkpoint.every_steps = 1;  // may change
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
}

TEST_F(Resume, GoesOnOnOtherRanksBesideTheOriginalsName) {
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

TEST_F(Resume, GoesOnOnOtherRanksUnderAGivenName) {
  system_.named_ranks = 4;
  interrupt_at(8);
  system_.named_ranks = 2;
  EXPECT_THROW(run(ExistingResults::kKeep), Error) << "it would begin anew, on other ranks";
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  EXPECT_THAT(system_.calls, HasSubstr("restore"));
}

// Their results would lie under the name of another system.
TEST_F(Resume, OnOtherRanksNoExperimentBegins) {
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

TEST_F(Resume, ResultsOfOtherRanksThatHaveEndedAreNotItsOwn) {
  config_.run.system.reset();
  system_.named_ranks = 4;
  const std::filesystem::path four = run()[0].log;
  system_.named_ranks = 2;
  EXPECT_NE(run(ExistingResults::kResume)[0].log, four);
  EXPECT_EQ(system_.seeds.size(), 2u) << "it was trained";
}

TEST_F(Resume, CheckpointsWithoutALogAreSetAside) {
  interrupt_at(8);
  std::filesystem::remove(tree().log(0));
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  EXPECT_EQ(checkpoint_steps(tree().checkpoints(0).string() + ".interrupted.1"),
            (std::vector<int64_t>{6, 4, 2}));
}

// It was stopped between run_stop and its last files.
TEST_F(Resume, AnEndedRunKeepsItsResultAndNoCheckpoints) {
  run();
  write_file_atomically(part(8), "8 a note");
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  EXPECT_EQ(system_.seeds.size(), 1u) << "it was trained again";
  EXPECT_EQ(steps(), std::vector<int64_t>());
}

// Killed while it removed them.
TEST_F(Resume, AnEndedRunKeepsNoEmptyFolderOfCheckpoints) {
  run();
  std::filesystem::create_directory(tree().checkpoints(0));
  run(ExistingResults::kResume);
  EXPECT_FALSE(std::filesystem::exists(tree().checkpoints(0)));
}

// The run ends at step 9 while the disk is full, the last checkpoint that could be written is step
// 8's.
class LostWeights : public Resume {
 protected:
  LostWeights() {
    config_.log.save_checkpoint = true;
    system_.when_evaluated = [&] { system_.disk_is_full = ++evaluations_ >= 3; };
    const std::string error = error_of([&] { run(); });
    EXPECT_THAT(error, HasSubstr("No space left"));
    EXPECT_THAT(error, HasSubstr("--resume writes the weights"));
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

// The keeper of its log was killed, too.
TEST_F(Resume, ARunThatWasKilledBeforeItBeganBeginsAnew) {
  const std::string init =
      ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1, \"event_type\": \"INTERVAL_START\", "
      "\"key\": \"init_start\", \"value\": null, \"metadata\": {}}\n";
  std::filesystem::path log;
  for (const ExistingResults existing :
       {ExistingResults::kRefuse, ExistingResults::kKeep, ExistingResults::kResume}) {
    std::filesystem::remove_all(config_.run.output);
    write_file_atomically(tree().log(0), init);
    write_file_atomically(tree().config(0), "of: another version\n");
    testing::internal::CaptureStderr();
    EXPECT_TRUE(run(existing)[0].reached_target);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, HasSubstr("result_0: its run was killed before it began; it begins anew"));
    EXPECT_EQ(read_file(tree().log(0).string() + ".interrupted.1"), init);
    EXPECT_EQ(read_file(tree().config(0).string() + ".interrupted.1"), "of: another version\n");
  }
  std::filesystem::remove_all(config_.run.output);
  write_file_atomically(tree().log(0), init);
  write_file_atomically(tree().checkpoint(0), "weights");
  EXPECT_THAT(error_of([&] { run(); }), HasSubstr("result_0.safetensors: exists already"));
}

TEST_F(Resume, TheNextStartRemovesWhatAKilledWriterLeft) {
  interrupt_at(8);
  const std::string process = ".tmp.999999999.0";  // beyond every process number
  std::vector<std::filesystem::path> left;
  for (const std::filesystem::path& path :
       {part(6), tree().checkpoint(0), tree().system_description(),
        std::filesystem::path(tree().checkpoints(0).string() + ".interrupted.1") / "step_2" /
            "part"}) {
    left.emplace_back(path.string() + process);
    write_file_atomically(left.back(), "half");
  }
  run(ExistingResults::kResume);
  for (const auto& path : left) EXPECT_FALSE(std::filesystem::exists(path)) << path;
}

TEST_F(Resume, WhatAnEarlierRunLeftIsNotReplaced) {
  const std::vector<std::filesystem::path> all = {tree().checkpoint(0),
                                                  tree().step_trace(0),
                                                  tree().timeline(0),
                                                  tree().config(0),
                                                  tree().tensorboard(0) / "events",
                                                  tree().log(0),
                                                  tree().checkpoints(0) / "notes"};
  for (const auto& path : all) {
    write_file_atomically(path, "earlier");
    const std::string error = error_of([&] { run(); });
    EXPECT_THAT(error, HasSubstr("exists already; move it away")) << path;
    EXPECT_EQ(read_file(path), "earlier");
    std::filesystem::remove_all(config_.run.output);
    std::filesystem::create_directories(path.parent_path());
    std::filesystem::create_symlink(directory_ / "elsewhere", path);
    EXPECT_THAT(error_of([&] { run(); }), HasSubstr("exists already")) << path;
    EXPECT_FALSE(std::filesystem::exists(directory_ / "elsewhere")) << path;
    std::filesystem::remove_all(config_.run.output);
  }
}

TEST_F(Resume, ContinuingSetsFilesWithoutALogAside) {
  config_.log.save_checkpoint = true;
  for (const auto& path : {tree().checkpoint(0), tree().timeline(0), tree().config(0)})
    write_file_atomically(path, "earlier");
  run(ExistingResults::kKeep);
  for (const auto& path : {tree().checkpoint(0), tree().timeline(0), tree().config(0)})
    EXPECT_EQ(read_file(path.string() + ".interrupted.1"), "earlier");
  EXPECT_EQ(read_file(tree().checkpoint(0)), "after step 9");
}

TEST_F(Resume, ALinkInAFilesPlaceIsNotWrittenThrough) {
  interrupt_at(8);
  write_file_atomically(directory_ / "mine", "mine");
  std::filesystem::create_symlink(directory_ / "mine", tree().step_trace(0));
  EXPECT_THAT(error_of([&] { run(ExistingResults::kResume); }), HasSubstr("is a link"));
  EXPECT_EQ(read_file(directory_ / "mine"), "mine");
}

TEST_F(Resume, ADescriptionOfAnotherSystemIsNotReplaced) {
  write_file_atomically(tree().system_description(), R"({"submitter": "Acme"})");
  EXPECT_THAT(error_of([&] { run(); }), HasSubstr("describes another system"));
  EXPECT_EQ(read_file(tree().system_description()), R"({"submitter": "Acme"})");
}

// Results, data and model lie in one folder, which is renamed. Its name need not be one that a new
// configuration may give.
class MovedRun : public Resume, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Names, MovedRun, testing::Values("before", "run[1]*", "$HOME/${USER}?"));

TEST_P(MovedRun, GoesOnWithItsFiles) {
  const std::filesystem::path before = directory_ / GetParam(), after = directory_ / "after";
  const auto lies_in = [&](const std::filesystem::path& folder) {
    config_.run.output = folder / "out";
    config_.model.config = (folder / "model.json").string();
    config_.model.vocab = folder / "vocab.txt";
    config_.data.train = config_.data.eval = {folder / "data.hdf5"};
  };
  lies_in(before);
  for (const char* name : {"model.json", "vocab.txt", "data.hdf5"})
    write_file_atomically(before / name, name);
  interrupt_at(8);
  std::filesystem::rename(before, after);
  lies_in(after);
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  EXPECT_THAT(system_.calls, HasSubstr("restore"));
  config_.run.experiments = 2;  // beside a result of the folder's earlier name
  EXPECT_EQ(run(ExistingResults::kKeep).size(), 2u);
}

TEST_F(Resume, FilesOfTheSameContentsAreTheSameWhereverTheyLie) {
  const auto data = [&](const std::string& name) {
    config_.data.train = config_.data.eval = {directory_ / name};
  };
  const std::string large(5 << 20, 'a');
  std::string other = large;
  other[other.size() / 2] = 'b';
  for (const char* name : {"data", "copy"}) write_file_atomically(directory_ / name, large);
  write_file_atomically(directory_ / "other", other);
  data("data");
  run();
  config_.run.experiments = 2;
  data("other");
  EXPECT_THAT(error_of([&] { run(ExistingResults::kKeep); }), HasSubstr("data.train"));
  data("copy");
  EXPECT_EQ(run(ExistingResults::kKeep).size(), 2u);
}

TEST_F(Resume, ACheckpointThatSaysAnotherStepIsPassedOver) {
  interrupt_at(8);
  const std::string bytes = read_file(part(4));
  write_file_atomically(part(6), bytes);
  EXPECT_TRUE(run(ExistingResults::kResume)[0].reached_target);
  const auto events = timed_events();
  EXPECT_NE(std::find(events.begin(), events.end(), "resumed=4"), events.end());
}

TEST_F(Resume, CheckpointsComeAfterStepsWhoseLossIsRead) {
  system_.loss_interval = 3;
  interrupt_at(8);
  EXPECT_EQ(steps(), (std::vector<int64_t>{6, 3})) << "due after 2 and 4";
}

TEST_F(Resume, ByTimeTheyComeWhenItIsUp) {
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

TEST_F(Resume, TheOfficialCheckerPassesItsLog) {
  if (!testing_support::oracle_python()) GTEST_SKIP() << testing_support::kNoOracle;
  interrupt_at(8);
  run(ExistingResults::kResume);
  const auto result = testing_support::official_check(tree().log(0));
  EXPECT_EQ(result.status, 0) << result.output;
}

TEST(ResumePoint, ANoteIsReadBack) {
  const ResumePoint point{.seed = 12345678901234567890u,
                          .step = 3,
                          .samples = 24,
                          .block_begin = 16,
                          .accuracy = 0.123456789012345,
                          .train_samples = 5,
                          .eval_samples = 6,
                          .log_bytes = 7,
                          .log_checksum = 0xffffffff};
  EXPECT_EQ(to_note(parse_note(to_note(point)).value()), to_note(point));
  EXPECT_EQ(parse_note(to_note(point))->accuracy, point.accuracy);
  for (const char* text : {"", "{}", "[]", "{\"seed\": \"x\"}", "1e999"}) {
    EXPECT_FALSE(parse_note(text)) << text;
  }
  for (const auto spoil :
       {+[](ResumePoint& p) { p.step = 0; }, +[](ResumePoint& p) { p.samples = -5; },
        +[](ResumePoint& p) { p.accuracy = 2; },
        +[](ResumePoint& p) { p.block_begin = p.samples + 1; },
        +[](ResumePoint& p) { p.log_bytes = 0; }}) {
    ResumePoint spoilt = point;
    spoil(spoilt);
    EXPECT_FALSE(parse_note(to_note(spoilt))) << to_note(spoilt);
  }
}

}  // namespace
}  // namespace strata::harness
