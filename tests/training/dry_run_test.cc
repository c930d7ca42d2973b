#include "training/dry_run.h"

#include <algorithm>

#include "device/registry/backends.h"
#include "tests/support/temporary_directory.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

class DryRunTest : public testing_support::TemporaryDirectory {
 protected:
  DryRunTest() {
    data::Instances evaluated = counting_instances(10);
    for (int32_t& id : evaluated.masked_ids) id = kSmallestWord;  // makes the samples differ
    write_small_data(directory_ / "data.hdf5", counting_instances(48));
    write_small_data(directory_ / "eval.hdf5", evaluated);
    write_small_model(directory_ / "model.json");
    config_ = small_run();
    config_.model.config = directory_ / "model.json";
    config_.data.train = {directory_ / "data.hdf5"};
    config_.data.eval = {directory_ / "eval.hdf5"};
    config_.target.max_steps = 6;
    config_.target.eval_interval_samples = 16;
  }

  DryRun checked() { return dry_run(config_, Ranks{*communicator_}); }
  static bool any_has(const std::vector<std::string>& lines, const char* part) {
    return std::ranges::any_of(
        lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }

  std::unique_ptr<comm::Communicator> communicator_ = comm::make_single_communicator();
  config::RunConfig config_;
};

TEST_F(DryRunTest, ARunThatCanBeMadeHasNoProblems) {
  const DryRun run = checked();
  EXPECT_EQ(run.problems, std::vector<std::string>());
  EXPECT_TRUE(any_has(run.facts, "memory suffices")) << testing::PrintToString(run.facts);
  for (const char* part : {", 1 rank", "model: 0.0 million parameters", "training data: 48 samples",
                           "evaluation data: 10 of 10 samples", "at most 6 steps"}) {
    EXPECT_TRUE(any_has(run.facts, part)) << part << testing::PrintToString(run.facts);
  }
  EXPECT_FALSE(any_has(run.facts, ", 1 ranks"));
}

TEST_F(DryRunTest, AVocabularyOfAnotherModelIsAProblem) {
  config_.model.vocab = directory_ / "vocab.txt";
  write_file_atomically(*config_.model.vocab, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  const DryRun run = checked();
  ASSERT_EQ(run.problems.size(), 1u) << testing::PrintToString(run.problems);
  EXPECT_TRUE(any_has(run.problems, "has 5 entries")) << run.problems[0];
}

TEST_F(DryRunTest, StagesThatDoNotDivideTheModelAreAProblem) {
  config_.parallel.stages = 2;
  const DryRun run = checked();
  ASSERT_EQ(run.problems.size(), 1u) << testing::PrintToString(run.problems);
  EXPECT_TRUE(any_has(run.problems, "parallel.stages")) << run.problems[0];
  EXPECT_FALSE(any_has(run.facts, "memory suffices"));
}

TEST_F(DryRunTest, ADeviceThatCannotHoldTheModelIsAProblem) {
  config_.device.backend = &device::find_backend("sample");
  config_.model.precision = config::Precision::kFp8;
  const DryRun run = checked();
  ASSERT_EQ(run.problems.size(), 1u);
  EXPECT_TRUE(any_has(run.problems, "has no FP8")) << run.problems[0];
  EXPECT_FALSE(any_has(run.facts, "memory suffices"));
  EXPECT_TRUE(any_has(run.facts, "evaluation data: ")) << "the rest is checked all the same";
}

// Expects this problem and no other.
#define EXPECT_PROBLEM(part)                                                                  \
  do {                                                                                        \
    const DryRun run = checked();                                                             \
    EXPECT_EQ(run.problems.size(), 1u) << testing::PrintToString(run.problems);               \
    EXPECT_TRUE(any_has(run.problems, part)) << part << testing::PrintToString(run.problems); \
  } while (false)

TEST_F(DryRunTest, TrainingSamplesInTheEvaluationDataAreAProblem) {
  std::filesystem::copy(directory_ / "data.hdf5", directory_ / "copy.hdf5");
  config_.data.eval = {directory_ / "copy.hdf5"};
  EXPECT_PROBLEM(
      "data.eval: shares 48 of 48 samples with data.train (48 training samples compared)");
  data::Instances one = counting_instances(10);
  for (size_t i = 0; i + 1 < one.masked_offsets.size() - 1; ++i) {
    for (uint64_t at = one.masked_offsets[i]; at < one.masked_offsets[i + 1]; ++at) {
      one.masked_ids[at] = kSmallestWord;
    }
  }
  write_small_data(directory_ / "one.hdf5", one);
  config_.data.eval = {directory_ / "one.hdf5"};
  EXPECT_PROBLEM("data.eval: shares 1 of 10 samples with data.train");
  config_.data.eval_samples = 9;
  EXPECT_EQ(checked().problems, std::vector<std::string>()) << "it is not evaluated";
}

TEST_F(DryRunTest, ATrainingFileAsEvaluationDataIsAProblemUnderAnyName) {
  std::filesystem::create_symlink(directory_ / "data.hdf5", directory_ / "link.hdf5");
  std::filesystem::create_directory(directory_ / "folder");
  std::filesystem::create_hard_link(directory_ / "data.hdf5", directory_ / "folder" / "a.hdf5");
  for (const char* name : {"data.hdf5", "link.hdf5", "folder"}) {
    config_.data.eval = {directory_ / name};
    const DryRun run = checked();
    EXPECT_TRUE(any_has(run.problems, ": data.train has this file, too (")) << name;
  }
}

TEST_F(DryRunTest, AFileThatIsGivenTwiceIsAProblem) {
  std::filesystem::create_symlink("data.hdf5", directory_ / "link.hdf5");
  const auto twice = [&](const char* name) {
    return std::vector{config_.data.train[0], directory_ / name};
  };
  const auto once = config_.data.train;
  config_.data.train = twice("data.hdf5");
  EXPECT_PROBLEM("data.hdf5: is given twice");
  config_.data.train = once;
  config_.data.train = twice("link.hdf5");
  EXPECT_PROBLEM("link.hdf5: is the same file as ");
  config_.data.train = once;
  config_.data.eval.push_back(config_.data.eval[0]);
  EXPECT_PROBLEM("data.eval: ");
}

TEST_F(DryRunTest, ARunThatEndsBeforeItsFirstEvaluationIsAProblem) {
  config_.target.eval_interval_samples = 49;
  EXPECT_PROBLEM(
      "the first evaluation is due at 49 samples, but the run's 6 steps of 8 samples end at 48");
  config_.target.eval_interval_samples = 48;
  EXPECT_EQ(checked().problems, std::vector<std::string>());
  config_.target.start_eval_at_sample = 49;
  EXPECT_PROBLEM("the first evaluation is due at 96 samples");
  config_.target = {.max_steps = 6};
  EXPECT_PROBLEM("the first evaluation is due at 150,000 samples");  // by MLPerf's formula
}

TEST_F(DryRunTest, CheckpointsThatAreNeverTakenAreAProblem) {
  config_.checkpoint.every_steps = 6;
  EXPECT_PROBLEM("checkpoint.every_steps: the first checkpoint is due after step 6");
  EXPECT_PROBLEM("so it writes no checkpoint; lower the value, or set");
  config_.checkpoint.every_steps = 5;
  EXPECT_EQ(checked().problems, std::vector<std::string>());
  config_.log.loss_interval_steps = 10;
  EXPECT_PROBLEM("due after step 10, but the run has 6 steps");
  EXPECT_PROBLEM("lower log.loss_interval_steps, 10,");
  config_.checkpoint.every_steps = 6;
  EXPECT_PROBLEM("lower the value and log.loss_interval_steps, 10,");
  config_.target.max_steps = 1;
  config_.target.eval_interval_samples = 8;
  EXPECT_PROBLEM("but the run has 1 step, so it writes no checkpoint; set checkpoint.every_steps");
}

TEST_F(DryRunTest, ShapesOfOtherSamplesAreAProblem) {
  config_.data.shapes = write_small_shapes(*open_small(counting_instances(48)));
  EXPECT_EQ(checked().problems, std::vector<std::string>());
  config_.data.shapes = write_small_shapes(*open_small(counting_instances(46)));
  EXPECT_PROBLEM("was made from other data (46 samples), not from data.train (48 samples)");
}

TEST_F(DryRunTest, MissingFilesAreNamedWithTheirKeys) {
  config_.data.train = {directory_ / "none.hdf5"};
  EXPECT_PROBLEM("none.hdf5: no such file or folder; 'strata data mlperf' makes MLPerf's data set");
  config_.data.train = {directory_ / "data.hdf5"};
  config_.model.checkpoint = directory_ / "none.safetensors";
  EXPECT_PROBLEM("model.checkpoint: ");
  config_.model.checkpoint.reset();
  config_.model.vocab = directory_ / "none.txt";
  EXPECT_PROBLEM("none.txt: no such file");
  config_.model.vocab.reset();
  config_.data.shapes = directory_ / "none.shapes";
  EXPECT_PROBLEM("data.shapes: ");
}

// The size exceeds the address space. Sanitizers end a process that allocates so much.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(DryRunTest, TooLittleMemoryIsAProblem) {
  config_.batch.micro_batch = 1 << 30;
  const DryRun run = checked();
  EXPECT_TRUE(any_has(run.problems, "memory")) << testing::PrintToString(run.problems);
  EXPECT_FALSE(any_has(run.facts, "memory suffices"));
}
#endif

}  // namespace
}  // namespace strata::training
