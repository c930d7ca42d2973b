// Runs the harness with a system that trains nothing.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <limits>

#include "base/error.h"
#include "base/files/files.h"
#include "harness/time_to_train.h"
#include "mllog/log_reader.h"
#include "tests/support/temporary_directory.h"

namespace strata::harness {

// A system under test that trains nothing: a step has ten samples and raises the accuracy by 0.01.
class FakeSystem final : public SystemUnderTest {
 public:
  SystemFacts system_facts() const override { return {.ranks = named_ranks, .device = "a fake"}; }
  std::vector<std::filesystem::path> data_files() const override { return data; }
  std::vector<std::string> tensors() const override { return {"kernel"}; }
  void prepare(uint64_t seed, const RunFiles& files, const Say&) override {
    calls += "prepare ";
    seeds.push_back(seed);
    files_ = files;
    step_ = 0;
  }
  void warm_up(const Say&) override { calls += "warm_up "; }
  DataFacts start() override {
    calls += "start ";
    return {.train_samples = train_samples, .eval_samples = 7, .checksum = data_checksum};
  }
  TrainedStep train_step() override {
    if (++step_ == fails_at) fail("the device is gone");
    TrainedStep step{.step = step_, .samples = 10 * step_};
    if (step_ == remarkable_step) step.remark = "took a turn";
    if (step_ % loss_interval == 0) step.loss = step_ >= diverges_at ? NAN : 1.0;
    return step;
  }
  double evaluate() override {
    calls += "evaluate ";
    when_evaluated();
    return 0.01 * static_cast<double>(step_);
  }
  std::optional<CheckpointFacts> checkpoint_facts(const std::filesystem::path& folder,
                                                  const Say&) override {
    const std::string part = read_file(folder / "part");
    if (part.starts_with("damaged")) return std::nullopt;
    return CheckpointFacts{.step = std::stoll(part), .note = part.substr(part.find(' ') + 1)};
  }
  void restore(const std::filesystem::path& folder) override {
    calls += "restore ";
    step_ = std::stoll(read_file(folder / "part"));
  }
  void begin_checkpoint(const std::filesystem::path& folder, const std::string& note) override {
    calls += "checkpoint ";
    if (!disk_is_full) write_file_atomically(folder / "part", std::to_string(step_) + " " + note);
  }
  bool finish_checkpoint() override { return !disk_is_full; }
  void save() override {
    calls += "save ";
    if (files_.checkpoint.empty()) return;
    if (disk_is_full) fail("{}: cannot write: No space left on device", files_.checkpoint.string());
    write_file_atomically(files_.checkpoint, "after step " + std::to_string(step_));
  }

  int named_ranks = 1;
  int64_t fails_at = 0, remarkable_step = 0, diverges_at = std::numeric_limits<int64_t>::max();
  int64_t loss_interval = 1, train_samples = 100;
  uint32_t data_checksum = 1;
  bool disk_is_full = false;
  std::vector<std::filesystem::path> data;
  std::string calls;
  std::function<void()> when_evaluated = [] {};
  std::vector<uint64_t> seeds;
  RunFiles files_;

 private:
  int64_t step_ = 0;
};

// Ranks run one at a time. Rank 0 stores its broadcasts, and a rank that runs later receives them
// in order.
class FakeCommunicator final : public Communicator {
 public:
  // Adds barriers to `calls`.
  FakeCommunicator(int rank, std::deque<std::string>& broadcasts, std::string& calls)
      : Communicator(rank, 1, true), broadcasts_(broadcasts), calls_(calls) {}

  void broadcast(void* memory, size_t bytes) override {
    auto* const values = static_cast<char*>(memory);
    if (first()) {
      broadcasts_.emplace_back(values, bytes);
      return;
    }
    if (broadcasts_.empty()) fail("no other rank broadcasts now");
    const std::string theirs = std::move(broadcasts_.front());
    broadcasts_.pop_front();
    if (theirs.size() != bytes) fail("{} bytes for {}", theirs.size(), bytes);
    theirs.copy(values, bytes);
  }
  void barrier() override { calls_ += "barrier "; }
  int64_t sum(int64_t value) override { return value; }

 private:
  std::deque<std::string>& broadcasts_;
  std::string& calls_;
};

class TimeToTrainTest : public testing_support::TemporaryDirectory {
 protected:
  TimeToTrainTest() {
    config_.run.output = directory_ / "out";
    config_.run.system = "fake";
    config_.run.seed = 5;
    config_.batch.micro_batch = 10;  // the samples of FakeSystem's steps
    config_.target.masked_lm_accuracy = 0.08;
    config_.target.eval_interval_samples = 30;
    config_.target.max_steps = 50;
    // These are read again if results are kept.
    config_.model.config = "tiny";
    config_.data.train = config_.data.eval = {directory_ / "data.hdf5"};
  }

  std::vector<ExperimentResult> run(ExistingResults existing = ExistingResults::kRefuse) {
    FakeCommunicator ranks(rank_, broadcasts_, system_.calls);
    return time_to_train(config_, system_, ranks, existing);
  }
  ResultTree tree() const { return {config_.run.output, "Strata", "fake"}; }
  // Returns "key" or "key=value" of the log's events from the run's start on.
  std::vector<std::string> timed_events(int experiment = 0) {
    std::vector<std::string> events;
    mllog::LogReader log(tree().log(experiment), mllog::LogFormat::kMllog);
    bool timed = false;
    log.visit([&](const mllog::Event& event) {
      timed |= event.key == "run_start";
      if (timed) {
        const std::string value(event.value);
        events.push_back(std::string(event.key) + (value == "null" ? "" : "=" + value));
      }
      return true;
    });
    return events;
  }

  FakeSystem system_;
  int rank_ = 0;  // the rank that run() simulates
  std::deque<std::string> broadcasts_;
  config::RunConfig config_;
};

}  // namespace strata::harness
