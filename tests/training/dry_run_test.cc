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
    write_small_data(directory_ / "data.hdf5", counting_instances(48));
    write_small_model(directory_ / "model.json");
    config_ = small_run();
    config_.model.config = directory_ / "model.json";
    config_.data.train = config_.data.eval = {directory_ / "data.hdf5"};
    config_.target.max_steps = 6;
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
  EXPECT_TRUE(any_has(run.facts, "memory is there")) << testing::PrintToString(run.facts);
  for (const char* part : {", 1 rank", "model: 0.0 million parameters", "training data: 48 samples",
                           "evaluation data: 48 of 48 samples", "at most 6 steps"}) {
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
  EXPECT_FALSE(any_has(run.facts, "memory is there"));
}

TEST_F(DryRunTest, ADeviceThatCannotHoldTheModelIsAProblem) {
  config_.device.backend = &device::find_backend("sample");
  config_.model.precision = config::Precision::kFp8;
  const DryRun run = checked();
  ASSERT_EQ(run.problems.size(), 1u);
  EXPECT_TRUE(any_has(run.problems, "has no FP8")) << run.problems[0];
  EXPECT_FALSE(any_has(run.facts, "memory is there"));
  EXPECT_TRUE(any_has(run.facts, "evaluation data: ")) << "the rest is checked all the same";
}

// More than a processor can address. Sanitizers end a process that asks for so much.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(DryRunTest, TooLittleMemoryIsAProblem) {
  config_.batch.micro_batch = 1 << 30;
  const DryRun run = checked();
  EXPECT_TRUE(any_has(run.problems, "memory")) << testing::PrintToString(run.problems);
  EXPECT_FALSE(any_has(run.facts, "memory is there"));
}
#endif

}  // namespace
}  // namespace strata::training
