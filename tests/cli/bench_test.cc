#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tests/cli/small_benchmark.h"

namespace strata::cli {
namespace {

using nlohmann::json;

std::vector<std::string> balance(const std::vector<std::string>& more) {
  std::vector<std::string> command = {kStrata, "bench", "balance"};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

// What a step does, without doing it.
TEST(BenchStep, ExplainsTheOrderOfWork) {
  const std::string config = STRATA_SOURCE_DIR "/scripts/configs/tiny.yaml";
  const std::vector<std::string> command = {
      kStrata, "bench",     "step",  "--config",
      config,  "--explain", "--set", "batch.gradient_accumulation_steps=2"};
  std::vector<std::string> as_json = command;
  as_json.push_back("--json");
  const ProcessResult result = run(as_json);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json explained = json::parse(result.out);
  EXPECT_EQ(explained["schedule"], "micro_batch_order");
  EXPECT_EQ(explained["blocks"], 4);
  const json& tasks = explained["tasks"];
  ASSERT_EQ(tasks.size(), 2u * 8 + 4 + 1);
  EXPECT_EQ(tasks[0], (json{{"task", "forward"}, {"micro_batch", 0}, {"block", "embeddings"}}));
  EXPECT_EQ(tasks[4]["task"], "backward");
  EXPECT_EQ(tasks[4]["block"], "heads");
  EXPECT_EQ(tasks[13]["task"], "ready");
  EXPECT_EQ(tasks[13]["gradients"][0][0], 0);
  EXPECT_EQ(tasks.back()["task"], "update");
  const ProcessResult table = run(command);
  EXPECT_NE(table.out.find("micro-batch  block"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("every bucket is updated"), std::string::npos) << table.out;
}

TEST(BenchStep, ExplainsEveryStageOfAPipeline) {
  const std::string config = STRATA_SOURCE_DIR "/scripts/configs/tiny.yaml";
  const ProcessResult result =
      run({kStrata, "bench", "step", "--config", config, "--explain", "--json", "--set",
           "batch.gradient_accumulation_steps=2", "--set", "parallel.stages=2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json stages = json::parse(result.out);
  ASSERT_EQ(stages.size(), 2u);
  for (int stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(stages[stage]["schedule"], "modular_pipeline");
    EXPECT_EQ(stages[stage]["stage"], stage);
    EXPECT_EQ(stages[stage]["blocks"], stage == 0 ? 3 : 1);
  }
  EXPECT_EQ(
      stages[1]["tasks"][0],
      (json{{"task", "receive_input"}, {"micro_batch", 0}, {"block", "layer_1"}, {"peer", 0}}));
}

TEST(BenchBalance, MeasuresEveryStrategyAtEveryNumberOfRanks) {
  const ProcessResult result =
      run(balance({"--ranks", "8,64", "--steps", "20", "--samples", "50000", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::map<std::pair<int, std::string>, json> rows;
  for (const json& row : json::parse(result.out)) rows[{row["ranks"], row["strategy"]}] = row;
  EXPECT_EQ(rows.size(), 10u);
  for (const int ranks : {8, 64}) {
    const auto mean = [&](const char* strategy) {
      return rows.at({ranks, strategy})["mean_imbalance"].get<double>();
    };
    EXPECT_GT(mean("random"), mean("stratified"));
    EXPECT_GT(mean("stratified"), mean("stratified+presort"));
    EXPECT_LT(mean("planned"), 1.003);
    EXPECT_GE(mean("planned"), 1);
    EXPECT_EQ(rows.at({ranks, "planned"})["group_ranks"], ranks);
    EXPECT_EQ(rows.at({ranks, "stratified+presort"})["group_ranks"], 8);
    EXPECT_EQ(rows.at({ranks, "planned"})["bytes_received_per_rank_and_step"], 0);
    EXPECT_GT(rows.at({ranks, "exchange"})["bytes_received_per_rank_and_step"], 0);
  }
}

TEST(BenchBalance, PrintsATableOfTheChosenStrategies) {
  const ProcessResult result = run(balance(
      {"--ranks", "4", "--steps", "2", "--samples", "1000", "--strategies", "random,planned"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("|     4 | random "), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("|     4 | planned "), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("exchange"), std::string::npos) << result.out;
  EXPECT_EQ(result.err, "");
}

TEST(BenchBalance, WhatCannotBePlannedIsNamed) {
  expect_refusal(run(balance({"--ranks", "100", "--samples", "1000"})),
                 {"1000 samples", "100 ranks x 16"});
  expect_refusal(run(balance({"--cost", "{linear: 1}"})), {"--cost", "quadratic", "missing"});
  expect_refusal(run(balance({"--lengths", "/absent.txt"})), {"/absent.txt"});
}

class BenchWithData : public SmallBenchmark {};

TEST_F(BenchWithData, BalanceTakesTheLengthsOfADataSet) {
  const ProcessResult result = run(balance({"--lengths", path("data/train.hdf5"), "--ranks", "2",
                                            "--batch", "2", "--steps", "5", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(json::parse(result.out).size(), 5u);
}

TEST_F(BenchWithData, ACostThatWasMeasuredCanBeTrainedAndPlannedWith) {
  const std::string cost = path("cost.json");
  const ProcessResult measured = strata({"bench", "cost", "--config", path("run.yaml"), "--rounds",
                                         "5", "--tokens", "2048", "--out", cost, "--json"});
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  const json printed = json::parse(measured.out);
  EXPECT_EQ(printed, json::parse(read_file(cost)));
  EXPECT_GT(printed["linear"].get<double>() + printed["quadratic"].get<double>(), 0);
  EXPECT_GE(printed["batches"].size(), 5u);

  const ProcessResult planned =
      run(balance({"--lengths", path("data/train.hdf5"), "--ranks", "2", "--batch", "2", "--steps",
                   "2", "--cost", cost, "--json"}));
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  const ProcessResult trained = strata(train({"--set", "batch.load_balance.strategy=planned",
                                              "--set", "batch.load_balance.cost=" + cost}));
  EXPECT_LE(trained.exit_code, 1) << trained.err;
  EXPECT_NE(read_file(result("result_0.yaml")).find("cost: {linear: "), std::string::npos);
}

}  // namespace
}  // namespace strata::cli
