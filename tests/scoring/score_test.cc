#include "scoring/score.h"

#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <map>

#include "base/error.h"
#include "scoring/energy.h"
#include "scoring/score_report.h"
#include "tests/compliance/bert_log.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/occurrences.h"

namespace strata::scoring {
namespace {

using ::strata::testing::BertLog;
using ::strata::testing::TemporaryFolder;
using ::strata::testing_support::occurrences;

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
  EXPECT_FALSE(score.target) << "an open system chooses its own";
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
  EXPECT_THAT(score_table({score}), HasSubstr("laptop/bert: result_1.txt: "));
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
  EXPECT_THAT(score_table({score}), HasSubstr("instead of an olympic one"));
}

TEST(Score, ASwitchWithoutAnEstimateAddsNoEnergy) {
  EXPECT_EQ(switch_energy(mllog::LogReader::from_text("", "sw_0.txt"), 1000), 0);
}

TEST(Score, ARunWithoutAPositiveDurationDoesNotCount) {
  for (const double ms : {0.0, -20000.0}) {
    const TemporaryFolder folder;
    write_runs(folder, {1000});
    BertLog log = BertLog::passing();
    log.at("run_stop").time_ms = log.at("run_start").time_ms + ms;
    folder.write(std::string(kFolder) + "result_0.txt", log.text());
    const Score score = score_one(folder);
    EXPECT_EQ(score.runs.at(0).reason, "the time of run_stop is not later than that of run_start")
        << ms;
    EXPECT_EQ(score.counting_runs(), 0u) << ms;
    EXPECT_FALSE(score.unscaled_ms) << ms;
    EXPECT_FALSE(score.sequences_per_second) << ms;
  }
}

TEST(Score, TimesThatAreNotDatesAreReported) {
  for (const auto& [factor, said] : std::map<double, std::string>{
           {1e-3, "looks like seconds"}, {1, ""}, {1e3, "looks like microseconds"}}) {
    const TemporaryFolder folder;
    write_runs(folder, {1000});
    BertLog log = BertLog::passing();
    for (auto& event : log.events) event.time_ms = std::floor(factor * event.time_ms);
    log.at("run_stop").time_ms += 1000;
    folder.write(std::string(kFolder) + "result_0.txt", log.text());
    const std::string odd_time = score_one(folder).runs.at(0).odd_time;
    EXPECT_EQ(odd_time.empty(), said.empty()) << factor;
    EXPECT_THAT(odd_time, HasSubstr(said));
  }
}

TEST(Score, TheFirstReasonIsReportedIfNoFolderCanBeScored) {
  const TemporaryFolder folder;
  folder.write("a/result_0.txt", "no log");
  folder.write("b/result_0.txt", "no log");
  const std::string error = testing_support::error_of([&] { score_directory(folder.path()); });
  EXPECT_THAT(error, HasSubstr((folder.path() / "a").string()));
}

TEST(Score, CommitteeScalingIsApplied) {
  const TemporaryFolder folder;
  write_runs(folder, {1000, 2000});
  folder.write(std::string(kFolder) + "scaling.json", R"({"scaling_factor": 1.5})");
  EXPECT_DOUBLE_EQ(*score_one(folder).time_to_train_ms, 2250);
  EXPECT_THAT(score_table({score_one(folder)}), HasSubstr("1.5000"));
}

TEST(Score, AnInvalidFactorIsReportedAndNotApplied) {
  const TemporaryFolder folder;
  write_runs(folder, {1000, 2000});
  for (const auto& [json, reason] :
       {std::pair("{}", "has no \"scaling_factor\""), std::pair("[1]", "has no"),
        std::pair("{", "is not JSON"), std::pair(R"({"scaling_factor": "1.5"})", "is \"1.5\""),
        std::pair(R"({"scaling_factor": 0})", "is 0, a number above 0"),
        std::pair(R"({"scaling_factor": -1.5})", "is -1.5, a number above 0"),
        std::pair(R"({"scaling_factor": 1e999})", "is not JSON"),
        std::pair(R"({"scaling_factor": null})", "is null")}) {
    folder.write(std::string(kFolder) + "scaling.json", json);
    const Score score = score_one(folder);
    EXPECT_DOUBLE_EQ(score.time_to_train_ms.value_or(0), 1500) << json;
    EXPECT_THAT(score.scaling_problem, HasSubstr(reason));
    EXPECT_THAT(score_table({score}), HasSubstr(score.scaling_problem));
    EXPECT_THAT(score_json({score}), HasSubstr("\"scaling_problem\""));
  }
  std::filesystem::remove(folder.path() / kFolder / "scaling.json");
  std::filesystem::create_symlink("/dev/zero", folder.path() / kFolder / "scaling.json");
  EXPECT_THAT(score_one(folder).scaling_problem, HasSubstr("is a device"));
}

TEST(Score, AnInvalidDescriptionIsReportedOnce) {
  const TemporaryFolder folder;
  write_runs(folder, {1000, 2000});
  EXPECT_EQ(score_one(folder).system.problem, "");
  for (const auto& [json, reason] : {std::pair("{", "laptop.json: is not JSON"),
                                     std::pair("[1]", "laptop.json: is not a JSON object")}) {
    folder.write("Strata/systems/laptop.json", json);
    const Score score = score_one(folder);
    const std::string table = score_table({score, score});
    EXPECT_THAT(table, HasSubstr("system descriptions that cannot be used:\n"));
    EXPECT_EQ(occurrences(table, reason), 1u) << table;
  }
}

// By the open rules, a log with status aborted passes.
TEST(Score, RunsThatDoNotSaySuccessDoNotCount) {
  const TemporaryFolder folder;
  write_runs(folder, std::vector<double>(10, 1000));
  for (const char* status :
       {R"("status": "aborted")", R"("status": null)", R"("status": "Success")"}) {
    for (int i = 0; i < 10; ++i) {
      BertLog log = BertLog::passing();
      log.at("run_stop").metadata = status;
      folder.write(std::string(kFolder) + "result_" + std::to_string(i) + ".txt", log.text());
    }
    compliance::RuleStore rules;
    EXPECT_TRUE(
        compliance::check_log(folder.path() / kFolder / "result_0.txt", rules, {.ruleset = "5.0.0"})
            .passed());
    const Score score = score_one(folder);
    EXPECT_EQ(score.counting_runs(), 0u) << status;
    EXPECT_FALSE(score.unscaled_ms) << status;
    const std::string text = score_table({score});
    EXPECT_THAT(text, HasSubstr("result_0.txt, result_1.txt, result_2.txt"));
    EXPECT_THAT(text, HasSubstr("run_stop does not say success"));
  }
  // If a run ends twice, its first end gives the time.
  BertLog log = BertLog::passing();
  log.at("run_stop").metadata = R"("status": "aborted")";
  log.append({"run_stop", "null", R"("status": "success")"});
  folder.write(std::string(kFolder) + "result_0.txt", log.text());
  EXPECT_EQ(score_one(folder).counting_runs(), 0u);
}

TEST(Score, AReasonIsASentenceOfItsOwn) {
  BertLog elsewhere = BertLog::passing();
  elsewhere.at("submission_division").value = R"("neither")";
  for (const auto& [text, reason] : std::map<std::string, std::string>{
           {"", "the file is empty, so it is not an MLPerf log"},
           {"a line\n", "no line holds ':::MLLOG', so it is not an MLPerf log"},
           {elsewhere.text(), "CHECK for 'submission_division' failed in line 5: {'value'"}}) {
    const TemporaryFolder folder;
    write_runs(folder, std::vector<double>(2, 1000));
    folder.write(std::string(kFolder) + "result_0.txt", text);
    const std::string found = score_one(folder).runs.at(0).reason;
    EXPECT_TRUE(found.starts_with(reason)) << found;
  }
}

TEST(Score, NumbersOfASystemAreReadAsInPython) {
  const TemporaryFolder folder;
  write_runs(folder, {1000});
  const auto accelerators = [&](const std::string& nodes, const std::string& per_node) {
    folder.write("Strata/systems/laptop.json", R"({"division": "open", "number_of_nodes": )" +
                                                   nodes + R"(, "accelerators_per_node": )" +
                                                   per_node + "}");
    return score_one(folder).system.accelerators;
  };
  EXPECT_EQ(accelerators("1.0", "8"), 8);  // int(1.0)
  EXPECT_EQ(accelerators("2.9", "8"), 16);
  EXPECT_EQ(accelerators(R"(" +1_0 ")", R"("8")"), 80);
  EXPECT_EQ(accelerators("true", R"("\u0664")"), 4);
  for (const char* refused :
       {R"("1.0")", R"("8 x")", "null", "[1]", "1e30", "\"99999999999999999999\"",
        "99999999999999999999", "9223372036854775808"}) {
    EXPECT_FALSE(accelerators(refused, "1")) << refused;
  }
  EXPECT_FALSE(accelerators("9223372036854775807", "2"));
  EXPECT_FALSE(accelerators("-9223372036854775808", "-1"));
}

TEST(Score, OnlyJudgedResultsAreScaledByRcp) {
  const TemporaryFolder folder;
  write_runs(folder, {1000, 2000}, "open");
  folder.write(std::string(kFolder) + "scaling.json", R"({"scaling_factor": 1.5})");
  EXPECT_FALSE(score_one(folder).rcp_scaled_ms);
  EXPECT_FALSE(score_one(folder).held_to_rcp);
  write_runs(folder, {1000, 2000}, "closed");
  const Score closed = score_one(folder);  // judged, with any outcome
  EXPECT_TRUE(closed.rcp.judged);
  EXPECT_TRUE(closed.rcp_scaled_ms);
  const Score before_rcp = score_directory(folder.path(), {.ruleset = "0.7.0"}).at(0);
  EXPECT_EQ(before_rcp.rcp.outcome(), compliance::Outcome::kNotJudged);
  EXPECT_FALSE(before_rcp.rcp_scaled_ms);
  EXPECT_THAT(score_table({before_rcp}), HasSubstr("not judged"));
}

// A problem with a file only affects its own row.
TEST(Score, AProblemWithOneFolderDoesNotAffectOthers) {
  const TemporaryFolder folder;
  write_runs(folder, {1000, 2000});
  const auto write = [&](const std::string& system, const std::string& name,
                         const std::string& text) {
    folder.write("Strata/results/" + system + "/bert/" + name, text);
  };
  write("empty", "result_0.txt", "no events\n");
  write("energy", "result_0.txt", BertLog::passing().text());
  write("energy", "power/result_0/node_0.txt", "no measurement\n");
  write("mixed", "result_0.txt", "no events\n");
  write("mixed", "result_1.txt", BertLog::passing().text());
  write("large", "result_0.txt", BertLog::passing().text());
  write("large", "result_1.txt", "");
  std::filesystem::resize_file(folder.path() / "Strata/results/large/bert/result_1.txt",
                               mllog::LogReader::kMaxFileBytes + 1);
  const std::vector<Score> scores = score_directory(folder.path(), {.threads = 1});
  ASSERT_EQ(scores.size(), 5u);
  std::map<std::string, const Score*> by_system;
  for (const Score& score : scores) by_system[score.folder.system] = &score;
  EXPECT_EQ(by_system["laptop"]->counting_runs(), 2u);
  EXPECT_EQ(by_system["empty"]->counting_runs(), 0u);
  EXPECT_THAT(by_system["empty"]->runs[0].reason, HasSubstr("no line holds ':::MLLOG'"));
  EXPECT_EQ(by_system["mixed"]->counting_runs(), 1u);
  EXPECT_EQ(by_system["large"]->counting_runs(), 1u);
  EXPECT_THAT(by_system["large"]->runs[1].reason, HasSubstr("a log may have"));
  EXPECT_EQ(by_system["energy"]->counting_runs(), 1u);
  EXPECT_FALSE(by_system["energy"]->energy_joules);
  const std::string text = score_table(scores);
  EXPECT_THAT(text, HasSubstr("holds no power_measurement_start"));
}

TEST(Score, InvalidPowerLogsOnlyRemoveTheEnergy) {
  const TemporaryFolder folder;
  write_runs(folder, {1000});
  const auto event = [](const std::string& key, const std::string& value, double time_ms) {
    return BertLog::line({key, value, "", time_ms});
  };
  const auto problem = [&](const std::string& node) {
    folder.write(std::string(kFolder) + "power/result_0/node_0.txt", node);
    const Score score = score_one(folder);
    EXPECT_EQ(score.counting_runs(), 1u);
    EXPECT_FALSE(score.energy_joules);
    return score.runs[0].energy_problem;
  };
  const std::string begin = event("power_measurement_start", "null", 1000),
                    end = event("power_measurement_stop", "null", 3000);
  EXPECT_THAT(problem(begin + event("power_reading", "\"x\"", 2000) + end),
              HasSubstr("node_0.txt:2"));
  EXPECT_THAT(problem(begin + event("power_reading", "1e999", 2000) + end), HasSubstr("finite"));
  std::string deep(400, '[');
  deep += std::string(400, ']');
  EXPECT_NE(problem(begin + event("power_reading", deep, 2000) + end), "");
  const auto node = folder.path() / kFolder / "power/result_0/node_0.txt";
  std::filesystem::remove(node);
  ASSERT_EQ(::mkfifo(node.c_str(), 0600), 0);
  EXPECT_THAT(score_one(folder).runs[0].energy_problem, HasSubstr("is a FIFO"));
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
  // The mean is 200 W, with a switch of 10 W, over 10 s.
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
  EXPECT_THAT(score_csv(scores),
              HasSubstr("Strata,laptop,bert,open,training,5.0.0,,8,2,2,plain,0.025"));
  EXPECT_THAT(score_json(scores), HasSubstr("\"time_to_train_ms\": 1500.0"));
}

}  // namespace
}  // namespace strata::scoring
