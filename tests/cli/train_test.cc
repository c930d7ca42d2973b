#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/files/files.h"
#include "tests/cli/small_benchmark.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Train : public SmallBenchmark {
 protected:
  // Returns the masked-LM losses of a step trace.
  static std::vector<double> training_losses(const fs::path& trace) {
    std::vector<double> losses;
    std::istringstream lines(read_file(trace));
    for (std::string line; std::getline(lines, line);) {
      losses.push_back(json::parse(line).at("masked_lm_loss"));
    }
    return losses;
  }
  void expect_a_whole_success(const std::vector<Event>& log, int ranks);
  void expect_checkers_pass(const fs::path& log);
};

// Expects MLPerf's order: cache_clear, initialisation, then blocks that each end with an
// evaluation.
void Train::expect_a_whole_success(const std::vector<Event>& log, int ranks) {
  const size_t evaluations = values_of(log, "eval_accuracy").size();
  ASSERT_GE(evaluations, 2u) << "the target is too easy";
  std::string expected = "cache_clear init_start init_stop run_start";
  for (size_t i = 0; i < evaluations; ++i) {
    expected += " block_start epoch_start epoch_stop block_stop eval_start eval_accuracy eval_stop";
  }
  EXPECT_EQ(timeline(log), expected + " run_stop");
  EXPECT_TRUE(ends_with_run_stop(log, "success"));

  EXPECT_EQ(values_of(log, "submission_benchmark"), std::vector<json>{"bert"});
  EXPECT_EQ(values_of(log, "global_batch_size"), std::vector<json>{4 * ranks});
  const auto accuracies = values_of(log, "eval_accuracy");
  EXPECT_GE(accuracies.back(), 0.4);
  for (size_t i = 0; i + 1 < evaluations; ++i) EXPECT_LT(accuracies[i], 0.4);
  const auto samples = values_of(log, "train_samples");
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0], 16 * static_cast<int>(evaluations));
  int64_t before = 0;
  for (const Event& event : log) {
    EXPECT_GE(event.at("time_ms"), before);
    before = event.at("time_ms");
  }
}

void Train::expect_checkers_pass(const fs::path& log) {
  if (!testing_support::oracle_python()) GTEST_SKIP() << testing_support::kNoOracle;
  const std::string python = testing_support::oracle_python();
  const auto checked =
      testing_support::run_command(python +
                                   " -m mlperf_logging.compliance_checker --usage training "
                                   "--ruleset 5.0.0 --log_output " +
                                   path("checker.log") + " " + log.string());
  EXPECT_THAT(checked.output, HasSubstr("SUCCESS"));
  EXPECT_EQ(checked.status, 0) << checked.output;
  const auto described = testing_support::run_command(
      python + " -m mlperf_logging.system_desc_checker " + system_description().string() +
      " training 5.0.0 --log_output " + path("system.log"));
  EXPECT_THAT(described.output, HasSubstr("System description checker passed"));
}

TEST_F(Train, ReachesTheTargetAndWritesTheResultTree) {
  const ProcessResult trained = strata(train());
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(output_files(), (std::vector<std::string>{"Strata/results/small/bert/result_0.txt",
                                                      "Strata/results/small/bert/result_0.yaml",
                                                      "Strata/systems/small.json"}));
  expect_a_whole_success(events(), 1);
  EXPECT_THAT(trained.out, HasSubstr("result_0: success, accuracy 0."));
  expect_checkers_pass(result("result_0.txt"));
}

TEST_F(Train, ReachesTheTargetOnTwoRanks) {
  const ProcessResult trained = strata(train(), 2);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  expect_a_whole_success(events(), 2);
  EXPECT_THAT(trained.out, HasSubstr("result_0: success"));
  EXPECT_EQ(trained.out.find("result_0"), trained.out.rfind("result_0:")) << "said by every rank";
  expect_checkers_pass(result("result_0.txt"));
}

// The stages save their weights as one model, which must be as accurate.
TEST_F(Train, ReachesTheTargetInTwoStages) {
  const ProcessResult trained =
      strata(train({"--set", "parallel.stages=2", "--set", "batch.gradient_accumulation_steps=2",
                    "--set", "batch.micro_batch=2", "--set", "log.save_checkpoint=true"}),
             2);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  expect_a_whole_success(events(), 1);
  const ProcessResult checked = strata({"check", "log", result("result_0.txt").string()});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  const ProcessResult evaluated = strata({"eval", "--config", path("run.yaml"), "--json",
                                          "--checkpoint", result("result_0.safetensors").string()});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_NEAR(json::parse(evaluated.out)["masked_lm"]["accuracy"].get<double>(),
              values_of(events(), "eval_accuracy").back().get<double>(), 1e-6);
}

// Three modules have a layer each. Evaluations run forward through all of them without delay.
TEST_F(Train, ReachesTheTargetByModulesWithDelayedGradients) {
  json model = json::parse(read_file(path("model.json")));
  model["num_hidden_layers"] = 3;
  write_file_atomically(path("three.json"), model.dump());
  const std::vector<std::string> modules = {"--set", "model.config=" + path("three.json"),
                                            "--set", "ouroboros.modules=3",
                                            "--set", "ouroboros.warmup_steps=5",
                                            "--set", "clip.mode=after_allreduce",
                                            "--set", "log.save_checkpoint=true"};
  const ProcessResult trained = strata(train(modules), 2);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  expect_a_whole_success(events(), 1);
  const ProcessResult checked = strata({"check", "log", result("result_0.txt").string()});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  const ProcessResult evaluated =
      strata({"eval", "--config", path("run.yaml"), "--set", "model.config=" + path("three.json"),
              "--json", "--checkpoint", result("result_0.safetensors").string()});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_NEAR(json::parse(evaluated.out)["masked_lm"]["accuracy"].get<double>(),
              values_of(events(), "eval_accuracy").back().get<double>(), 1e-6);
  expect_refusal(strata(train(modules)), {"ouroboros.modules: 3 modules need 2 ranks, not 1"});
}

TEST_F(Train, StagesMustDivideLayersAndRanks) {
  const auto refused = [&](int stages, int ranks) {
    return strata(train({"--set", fmt::format("parallel.stages={}", stages), "--set",
                         "batch.gradient_accumulation_steps=4"}),
                  ranks);
  };
  expect_refusal(refused(3, 1), {"parallel.stages: 3 does not divide the 2 layers of "});
  expect_refusal(refused(2, 1),
                 {"parallel.stages: 2 does not divide 1 rank; start a multiple of 2"});
}

TEST_F(Train, TheLogPassesStratasOwnCheck) {
  ASSERT_EQ(strata(train()).exit_code, 0);
  const ProcessResult checked = strata({"check", "log", result("result_0.txt").string()});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
}

TEST_F(Train, TargetNotReachedIsAborted) {
  const ProcessResult trained =
      strata(train({"--set", "target.masked_lm_accuracy=0.99", "--set", "target.max_steps=20"}));
  EXPECT_EQ(trained.exit_code, 1) << trained.err;
  const auto log = events();
  EXPECT_TRUE(ends_with_run_stop(log, "aborted"));
  EXPECT_EQ(values_of(log, "eval_accuracy").size(), 5u);
  EXPECT_EQ(values_of(log, "train_samples"), std::vector<json>{80});
}

TEST_F(Train, TargetNotReachedIsAbortedOnTwoRanks) {
  const ProcessResult trained =
      strata(train({"--set", "target.masked_lm_accuracy=0.99", "--set", "target.max_steps=10"}), 2);
  EXPECT_EQ(trained.exit_code, 1) << trained.err;
  EXPECT_TRUE(ends_with_run_stop(events(), "aborted"));
}

TEST_F(Train, OnlyTheFirstRankReportsThatTheTargetWasNotReached) {
  std::vector<std::string> ranks = command(
      train({"--set", "target.masked_lm_accuracy=0.99", "--set", "target.max_steps=10"}), 2);
  const auto program = std::find(ranks.begin(), ranks.end(), kStrata);
  const std::string codes = path("codes");
  ranks.insert(program, {"sh", "-c", "\"$@\"; echo $OMPI_COMM_WORLD_RANK:$? >>" + codes, "sh"});
  const ProcessResult trained = run(ranks);
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  const std::string said = read_file(codes);
  EXPECT_TRUE(said == "0:1\n1:0\n" || said == "1:0\n0:1\n") << said;
}

TEST_F(Train, ExperimentsHaveSeedsOfTheirOwn) {
  const ProcessResult trained =
      strata(train({"--experiments", "2", "--json", "--set", "log.step_trace=true"}));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto first = events(), second = events(result("result_1.txt"));
  expect_a_whole_success(first, 1);
  expect_a_whole_success(second, 1);
  EXPECT_EQ(values_of(first, "seed"), std::vector<json>{4});
  EXPECT_EQ(values_of(second, "seed"), std::vector<json>{5});
  EXPECT_EQ(output_files().size(), 7u);
  EXPECT_NE(training_losses(result("result_0.steps.jsonl")),
            training_losses(result("result_1.steps.jsonl")));

  const json results = json::parse(trained.out)["experiments"];
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1]["log"], result("result_1.txt").string());
  EXPECT_EQ(results[1]["seed"], values_of(second, "seed")[0]);
  EXPECT_EQ(results[1]["accuracy"], values_of(second, "eval_accuracy").back());
  EXPECT_EQ(results[1]["samples"], values_of(second, "train_samples")[0]);
  EXPECT_EQ(results[1]["reached_target"], true);
}

// The seeds decide whether the target is reached.
TEST_F(Train, ExperimentsWithoutAConfiguredSeedDrawRandomOnes) {
  std::string configuration = read_file(path("run.yaml"));
  const size_t seed = configuration.find("  seed: 4\n");
  ASSERT_NE(seed, std::string::npos);
  configuration.erase(seed, std::string_view("  seed: 4\n").size());
  write_file_atomically(path("drawn.yaml"), configuration);
  const ProcessResult trained = strata({"train", "--config", path("drawn.yaml"), "--experiments",
                                        "2", "--set", "lr_schedule.training_steps=8"});
  EXPECT_NE(trained.exit_code, 2) << trained.err;
  const auto first = values_of(events(), "seed"),
             second = values_of(events(result("result_1.txt")), "seed");
  EXPECT_EQ(first.size(), 1u);
  EXPECT_EQ(second.size(), 1u);
  EXPECT_NE(first, second);
}

TEST_F(Train, TheTimelineHasTheConfiguredStepsOfEveryRank) {
  ASSERT_EQ(strata(train({"--set", "log.timeline_steps=2"}), 2).exit_code, 0);
  std::map<std::string, std::set<int>> ranks_of;
  const json trace = json::parse(read_file(result("result_0.timeline.json")));
  for (const json& event : trace["traceEvents"]) {
    ranks_of[event["name"]].insert(event["pid"].get<int>());
  }
  for (const char* name : {"step 1", "step 2", "forward heads", "backward heads", "reduce 0"}) {
    EXPECT_EQ(ranks_of[name], (std::set<int>{0, 1})) << name;
  }
  EXPECT_FALSE(ranks_of.contains("step 3"));
}

TEST_F(Train, TheSameSeedGivesTheSameLogValuesTwice) {
  struct Run {
    std::vector<json> log;
    std::vector<double> losses;
  };
  const auto run = [&](const std::string& output, const std::string& seed, int ranks) {
    const ProcessResult trained =
        strata(train({"--set", "run.output=" + path(output), "--set", "run.seed=" + seed, "--set",
                      "log.step_trace=true"}),
               ranks);
    EXPECT_EQ(trained.exit_code, 0) << trained.err;
    const std::string results = path(output + "/Strata/results/small/bert/result_0");
    Run values{{}, training_losses(results + ".steps.jsonl")};
    for (const Event& event : events(results + ".txt")) {
      values.log.push_back({event.at("key"), event.at("value"), event.at("metadata")});
    }
    EXPECT_GT(values.log.size(), 20u);
    EXPECT_GE(values.losses.size(), 4u);
    return values;
  };
  for (const int ranks : {1, 2}) {
    const std::string name = std::to_string(ranks);
    const Run first = run("first" + name, "5", ranks), second = run("second" + name, "5", ranks);
    EXPECT_EQ(first.log, second.log) << ranks << " ranks";
    EXPECT_EQ(first.losses, second.losses) << ranks << " ranks";
    EXPECT_NE(first.losses, run("other" + name, "6", ranks).losses);
  }
}

TEST_F(Train, SetOverridesTheFileAndTheResolvedConfigurationIsSaved) {
  ASSERT_EQ(strata(train({"--set", "optimizer.lr=2e-3", "--set", "log.step_trace=true", "--set",
                          "log.save_checkpoint=true"}))
                .exit_code,
            0);
  EXPECT_EQ(values_of(events(), "opt_base_learning_rate"), std::vector<json>{2e-3});
  const std::string resolved = read_file(result("result_0.yaml"));
  EXPECT_THAT(resolved, HasSubstr("lr: 0.002"));
  EXPECT_THAT(resolved, HasSubstr(path("data/train.hdf5")));
  EXPECT_TRUE(fs::exists(result("result_0.steps.jsonl")));

  // Evaluating the checkpoint under the resolved configuration gives the run's last accuracy.
  const ProcessResult evaluated =
      strata({"eval", "--config", result("result_0.yaml").string(), "--checkpoint",
              result("result_0.safetensors").string(), "--json"});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_EQ(json::parse(evaluated.out)["masked_lm"]["accuracy"],
            values_of(events(), "eval_accuracy").back());
}

TEST_F(Train, ResultsThatAreThereAreNeverTouched) {
  ASSERT_EQ(strata(train()).exit_code, 0);
  const std::string before = read_file(result("result_0.txt"));
  const ProcessResult again = strata(train());
  expect_refusal(again, {result("result_0.txt").string(), "exists already", "run.output"});
  EXPECT_EQ(read_file(result("result_0.txt")), before);
}

TEST_F(Train, ContinuesWithTheMissingExperimentsOverRanks) {
  ASSERT_EQ(strata(train({"--experiments", "1"}), 2).exit_code, 0);
  const std::string before = read_file(result("result_0.txt"));
  const ProcessResult more = strata(train({"--experiments", "3", "--continue", "--json"}), 2);
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_THAT(more.err, HasSubstr("1 of 3 exist and are kept"));
  const json results = json::parse(more.out)["experiments"];
  ASSERT_EQ(results.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(results[i]["experiment"], i);
    EXPECT_EQ(results[i]["reached_target"], true);
  }
  EXPECT_EQ(results[0]["accuracy"], values_of(events(), "eval_accuracy").back());
  EXPECT_EQ(read_file(result("result_0.txt")), before);
  EXPECT_TRUE(ends_with_run_stop(events(result("result_2.txt")), "success"));
}

TEST_F(Train, ContinuingCountsKeptResultsAndRefusesOtherSettings) {
  const std::vector<std::string> out_of_reach = {"--set", "target.masked_lm_accuracy=0.99", "--set",
                                                 "target.max_steps=4"};
  ASSERT_EQ(strata(train(out_of_reach)).exit_code, 1);
  std::vector<std::string> again = out_of_reach;
  again.push_back("--continue");
  EXPECT_EQ(strata(train(again)).exit_code, 1) << "its result is kept: the target was not reached";
  std::vector<std::string> otherwise = again;
  otherwise.insert(otherwise.end(), {"--experiments", "2", "--set", "optimizer.lr=1e-4"});
  expect_refusal(strata(train(otherwise)), {result("result_0.yaml").string(), "another"});
  again.insert(again.end(), {"--experiments", "2"});
  const ProcessResult on_two = strata(train(again), 2);
  EXPECT_EQ(on_two.exit_code, 2);
  EXPECT_THAT(on_two.err, HasSubstr(system_description().string()));
  EXPECT_FALSE(std::filesystem::exists(result("result_1.txt")));
}

// Uses the repository's configuration for tests, whose model has 30522 words.
TEST_F(Train, TheTinyConfigurationRuns) {
  const ProcessResult trained =
      strata({"train", "--config", STRATA_SOURCE_DIR "/scripts/configs/tiny.yaml", "--set",
              "run.system=small", "--set", "run.output=" + path("out"), "--set",
              "data.train=" + path("data/train.hdf5"), "--set",
              "data.eval=" + path("data/eval.hdf5"), "--set", "target.masked_lm_accuracy=0.1",
              "--set", "optimizer.lr=5e-3", "--set", "initialization.clear_whole_cache=false"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_TRUE(ends_with_run_stop(events(), "success"));
}

TEST_F(Train, ADryRunDescribesTheRunAndWritesNoFiles) {
  for (const int ranks : {1, 2}) {
    const ProcessResult checked = strata(train({"--dry-run"}), ranks);
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
    EXPECT_THAT(checked.out, HasSubstr("no problems found"));
    EXPECT_THAT(checked.out, HasSubstr(fmt::format("global batch: {} samples", 4 * ranks)));
  }
  EXPECT_FALSE(fs::exists(path("out")));
}

// Uses this test's data and model.
TEST_F(Train, TheConfigurationsForGpusPassADryRun) {
  const ProcessResult shapes = strata({"data", "shapes", path("data/train.hdf5")});
  ASSERT_EQ(shapes.exit_code, 0) << shapes.err;
  write_file_atomically(path("train.shapes"), shapes.out);
  for (const char* name : {"bert-large.yaml", "bert-large-1gpu.yaml", "bert-large-8gpu.yaml"}) {
    SCOPED_TRACE(name);
    std::vector<std::string> command = {"train", "--dry-run", "--config",
                                        std::string(STRATA_SOURCE_DIR "/scripts/configs/") + name};
    for (const std::string& setting :
         {std::string("device.backend=cpu"), std::string("model.vocab=none"),
          std::string("model.checkpoint=none"), std::string("batch.micro_batch=4"),
          std::string("data.eval_samples=0"), std::string("batch.load_balance.strata=[16, 32, 48]"),
          "model.config=" + path("model.json"), "data.train=" + path("data/train.hdf5"),
          "data.eval=" + path("data/eval.hdf5"), "data.shapes=" + path("train.shapes"),
          "run.output=" + path("out"), std::string("target.eval_interval_samples=1000")}) {
      command.insert(command.end(), {"--set", setting});
    }
    const ProcessResult checked = strata(command);
    EXPECT_EQ(checked.exit_code, 0) << checked.err;
    EXPECT_THAT(checked.out, HasSubstr("no problems found"));
  }
}

// Names every problem, though each would end the run.
TEST_F(Train, ADryRunNamesAllProblems) {
  const ProcessResult checked = strata(
      train({"--dry-run", "--set", "data.train=" + path("text.txt"), "--set",
             "data.eval_samples=1000000", "--set", "model.vocab=" + path("text.txt"), "--set",
             "model.checkpoint=" + path("none"), "--set", "data.shapes=" + path("text.txt")}));
  EXPECT_EQ(checked.exit_code, 2);
  for (const std::string& part : {path("text.txt") + ": ", std::string("data.eval_samples=1000000"),
                                  path("none"), std::string("text.txt:1: ")}) {
    EXPECT_THAT(checked.err, HasSubstr(part)) << part << " is not in ";
  }
  EXPECT_EQ(std::ranges::count(checked.err, '\n'), 5) << checked.err;
  EXPECT_THAT(checked.out, Not(HasSubstr("no problems found")));
}

TEST_F(Train, AllErrorsOfAConfigurationAreReportedAtOnce) {
  const ProcessResult refused =
      strata(train({"--set", "optimizer.lr=-1", "--set", "optimiser.name=adam", "--set",
                    "batch.micro_batch=many"}));
  EXPECT_EQ(refused.exit_code, 2);
  for (const char* part : {"optimizer.lr", "optimiser", "batch.micro_batch"}) {
    EXPECT_THAT(refused.err, HasSubstr(part)) << part << " is not in ";
  }
}

}  // namespace
}  // namespace strata::cli
