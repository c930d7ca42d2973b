#include "compliance/checks/check_log.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "tests/compliance/bert_log.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

using ::strata::testing::BertLog;
using ::strata::testing::LogEvent;
using ::strata::testing::TemporaryFolder;
using testing_support::error_of;

LogVerdict check_text(const std::string& text, const std::string& ruleset = "5.0.0",
                      bool werror = false) {
  RuleStore rules;
  return check_log(mllog::LogReader::from_text(text, "test.txt"), rules, "training", ruleset,
                   werror);
}

LogVerdict verdict_of(const BertLog& log, const std::string& ruleset = "5.0.0") {
  return check_text(log.text(), ruleset);
}

std::string all(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += describe(finding) + "\n";
  return text;
}

// The one error of a verdict, or a description of what there is instead.
std::string only_error(const LogVerdict& verdict) {
  return verdict.errors.size() == 1 ? verdict.errors.front().summary
                                    : "not one error:\n" + all(verdict.errors);
}

TEST(CheckLog, OpenLogPassesInEveryRoundWithBert) {
  for (const char* ruleset :
       {"1.0.0", "1.1.0", "2.0.0", "2.1.0", "3.0.0", "3.1.0", "4.0.0", "4.1.0", "5.0.0"}) {
    const LogVerdict verdict = verdict_of(BertLog::passing(), ruleset);
    EXPECT_TRUE(verdict.passed()) << ruleset << "\n" << all(verdict.errors);
    EXPECT_TRUE(verdict.warnings.empty()) << ruleset << "\n" << all(verdict.warnings);
  }
}

TEST(CheckLog, ClosedLogPassesInRoundsWithoutWeightRules) {
  for (const char* ruleset : {"0.7.0", "1.0.0", "3.0.0", "3.1.0", "4.0.0", "4.1.0", "5.0.0"}) {
    const LogVerdict verdict = verdict_of(BertLog::passing("closed"), ruleset);
    EXPECT_TRUE(verdict.passed()) << ruleset << "\n" << all(verdict.errors);
  }
}

TEST(CheckLog, ClosedRoundsWithWeightRulesRequireEveryTensorOnce) {
  BertLog log = BertLog::passing("closed");
  EXPECT_EQ(verdict_of(log, "2.0.0").errors.size(),
            2u);  // no weights_initialization, and not the right tensors
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
    for (const char* part :
         {"attention/self/query/kernel", "attention/self/query/bias", "attention/self/key/kernel",
          "attention/self/key/bias", "attention/self/value/kernel", "attention/self/value/bias",
          "attention/output/dense/kernel", "attention/output/dense/bias",
          "attention/output/LayerNorm/gamma", "attention/output/LayerNorm/beta",
          "intermediate/dense/kernel", "intermediate/dense/bias", "output/dense/kernel",
          "output/dense/bias", "output/LayerNorm/gamma", "output/LayerNorm/beta"}) {
      tensors.push_back("bert/encoder/layer_" + std::to_string(layer) + "/" + part);
    }
  }
  for (const std::string& tensor : tensors)
    log.append({"weights_initialization", "null", "\"tensor\": \"" + tensor + "\""});
  EXPECT_TRUE(verdict_of(log, "2.0.0").passed()) << all(verdict_of(log, "2.0.0").errors);
  log.append({"weights_initialization", "null", R"("tensor": "bert/pooler/dense/bias")"});
  EXPECT_THAT(only_error(verdict_of(log, "2.0.0")), HasSubstr("failed test: sorted("));
}

TEST(CheckLog, ClosedTargetMustBeReachedOnceAndIsExplained) {
  BertLog log = BertLog::passing("closed", 0.7199);
  const LogVerdict verdict = verdict_of(log);
  ASSERT_EQ(verdict.errors.size(), 1u) << all(verdict.errors);
  const Finding& finding = verdict.errors.front();
  EXPECT_EQ(finding.rule, "0.720 <= v['value'] < 1.0");
  EXPECT_EQ(finding.rule_file, "shared/bert_target.yaml");
  EXPECT_GT(finding.rule_line, 0);
  EXPECT_EQ(finding.log_line, 29u);
  EXPECT_THAT(finding.found, HasSubstr("0.7199"));
  log.append({"eval_accuracy", "0.72", R"("epoch_num": 1280)"});
  EXPECT_TRUE(verdict_of(log).passed());
}

TEST(CheckLog, TargetOfRound07DependsOnTheBatch) {
  BertLog log = BertLog::passing("closed", 0.707);
  EXPECT_FALSE(verdict_of(log, "0.7.0").passed());
  log.set("global_batch_size", "8192");
  EXPECT_TRUE(verdict_of(log, "0.7.0").passed()) << all(verdict_of(log, "0.7.0").errors);
}

TEST(CheckLog, EveryRequiredKeyIsMissedWhenAbsent) {
  for (const char* key : {"cache_clear", "init_stop", "run_start", "run_stop", "train_samples",
                          "eval_samples", "submission_division", "gradient_accumulation_steps",
                          "global_batch_size", "opt_lamb_epsilon", "opt_base_learning_rate",
                          "opt_lamb_beta_1", "opt_lamb_beta_2", "opt_lamb_weight_decay_rate",
                          "opt_learning_rate_training_steps", "opt_learning_rate_warmup_steps",
                          "num_warmup_steps", "start_warmup_step", "eval_accuracy"}) {
    const LogVerdict verdict = verdict_of(BertLog::passing("closed").without(key));
    EXPECT_FALSE(verdict.passed()) << key;
    EXPECT_THAT(all(verdict.errors), HasSubstr(std::string("'") + key + "'")) << key;
  }
  for (const char* key : {"submission_org", "submission_platform", "submission_status"}) {
    EXPECT_FALSE(verdict_of(BertLog::passing().without(key), "4.0.0").passed()) << key;
    EXPECT_TRUE(verdict_of(BertLog::passing().without(key), "5.0.0").passed()) << key;
  }
}

TEST(CheckLog, RepeatedKeysWarnIfEqualAndFailIfDifferent) {
  const LogVerdict same = verdict_of(BertLog::passing().append({"train_samples", "1"}));
  EXPECT_TRUE(same.passed());
  EXPECT_EQ(same.warnings.size(), 1u);
  const LogVerdict equal =
      verdict_of(BertLog::passing().append({"train_samples", "1.0"}));  // 1 == 1.0
  EXPECT_TRUE(equal.passed());
  const LogVerdict other = verdict_of(BertLog::passing().append({"train_samples", "2"}));
  EXPECT_EQ(only_error(other),
            "Required EXACTLY_ONE occurrence of 'train_samples' but found 2 with different values: "
            "[1, 2]");
  // NaN differs from itself, but the official checker's are one object.
  const LogVerdict nan =
      verdict_of(BertLog::passing().set("train_samples", "NaN").append({"train_samples", "NaN"}));
  EXPECT_TRUE(nan.passed());
  EXPECT_EQ(nan.warnings.size(), 1u);
  EXPECT_FALSE(
      check_text(BertLog::passing().append({"train_samples", "1"}).text(), "5.0.0", true).passed());
}

TEST(CheckLog, OrderOfTheTimelineIsChecked) {
  for (const auto& [key, other] :
       {std::pair("run_start", "init_stop"), std::pair("init_stop", "init_start"),
        std::pair("run_stop", "run_start"), std::pair("block_start", "run_start")}) {
    EXPECT_FALSE(verdict_of(BertLog::passing().move_before(key, other)).passed())
        << key << " before " << other;
  }
}

BertLog log_initialised_in(const std::string& division, double minutes) {
  BertLog log = BertLog::passing(division);
  log.at("init_stop").time_ms = log.at("init_start").time_ms + minutes * 60'000;
  return log;
}

TEST(CheckLog, InitialisationIsLimitedByDivisionAndRound) {
  struct Case {
    const char* division;
    double minutes;
    const char* ruleset;
    bool passes;
  };
  for (const Case& one : {Case{"closed", 29.9, "5.0.0", true}, Case{"closed", 30, "5.0.0", false},
                          Case{"open", 239.9, "5.0.0", true}, Case{"open", 240, "5.0.0", false},
                          Case{"open", 29.9, "1.0.0", true}, Case{"open", 30, "1.0.0", false},
                          Case{"closed", 20, "0.7.0", false}}) {
    EXPECT_EQ(verdict_of(log_initialised_in(one.division, one.minutes), one.ruleset).passed(),
              one.passes)
        << one.division << " in " << one.ruleset << ", " << one.minutes << " minutes";
  }
  EXPECT_THAT(only_error(verdict_of(log_initialised_in("closed", 30))), HasSubstr("init_stop"));
}

TEST(CheckLog, RequiredFieldsOfEventsAreChecked) {
  for (const char* key : {"run_stop", "block_start", "block_stop", "epoch_start", "epoch_stop",
                          "eval_start", "eval_stop", "eval_accuracy"}) {
    BertLog log = BertLog::passing();
    log.at(key).metadata.clear();
    const LogVerdict verdict = verdict_of(log);
    EXPECT_THAT(only_error(verdict), HasSubstr(key)) << key << all(verdict.errors);
  }
  BertLog log = BertLog::passing();
  log.at("block_start").metadata = R"("first_epoch_num": 1, "epoch_count": 0)";
  EXPECT_FALSE(verdict_of(log).passed());
}

TEST(CheckLog, SamplesMayStandForEpochsFromRound4) {
  BertLog log = BertLog::passing();
  for (const char* key : {"block_start", "block_stop", "eval_start", "eval_stop"})
    log.at(key).metadata = R"("samples_count": 0)";
  EXPECT_TRUE(verdict_of(log, "4.0.0").passed()) << all(verdict_of(log, "4.0.0").errors);
  EXPECT_FALSE(verdict_of(log, "3.0.0").passed());
  log.at("epoch_start").metadata = R"("samples_count": 0)";
  EXPECT_TRUE(verdict_of(log, "5.0.0").passed());
  EXPECT_FALSE(verdict_of(log, "4.1.0").passed());
  log.at("block_start").metadata = R"("samples_count": -1)";
  EXPECT_FALSE(verdict_of(log, "5.0.0").passed());
}

TEST(CheckLog, WrongValuesFail) {
  struct Case {
    const char *division, *key, *value;
    bool passes = false;
    const char* ruleset = "5.0.0";
  };
  for (const Case& one :
       {Case{"open", "submission_division", "\"ajar\""},
        Case{"open", "submission_org", "\"\"", false, "4.0.0"},
        Case{"open", "submission_status", "\"garage\"", false, "4.0.0"},
        Case{"closed", "gradient_accumulation_steps", "0"}, Case{"open", "eval_accuracy", "1.0"},
        Case{"closed", "eval_accuracy", "NaN"}, Case{"closed", "eval_accuracy", "\"0.73\""},
        Case{"closed", "seed", "123456789012345678901234567890", true},
        Case{"closed", "gradient_accumulation_steps", "99999999999999999999", true}}) {
    EXPECT_EQ(
        verdict_of(BertLog::passing(one.division).set(one.key, one.value), one.ruleset).passed(),
        one.passes)
        << one.division << ": " << one.key << " = " << one.value;
  }
}

TEST(CheckLog, BrokenLinesAreOneErrorWithTheirPlace) {
  std::string text = BertLog::passing().text();
  text += "noise\n:::MLLOG {\"key\": \"eval_acc";
  const LogVerdict verdict = check_text(text);
  ASSERT_EQ(only_error(verdict), "Log lines had parsing errors.");
  EXPECT_EQ(verdict.errors.front().log_line, 34u);
  EXPECT_THAT(all(verdict.errors), HasSubstr("unterminated string"));
}

TEST(CheckLog, OnlyTheLastFailureOfAKeyIsReportedWithItsLine) {
  BertLog log = BertLog::passing();
  const size_t before = log.events.size();
  for (int i = 0; i < 3; ++i) log.append({"eval_accuracy", "0.5"});
  const LogVerdict verdict = verdict_of(log);
  EXPECT_EQ(only_error(verdict),
            "CHECK for 'eval_accuracy' failed in line " + std::to_string(before + 3) + ":");
  EXPECT_EQ(verdict.errors.at(0).log_line, before + 3);
}

TEST(CheckLog, DivisionsThatLeadOutsideTheRulesAreErrors) {
  const std::string too_long(400, 'x');
  for (const std::string& division : {std::string("\"../x\""), std::string("\"/x\""),
                                      std::string("\"a\\u0000b\""), '"' + too_long + '"'}) {
    const LogVerdict verdict = verdict_of(BertLog::passing().set("submission_division", division));
    EXPECT_FALSE(verdict.passed());
    const std::string errors = all(verdict.errors);
    EXPECT_THAT(errors, HasSubstr("Could not find config file: training_5.0.0/"));
    EXPECT_THAT(errors, Not(HasSubstr(std::string(1, '\0'))));
    EXPECT_THAT(errors, Not(HasSubstr(too_long)));
  }
}

// Such a value fails even if another value, before or after it, passes.
TEST(CheckLog, ValuesThatEndTheOfficialCheckerFail) {
  for (const bool before : {true, false}) {
    for (const char* value : {"\"0.5\"", "null", "[0.9]", "{}"}) {
      BertLog log = BertLog::passing("closed");
      const auto accuracy =
          std::find_if(log.events.begin(), log.events.end(),
                       [](const auto& event) { return event.key == "eval_accuracy"; });
      LogEvent other = *accuracy;
      other.value = value;
      log.events.insert(before ? accuracy : accuracy + 1, other);
      const LogVerdict verdict = verdict_of(log);
      EXPECT_EQ(only_error(verdict),
                "The official checker stops with an error at a value of 'eval_accuracy'")
          << value;
      ASSERT_EQ(verdict.errors.size(), 1u);
      EXPECT_EQ(verdict.errors[0].log_line, before ? 29u : 30u);
      EXPECT_THAT(verdict.errors[0].found, HasSubstr("cannot be ordered"));
      EXPECT_TRUE(verdict.warnings.empty());
    }
  }
}

TEST(CheckLog, AnExceededTimeLimitIsReportedWithBothNumbers) {
  for (const auto& [minutes, found] :
       {std::pair(32.3, "initialisation took 32.3 minutes; the limit is 30 minutes"),
        std::pair(30.001, "initialisation took 30.00100 minutes; the limit is 30 minutes"),
        std::pair(300.0, "initialisation took 300.0 minutes; the limit is 30 minutes")}) {
    const LogVerdict verdict = verdict_of(log_initialised_in("closed", minutes));
    EXPECT_EQ(verdict.errors.size(), 1u) << all(verdict.errors);
    EXPECT_EQ(verdict.errors.at(0).found, found);
  }
}

TEST(CheckLog, LogWithoutEventsFails) {
  const LogVerdict verdict = check_text("no events here\n");
  ASSERT_FALSE(verdict.passed());
  EXPECT_EQ(verdict.errors.size(), 14u) << all(verdict.errors);
}

TEST(CheckLog, WithoutRulesForTheRoundALogIsNotJudged) {
  struct Case {
    const char *usage, *ruleset, *remedy;
  };
  for (const Case& one : {Case{"training", "5.1.0", "'strata rules install' installs them"},
                          Case{"training", "6.1.0", "'strata rules install' installs them"},
                          Case{"hpc", "3.0.0", "'strata rules install' installs them"},
                          Case{"hpc", "0.7.0", "has no such rules either"}}) {
    const TemporaryFolder folder;
    const auto path = folder.write("result_0.txt", BertLog::passing().text());
    RuleStore rules;
    const LogVerdict verdict = check_one_of_many(path, rules, {one.usage, one.ruleset, false, {}});
    EXPECT_EQ(verdict.outcome(), Outcome::kNotJudged) << one.ruleset;
    EXPECT_TRUE(verdict.readable);
    EXPECT_THAT(verdict.not_judged, HasSubstr(one.remedy));
    // A file that is no log fails even without rules.
    const auto none = folder.write("none.txt", "no log\n");
    EXPECT_EQ(check_one_of_many(none, rules, {one.usage, one.ruleset, false, {}}).outcome(),
              Outcome::kFailed);
  }
}

TEST(CheckLog, AnUnknownRoundIsRefused) {
  const TemporaryFolder folder;
  const auto path = folder.write("result_0.txt", BertLog::passing().text());
  RuleStore rules;
  const LogVerdict verdict = check_one_of_many(path, rules, {"training", "9.9.0", false, {}});
  EXPECT_EQ(verdict.outcome(), Outcome::kFailed);
  EXPECT_THAT(verdict.errors.at(0).summary, HasSubstr("there is no round '9.9.0' of training"))
      << verdict.errors[0].summary;
}

TEST(CheckLog, OtherBenchmarksAreNotJudgedByTheBuiltInRules) {
  const LogVerdict verdict =
      verdict_of(BertLog::passing().set("submission_benchmark", "\"resnet\""), "2.0.0");
  EXPECT_EQ(verdict.outcome(), Outcome::kNotJudged);
  EXPECT_FALSE(verdict.passed());
  EXPECT_THAT(verdict.not_judged, HasSubstr("--rules"));
}

TEST(CheckLog, ABenchmarkThatTheRoundDoesNotHaveFails) {
  for (const char* name : {"\"brt\"", "\"resnet\"", "\"\"", "7", "null"}) {
    const LogVerdict verdict = verdict_of(BertLog::passing().set("submission_benchmark", name));
    EXPECT_EQ(verdict.outcome(), Outcome::kFailed) << name;
    EXPECT_THAT(all(verdict.errors), HasSubstr("submission_benchmark"));
  }
}

TEST(CheckLog, RulesetIsInferredAndItsGroundGiven) {
  const TemporaryFolder folder;
  const std::string text = BertLog::passing().text();  // a run of November 2023
  RuleStore rules;
  const LogVerdict by_date = check_log(folder.write("a.txt", text), rules);
  EXPECT_EQ(by_date.ruleset, "4.0.0");
  EXPECT_THAT(by_date.ground, HasSubstr("2023-11-14"));
  const LogVerdict by_path = check_log(folder.write("training_results_v2.1/x.txt", text), rules);
  EXPECT_EQ(by_path.ruleset, "2.1.0");
  EXPECT_THAT(by_path.ground, HasSubstr("training_results_v2.1"));
  const LogVerdict given = check_log(folder.write("b.txt", text), rules, {.ruleset = "3.1.0"});
  EXPECT_EQ(given.ruleset, "3.1.0");
  EXPECT_EQ(given.ground, "given");
  EXPECT_THROW(check_log(folder.write("c.txt", text), rules, {.ruleset = "9.9.0"}), Error);
  EXPECT_THROW(check_log(folder.path() / "absent.txt", rules), Error);
}

// The days on which MLCommons published the rounds' results.
TEST(CheckLog, ARunBelongsToTheRoundPublishedNext) {
  using namespace std::chrono;
  const std::vector<std::pair<std::string, sys_days>> published = {
      {"0.7.0", 2020y / July / 29},     {"1.0.0", 2021y / June / 30},
      {"1.1.0", 2021y / December / 1},  {"2.0.0", 2022y / June / 29},
      {"2.1.0", 2022y / November / 9},  {"3.0.0", 2023y / June / 27},
      {"3.1.0", 2023y / November / 8},  {"4.0.0", 2024y / June / 12},
      {"4.1.0", 2024y / November / 13}, {"5.0.0", 2025y / June / 4}};
  const TemporaryFolder folder;
  RuleStore rules;
  const auto ruleset_at = [&](sys_days day) {
    BertLog log = BertLog::passing();
    const double first = log.events.front().time_ms;
    for (auto& event : log.events) {
      event.time_ms += 86'400'000.0 * day.time_since_epoch().count() - first;
    }
    return check_log(folder.write("a.txt", log.text()), rules).ruleset;
  };
  for (size_t i = 0; i < published.size(); ++i) {
    const auto& [round, day] = published[i];
    EXPECT_EQ(ruleset_at(day - days(2)), round);
    EXPECT_EQ(ruleset_at(day + days(2)), published[std::min(i + 1, published.size() - 1)].first);
  }
}

TEST(CheckLog, RunsOfTodayAreJudgedByTheLastRoundWithBert) {
  BertLog log = BertLog::passing();
  for (auto& event : log.events) event.time_ms += 3e11;
  const TemporaryFolder folder;
  EXPECT_EQ(check_log(folder.write("a.txt", log.text())).ruleset, "5.0.0");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST(CheckLog, ALogWithoutADateIsJudgedByTheLastRoundWithItsBenchmark) {
  const TemporaryFolder folder;
  for (const char* time : {"0", "-5", "1e301", "-1e301", "NaN", "Infinity", "123456"}) {
    std::string text = BertLog::passing().text();
    for (const auto& event : BertLog::passing().events) {
      const std::string digits = std::to_string(static_cast<long long>(event.time_ms));
      text = replaced(text, "\"time_ms\": " + digits, std::string("\"time_ms\": ") + time);
    }
    RuleStore rules;
    const LogVerdict verdict = check_log(folder.write("a.txt", text), rules);
    EXPECT_EQ(verdict.ruleset, "5.0.0") << time;
    EXPECT_EQ(verdict.ground, "last round with benchmark 'bert', because the log has no date");
    // A log whose benchmark is unknown needs --ruleset, but does not end the program either.
    folder.write("b.txt", replaced(text, "\"bert\"", "\"elsewhere\""));
    const std::string error = error_of([&] { check_log(folder.path() / "b.txt", rules); });
    EXPECT_THAT(error, HasSubstr("give --ruleset"));
  }
  // The first time that is a date counts.
  BertLog late = BertLog::passing();
  late.events.front().time_ms = 0;
  EXPECT_EQ(check_log(folder.write("a.txt", late.text())).ruleset, "4.0.0");
}

TEST(CheckLog, AnUnreadableFileAmongManyGetsItsOwnVerdict) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder.path() / "fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", folder.path() / "zero");
  std::filesystem::create_symlink("nowhere", folder.path() / "dangling");
  folder.write("none.txt", "no events\n");
  RuleStore rules;
  for (const auto& [name, reason] :
       {std::pair("fifo", "is a FIFO"), std::pair("zero", "is a device"),
        std::pair("dangling", "a broken link"), std::pair("absent", "No such file"),
        std::pair("none.txt", "no line holds ':::MLLOG'")}) {
    const LogVerdict verdict = check_one_of_many(folder.path() / name, rules, {});
    EXPECT_EQ(verdict.outcome(), Outcome::kFailed) << name;
    EXPECT_FALSE(verdict.readable) << name;
    EXPECT_THAT(only_error(verdict), HasSubstr(reason));
  }
  const LogVerdict good =
      check_one_of_many(folder.write("good.txt", BertLog::passing().text()), rules, {});
  EXPECT_TRUE(good.passed());
  EXPECT_TRUE(good.readable);
}

TEST(CheckLog, ALargerFileThanAnyLogIsRefusedUnread) {
  const TemporaryFolder folder;
  const auto path = folder.write("sparse.txt", BertLog::passing().text());
  std::filesystem::resize_file(path, uint64_t{1} << 40);
  RuleStore rules;
  const LogVerdict verdict = check_one_of_many(path, rules, {});
  EXPECT_FALSE(verdict.readable);
  EXPECT_THAT(only_error(verdict), HasSubstr("1099511627776 bytes"));
}

}  // namespace
}  // namespace strata::compliance
