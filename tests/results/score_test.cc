#include "results/score.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "results/score_report.h"
#include "tests/compliance/bert_log.h"

namespace strata::results {
namespace {

using ::strata::testing::BertLog;
using ::strata::testing::TemporaryFolder;

constexpr const char* kFolder = "Strata/results/laptop/bert/";

// Writes a tree with one run of each time to train, in ms; a negative time is an aborted run.
void write_runs(const TemporaryFolder& folder, const std::vector<double>& times,
                const std::string& division = "open") {
  for (size_t i = 0; i < times.size(); ++i) {
    BertLog log = BertLog::passing(division);
    log.at("run_stop").time_ms = log.at("run_start").time_ms + std::abs(times[i]);
    log.at("global_batch_size").value = "256";
    if (times[i] < 0) log.without("eval_accuracy");
    folder.write(std::string(kFolder) + "result_" + std::to_string(i) + ".txt", log.text());
  }
  folder.write(
      "Strata/systems/laptop.json",
      R"({"division": ")" + division +
          R"(", "system_name": "laptop", "number_of_nodes": "2", "accelerators_per_node": 4})");
}

Score score_one(const TemporaryFolder& folder) {
  const std::vector<Score> scores =
      score_directory(folder.path(), {.ruleset = "5.0.0", .threads = 1});
  EXPECT_EQ(scores.size(), 1u);
  return scores.at(0);
}

TEST(Score, OlympicMeanDropsTheFastestAndTheSlowest) {
  const TemporaryFolder folder;
  write_runs(folder, {1000, 90000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000});
  const Score score = score_one(folder);
  EXPECT_EQ(score.mean, Mean::kOlympic);
  EXPECT_DOUBLE_EQ(*score.unscaled_ms,
                   (3000 + 4000 + 5000 + 6000 + 7000 + 8000 + 9000 + 10000) / 8.0);
  EXPECT_EQ(score.time_to_train_ms, score.unscaled_ms);
  EXPECT_EQ(score.counting_runs(), 10u);
  EXPECT_EQ(score.batch_size, 256);
  EXPECT_EQ(score.samples_to_converge, 640);
  EXPECT_EQ(score.system.accelerators, 8);
  EXPECT_DOUBLE_EQ(*score.sequences_per_second, 640 / (*score.unscaled_ms / 1000));
  EXPECT_DOUBLE_EQ(*score.sequences_per_second_per_accelerator, *score.sequences_per_second / 8);
}

TEST(Score, AFailedRunIsTheSlowest) {
  const TemporaryFolder folder;
  write_runs(folder, {1000, -1, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000});
  const Score score = score_one(folder);
  EXPECT_DOUBLE_EQ(*score.unscaled_ms,
                   (3000 + 4000 + 5000 + 6000 + 7000 + 8000 + 9000 + 10000) / 8.0);
  EXPECT_EQ(score.counting_runs(), 9u);
  EXPECT_NE(score_table({score}).find("result_1.txt does not count"), std::string::npos);
}

TEST(Score, TwoFailedRunsGiveNoScore) {
  const TemporaryFolder folder;
  write_runs(folder, {1000, -1, -1, 4000, 5000, 6000, 7000, 8000, 9000, 10000});
  const Score score = score_one(folder);
  EXPECT_EQ(score.mean, Mean::kNone);
  EXPECT_FALSE(score.time_to_train_ms);
}

TEST(Score, FewRunsGiveAPlainMeanThatSaysSo) {
  const TemporaryFolder folder;
  write_runs(folder, {1000, 2001});
  const Score score = score_one(folder);
  EXPECT_EQ(score.mean, Mean::kPlain);
  EXPECT_DOUBLE_EQ(*score.unscaled_ms, 1500.5);
  EXPECT_NE(score_table({score}).find("not an olympic one"), std::string::npos);
}

TEST(Score, CommitteeScalingIsApplied) {
  const TemporaryFolder folder;
  write_runs(folder, {1000, 2000});
  folder.write(std::string(kFolder) + "scaling.json", R"({"scaling_factor": 1.5})");
  EXPECT_DOUBLE_EQ(*score_one(folder).time_to_train_ms, 2250);
  folder.write(std::string(kFolder) + "scaling.json", "{}");
  EXPECT_THROW(score_one(folder), Error);
}

TEST(Score, EnergyIsIntegratedOverTheRun) {
  const TemporaryFolder folder;
  write_runs(folder, {10'000});
  const auto event = [](const std::string& key, const std::string& value, double time_ms) {
    return BertLog::line({key, value, "", time_ms});
  };
  folder.write(std::string(kFolder) + "power/result_0/node_0.txt",
               event("power_measurement_start", "null", 1000) +
                   event("power_reading", "100", 2000) + event("power_reading", "300", 3000) +
                   event("power_measurement_stop", "null", 3000));
  folder.write(std::string(kFolder) + "power/result_0/sw_0.txt",
               event("interconnect_power_est", "10", 1000));
  // 200 W on average and a switch of 10 W, over 10 s.
  EXPECT_DOUBLE_EQ(score_one(folder).energy_joules.value_or(0), 2100);
}

TEST(Score, EmptyDirectoryIsAnError) {
  const TemporaryFolder folder;
  EXPECT_THROW(score_directory(folder.path()), Error);
  EXPECT_THROW(score_directory(folder.path() / "absent"), Error);
}

TEST(Score, ReportsHoldEveryFolder) {
  const TemporaryFolder folder;
  write_runs(folder, {1000, 2000});
  const std::vector<Score> scores = {score_one(folder)};
  EXPECT_NE(score_csv(scores).find("Strata,laptop,bert,open,training,5.0.0,,8,2,2,plain,0.025"),
            std::string::npos)
      << score_csv(scores);
  EXPECT_NE(score_json(scores).find("\"time_to_train_ms\": 1500.0"), std::string::npos)
      << score_json(scores);
}

}  // namespace
}  // namespace strata::results
