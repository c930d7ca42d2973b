#include "harness/record/run_description_events.h"

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "harness/record/run_log.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"
#include "tests/support/temporary_directory.h"

namespace strata::harness {
namespace {

class LogRunTest : public testing_support::TemporaryDirectory {
 protected:
  // Writes a run's log like the training loop, one second per event.
  std::filesystem::path write_run(const config::RunConfig& config, double accuracy,
                                  const char* status) {
    const std::filesystem::path path = directory_ / "result_0.txt";
    std::filesystem::remove(path);
    int64_t steady = 0;
    mllog::LogWriter log = make_log(path, mllog::LogClock([] { return 1'700'000'000'000; },
                                                          [&steady] { return steady += 1000; }));
    log.event(log_keys::kCacheClear, true);
    log.start(log_keys::kInitStart);
    log_run_description(log, config, facts_);
    log_weights_initialization(log, tensors_);
    log.end(log_keys::kInitStop);
    log.start(log_keys::kRunStart);
    log.start(log_keys::kBlockStart, {{log_keys::kFirstEpochNum, 0}, {log_keys::kEpochCount, 640}});
    log.start(log_keys::kEvalStart, {{log_keys::kEpochNum, 640}});
    log.end(log_keys::kEvalStop, {}, {{log_keys::kEpochNum, 640}});
    log.event(log_keys::kEvalAccuracy, accuracy, {{log_keys::kEpochNum, 640}});
    log.end(log_keys::kBlockStop, {}, {{log_keys::kFirstEpochNum, 0}});
    log_run_samples(log, 640, 500);
    log.end(log_keys::kRunStop, {}, {{log_keys::kStatus, status}});
    return path;
  }

  std::vector<std::string> tensors_;
  const RunFacts facts_{.ranks = 2, .seed = 3'000'000'000, .platform = "2 x box"};
};

config::RunConfig closed_config() {
  config::RunConfig config;
  config.run.division = config::Division::kClosed;
  config.clip.mode = config::ClipMode::kAfterAllReduce;
  config.optimizer.name = config::OptimizerKind::kLamb;
  return config;
}

std::vector<std::string> tensors_of_bert_large() {
  std::vector<std::string> tensors = {"bert/embeddings/word_embeddings",
                                      "bert/embeddings/position_embeddings",
                                      "bert/embeddings/token_type_embeddings",
                                      "bert/embeddings/LayerNorm/gamma",
                                      "bert/embeddings/LayerNorm/beta",
                                      "bert/pooler/dense/kernel",
                                      "bert/pooler/dense/bias",
                                      "cls/predictions/output_bias",
                                      "cls/predictions/transform/dense/kernel",
                                      "cls/predictions/transform/dense/bias",
                                      "cls/predictions/transform/LayerNorm/gamma",
                                      "cls/predictions/transform/LayerNorm/beta",
                                      "cls/seq_relationship/output_weights",
                                      "cls/seq_relationship/output_bias"};
  for (int layer = 0; layer < 24; ++layer) {
    const std::string prefix = "bert/encoder/layer_" + std::to_string(layer) + "/";
    for (const char* dense : {"attention/self/query", "attention/self/key", "attention/self/value",
                              "attention/output/dense", "intermediate/dense", "output/dense"}) {
      tensors.push_back(prefix + dense + "/kernel");
      tensors.push_back(prefix + dense + "/bias");
    }
    for (const char* norm : {"attention/output/LayerNorm", "output/LayerNorm"}) {
      tensors.push_back(prefix + norm + "/gamma");
      tensors.push_back(prefix + norm + "/beta");
    }
  }
  return tensors;
}

TEST_F(LogRunTest, EveryKeyIsLoggedOnceWithTheConfigurationsValue) {
  config::RunConfig config;
  config.batch.gradient_accumulation_steps = 3;
  config.lr_schedule.power = 0.75;
  config.lr_schedule.end_lr = 1e-6;
  config.optimizer.weight_decay = 0.03125;
  std::istringstream lines(read_file(write_run(config, 0.3, log_keys::kSuccess)));
  std::map<std::string, nlohmann::json> values;
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line.substr(line.find('{')));
    EXPECT_TRUE(values.emplace(event["key"], event["value"]).second) << event["key"];
  }
  EXPECT_EQ(values["submission_benchmark"], "bert");
  EXPECT_EQ(values["submission_org"], "Strata");
  EXPECT_EQ(values["submission_division"], "open");
  EXPECT_EQ(values["submission_platform"], "2 x box");
  EXPECT_EQ(values["seed"], 3'000'000'000);
  EXPECT_EQ(values["global_batch_size"], 8 * 3 * 2);
  EXPECT_EQ(values["opt_name"], "adam");
  EXPECT_EQ(values["opt_base_learning_rate"], 5e-4);
  EXPECT_EQ(values["opt_epsilon"], 1e-6);
  EXPECT_EQ(values["opt_lamb_epsilon"], 1e-6);
  EXPECT_EQ(values["opt_lamb_learning_rate_decay_poly_power"], 0.75);
  EXPECT_EQ(values["opt_lamb_weight_decay_rate"], 0.03125);
  EXPECT_EQ(values["opt_end_learning_rate"], 1e-6);
  EXPECT_EQ(values["num_warmup_steps"], 20);
  EXPECT_EQ(values["quality_target"], 0.72);
  EXPECT_EQ(values["train_samples"], 640);
}

TEST_F(LogRunTest, LambIsLoggedByItsName) {
  const std::string log = read_file(write_run(closed_config(), 0.73, log_keys::kSuccess));
  EXPECT_THAT(log, HasSubstr(R"("key": "opt_name", "value": "lamb")"));
}

TEST_F(LogRunTest, TheOfficialCheckerPassesAnOpenRunOfAnyTarget) {
  if (!testing_support::oracle_python()) GTEST_SKIP() << testing_support::kNoOracle;
  config::RunConfig config;
  config.target.masked_lm_accuracy = 0.3;
  const auto log = write_run(config, 0.31, log_keys::kSuccess);
  for (const char* ruleset : {"1.1.0", "2.0.0", "4.1.0", "5.0.0"}) {
    const testing_support::CommandResult result = testing_support::official_check(log, ruleset);
    EXPECT_EQ(result.status, 0) << ruleset << "\n" << result.output;
    EXPECT_THAT(result.output, HasSubstr("SUCCESS"));
  }
}

TEST_F(LogRunTest, TheOfficialCheckerPassesAClosedRunThatReachedTheTarget) {
  if (!testing_support::oracle_python()) GTEST_SKIP() << testing_support::kNoOracle;
  tensors_ = tensors_of_bert_large();
  const auto log = write_run(closed_config(), 0.73, log_keys::kSuccess);
  for (const char* ruleset : {"1.1.0", "2.1.0", "5.0.0"}) {
    const testing_support::CommandResult result = testing_support::official_check(log, ruleset);
    EXPECT_EQ(result.status, 0) << ruleset << "\n" << result.output;
  }
}

TEST_F(LogRunTest, TheOfficialCheckerFailsAClosedRunThatMissedIt) {
  if (!testing_support::oracle_python()) GTEST_SKIP() << testing_support::kNoOracle;
  const auto log = write_run(closed_config(), 0.71, log_keys::kAborted);
  const testing_support::CommandResult result = testing_support::official_check(log, "5.0.0");
  EXPECT_NE(result.status, 0) << result.output;
}

}  // namespace
}  // namespace strata::harness
