#include "training/bert_system.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "harness/record/result_tree.h"
#include "harness/time_to_train.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"
#include "tests/training/small_training.h"
#include "training/ranks/harness_communicator.h"

namespace strata::training {
namespace {

class BertSystemTest : public testing_support::TemporaryDirectory {
 protected:
  BertSystemTest() {
    write_small_data(directory_ / "train.hdf5", counting_instances(48));
    write_small_data(directory_ / "eval.hdf5", counting_instances(10));
    write_small_model(directory_ / "model.json");
    config_ = small_run();
    config_.model.config = directory_ / "model.json";
    config_.data.train = {directory_ / "train.hdf5"};
    config_.data.eval = {directory_ / "eval.hdf5"};
    config_.run.output = directory_ / "out";
    config_.run.system = "small";
    config_.target.masked_lm_accuracy = 0.99;
    config_.target.eval_interval_samples = 16;
    config_.target.max_steps = 6;
  }

  std::vector<harness::ExperimentResult> run() {
    const Ranks ranks{*communicator_};
    BertSystem system(config_, ranks);
    HarnessCommunicator communicator(ranks);
    return harness::time_to_train(config_, system, communicator);
  }

  std::unique_ptr<comm::Communicator> communicator_ = comm::make_single_communicator();
  config::RunConfig config_;
};

TEST_F(BertSystemTest, EndsAtTheStepLimitWithoutTheTarget) {
  const auto results = run();
  ASSERT_EQ(results.size(), 1u);
  EXPECT_FALSE(results[0].reached_target);
  EXPECT_EQ(results[0].steps, 6);
  EXPECT_EQ(results[0].samples, 48);
  EXPECT_TRUE(std::filesystem::exists(results[0].log));
}

TEST_F(BertSystemTest, EndsIfTheLossIsNotFinite) {
  config_.target.max_steps = 1000;
  config_.optimizer.lr = 1e30;
  const auto results = run();
  EXPECT_FALSE(results[0].reached_target);
  EXPECT_LT(results[0].steps, 20);
  const std::string log = read_file(results[0].log);
  EXPECT_THAT(log, HasSubstr("\"status\": \"aborted\""));
  EXPECT_THAT(log, HasSubstr("eval_accuracy")) << "an evaluation is in every log";
}

TEST_F(BertSystemTest, EndsAtTheFirstEvaluationThatReachesTheTarget) {
  config_.target.masked_lm_accuracy = 1e-9;
  config_.target.start_eval_at_sample = 24;
  config_.optimizer.lr = 5e-3;
  config_.target.max_steps = 40;
  const auto results = run();
  EXPECT_TRUE(results[0].reached_target);
  EXPECT_GE(results[0].samples, 24);
  EXPECT_LE(results[0].samples, 320);
  EXPECT_GT(results[0].accuracy, 0);
}

// The open division only warns, so that speed can be measured.
TEST_F(BertSystemTest, TheClosedDivisionRefusesTrainingOnEvaluationData) {
  config_.data.eval = config_.data.train;
  const Ranks ranks{*communicator_};
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(BertSystem(config_, ranks));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("strata: warning: data.eval: "));
  config_.run.division = config::Division::kClosed;
  EXPECT_THAT(testing_support::error_of([&] { BertSystem(config_, ranks); }),
              HasSubstr("data.train has this file, too"));
}

// Weights, order of the data and dropout follow from the seed; warm-up leaves no trace.
TEST_F(BertSystemTest, WarmUpStepsDoNotChangeTheRun) {
  config_.run.seed = 11;
  const auto checkpoint = [&](int warmup_steps, const char* output) {
    config_.initialization.warmup_steps = warmup_steps;
    config_.log.save_checkpoint = true;
    config_.run.output = directory_ / output;
    run();
    return read_file(harness::ResultTree{config_.run.output, "Strata", "small"}.checkpoint(0));
  };
  EXPECT_EQ(checkpoint(0, "none"), checkpoint(5, "five"));
}

TEST_F(BertSystemTest, ExperimentsStartAfresh) {
  config_.run.seed = 11;
  config_.run.experiments = 2;
  config_.log.save_checkpoint = true;
  const auto both = run();
  EXPECT_EQ(both[0].seed, 11u);
  EXPECT_EQ(both[1].seed, 12u);
  const harness::ResultTree tree{config_.run.output, "Strata", "small"};
  const std::string second = read_file(tree.checkpoint(1));
  // Runs the second experiment alone, as a first one.
  config_.run.seed = 12;
  config_.run.experiments = 1;
  config_.run.output = directory_ / "alone";
  run();
  EXPECT_EQ(read_file(harness::ResultTree{config_.run.output, "Strata", "small"}.checkpoint(0)),
            second);
}

TEST_F(BertSystemTest, ReportsAnIncompleteStepTrace) {
  const Ranks ranks{*communicator_};
  BertSystem system(config_, ranks);
  system.prepare(7, {.step_trace = "/dev/full"}, [](const std::string&) {});
  system.start();
  testing::internal::CaptureStderr();
  system.train_step();
  EXPECT_NO_THROW(system.save()) << "a trace is no reason to fail";
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "\nstrata: /dev/full: step 1 is missing: No space left on device\n");
}

TEST_F(BertSystemTest, ACheckpointIsTakenEvenIfTheStepTraceIsIncomplete) {
  const Ranks ranks{*communicator_};
  for (const auto& trace : {directory_ / "steps.jsonl", std::filesystem::path("/dev/full")}) {
    BertSystem system(config_, ranks);
    system.prepare(7, {.step_trace = trace}, [](const std::string&) {});
    system.start();
    system.train_step();
    system.begin_checkpoint(directory_ / trace.filename().string().substr(0, 4), "a note");
    EXPECT_TRUE(system.finish_checkpoint()) << trace;
  }
}

// The CPU backend has nothing to tune and nothing to capture.
TEST_F(BertSystemTest, AWarmUpWithoutTrialsPrintsNothing) {
  config_.initialization.warmup_steps = 1;
  const Ranks ranks{*communicator_};
  BertSystem system(config_, ranks);
  system.prepare(7, {}, [](const std::string&) {});
  system.warm_up([](const std::string& line) { ADD_FAILURE() << line; });
}

TEST_F(BertSystemTest, KnowsTheFactsForTheLog) {
  const Ranks ranks{*communicator_};
  BertSystem system(config_, ranks);
  const std::vector<std::string> tensors = system.tensors();
  const auto has = [&](const char* tensor) { return std::ranges::count(tensors, tensor) == 1; };
  EXPECT_TRUE(has("bert/embeddings/word_embeddings"));
  EXPECT_TRUE(has("bert/encoder/layer_0/attention/self/query/kernel"));
  EXPECT_TRUE(has("cls/seq_relationship/output_bias"));
  EXPECT_EQ(system.system_facts().ranks, 1);
  EXPECT_FALSE(system.system_facts().libraries.empty());
  system.prepare(7, {}, [](const std::string&) {});
  const harness::DataFacts facts = system.start();
  EXPECT_EQ(facts.train_samples, 48);
  EXPECT_EQ(facts.eval_samples, 10);
}

TEST_F(BertSystemTest, DataHaveAChecksumWhereARunMayGoOn) {
  const Ranks ranks{*communicator_};
  const auto checksum = [&](int64_t every_steps, bool resumed) {
    config_.checkpoint.every_steps = every_steps;
    BertSystem system(config_, ranks);
    system.prepare(7, {.resumed = resumed}, [](const std::string&) {});
    return system.start().checksum;
  };
  const uint32_t begun = checksum(2, false);
  EXPECT_NE(begun, 0u);
  EXPECT_EQ(checksum(2, true), begun);
  EXPECT_EQ(checksum(0, true), begun) << "it takes no further checkpoints";
  EXPECT_EQ(checksum(0, false), 0u) << "it takes time";
  write_small_data(directory_ / "train.hdf5", counting_instances(47));
  EXPECT_NE(checksum(2, true), begun);
}

// Before the clock runs it may only check that the data exist.
TEST_F(BertSystemTest, DoesNotLookIntoTheDataBeforeItStarts) {
  const std::string train = read_file(config_.data.train[0]),
                    eval = read_file(config_.data.eval[0]);
  write_file_atomically(config_.data.train[0], "not yet");
  write_file_atomically(config_.data.eval[0], "not yet");
  const Ranks ranks{*communicator_};
  config_.initialization.warmup_steps = 2;
  BertSystem system(config_, ranks);
  system.prepare(7, {}, [](const std::string&) {});
  system.warm_up([](const std::string&) {});
  write_file_atomically(config_.data.train[0], train);
  write_file_atomically(config_.data.eval[0], eval);
  system.start();
  EXPECT_EQ(system.train_step().step, 1);
  EXPECT_GE(system.evaluate(), 0);
}

class ResumedBertSystem : public BertSystemTest {
 protected:
  ResumedBertSystem() {
    const Ranks ranks{*communicator_};
    BertSystem system(config_, ranks);
    system.prepare(7, {}, [](const std::string&) {});
    system.start();
    system.train_step();
    system.begin_checkpoint(folder_, "a note");
    EXPECT_TRUE(system.finish_checkpoint());
  }

  std::optional<harness::CheckpointFacts> facts() {
    const Ranks ranks{*communicator_};
    return BertSystem(config_, ranks).checkpoint_facts(folder_, [](const std::string&) {});
  }

  const std::filesystem::path folder_ = directory_ / "checkpoint";
};

TEST_F(ResumedBertSystem, ContinuesWithTheSameModel) {
  const auto facts = this->facts();
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->step, 1);
  EXPECT_EQ(facts->note, "a note");
}

// The models have the same number of parameters.
TEST_F(ResumedBertSystem, RefusesAnotherModelAndNamesTheDifference) {
  const std::string model = read_file(directory_ / "model.json");
  const std::pair<const char*, const char*> changes[] = {
      {R"("num_attention_heads": 1)", "num_attention_heads is 1, was 2"},
      {R"("hidden_act": "gelu_new")", "hidden_act is \"gelu_new\", was \"gelu\""},
      {R"("layer_norm_eps": 1e-5)", "layer_norm_eps is 1e-05, was 1e-12"},
      {R"("hidden_dropout_prob": 0.25)", "hidden_dropout_prob is 0.25, was 0.1"},
      {R"("attention_probs_dropout_prob": 0)", "attention_probs_dropout_prob is 0.0, was 0.1"}};
  for (const auto& [change, said] : changes) {
    std::string changed = model;
    changed.insert(changed.rfind('}'), std::string(", ") + change);  // the last one is read
    write_file_atomically(directory_ / "model.json", changed);
    const std::string error = testing_support::error_of([&] { facts(); });
    EXPECT_THAT(error, HasSubstr(std::string("another model: ") + said)) << " for " << change;
  }
  write_file_atomically(directory_ / "model.json", model);
  config_.model.norm = config::NormKind::kNone;
  const std::string error = testing_support::error_of([&] { facts(); });
  EXPECT_THAT(error, HasSubstr("another model: norm is \"none\", was \"post\""));
}

// Problems with the data are found after the clock starts.
TEST_F(BertSystemTest, ARunThatCannotStartLeavesNoResult) {
  config_.data.eval_samples = 11;
  EXPECT_THROW(run(), Error);
  const harness::ResultTree tree{config_.run.output, "Strata", "small"};
  EXPECT_FALSE(std::filesystem::exists(tree.log(0)));
  EXPECT_FALSE(std::filesystem::exists(tree.config(0)));
  config_.data.eval_samples = 10;
  EXPECT_NO_THROW(run());
}

TEST_F(BertSystemTest, AFailedInitialisationCanBeTriedAgain) {
  const auto data = std::exchange(config_.data.eval, {directory_ / "none.hdf5"});
  EXPECT_THROW(run(), Error);
  EXPECT_FALSE(std::filesystem::exists(config_.run.output)) << "nothing is left behind";
  config_.data.eval = data;
  EXPECT_NO_THROW(run());
  EXPECT_THROW(run(), Error) << "results are there now";
}

}  // namespace
}  // namespace strata::training
