#include "compliance/checks/similar_keys.h"

#include <algorithm>

#include "compliance/package/report.h"
#include "tests/compliance/bert_log.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

using ::strata::testing::BertLog;
using ::strata::testing::LogEvent;

TEST(SimilarKeys, AreFoundBySeveralKindsOfSimilarity) {
  struct Case {
    const char* wanted;
    std::vector<std::string> keys;
    const char* similar;
  };
  for (const Case& one : std::vector<Case>{
           {"opt_lamb_epsilon", {"seed", "opt_epsilon", "opt_name"}, "opt_epsilon"},
           {"global_batch_size", {"batch_size", "gobal_batch_size"}, "batch_size"},
           {"global_batch_size", {"gobal_batch_size"}, "gobal_batch_size"},
           {"global_batch_size", {"globalBatchSize", "batch_size"}, "globalBatchSize"},
           {"opt_base_learning_rate", {"opt_learning_rate_base"}, "opt_learning_rate_base"},
           {"submission_org", {"submission_orgs"}, "submission_orgs"},
           {"eval_accuracy", {"eval_loss", "eval_acc"}, "eval_acc"},
           {"eval_accuracy", {"ev_accuracy_1", "acc_eval", "eval"}, ""},
           {"seed", {"seeds", "need"}, ""},
           {"opt_lamb_beta_1", {"opt_name", "opt_weight_decay"}, ""},
           {"run_stop", {}, ""}}) {
    EXPECT_EQ(similar_key(one.wanted, one.keys), one.similar) << one.wanted;
  }
}

LogVerdict verdict_on(const BertLog& log, bool werror = false) {
  RuleStore rules;
  return check_log(mllog::LogReader::from_text(log.text(), "result_0.txt"), rules, "training",
                   "2.1.0", werror);
}

TEST(SimilarKeys, AreNamedWithTheirLineForAMissingKey) {
  BertLog log = BertLog::passing("closed");
  const auto at = std::ranges::find(log.events, "global_batch_size", &LogEvent::key);
  const auto line = at - log.events.begin() + 1;
  at->key = "batch_size";
  const LogVerdict verdict = verdict_on(log);
  const auto error = std::ranges::find(verdict.errors, "global_batch_size", &Finding::key);
  ASSERT_NE(error, verdict.errors.end());
  EXPECT_EQ(error->summary, "Required EXACTLY_ONE occurrence of 'global_batch_size' but found 0");
  EXPECT_EQ(error->found, "0 occurrences; the log has 'batch_size', a similar key, in line " +
                              std::to_string(line));
  // A key that rules ask for is no misspelling.
  const LogVerdict other = verdict_on(BertLog::passing("closed").without("opt_lamb_beta_1"));
  const auto missing = std::ranges::find(other.errors, "opt_lamb_beta_1", &Finding::key);
  ASSERT_NE(missing, other.errors.end());
  EXPECT_EQ(missing->found, "0 occurrences");
}

TEST(SimilarKeys, EightRepetitionsOfEveryEventAreOneWarning) {
  BertLog log;
  for (const LogEvent& event : BertLog::passing("closed").events)
    log.events.insert(log.events.end(), 8, event);
  const LogVerdict verdict = verdict_on(log);
  EXPECT_GT(verdict.warnings.size(), 10u);  // the official checker's count
  const std::vector<Finding> shorter = merge_repeats(verdict.warnings);
  ASSERT_EQ(shorter.size(), 1u);
  EXPECT_THAT(shorter[0].summary, HasSubstr("keys are logged 8 times each instead of once"));
  EXPECT_THAT(shorter[0].summary, HasSubstr("global_batch_size"));
  const std::string text = log_text(verdict);
  EXPECT_THAT(text, Not(HasSubstr("EXACTLY_ONE")));
  EXPECT_THAT(text, HasSubstr("8 processes"));
}

TEST(SimilarKeys, OtherFindingsStayAsTheyAre) {
  const Finding repeat{"a", "Required", "EXACTLY_ONE", "8 occurrences", "", 0, 0, "x/a/REQ"};
  Finding twice = repeat;
  twice.found = "2 occurrences";
  Finding missing = repeat;
  missing.found = "0 occurrences";
  const auto kept = merge_repeats({repeat, twice, missing, repeat, missing, missing});
  EXPECT_EQ(kept.size(), 6u);
  const auto shorter = merge_repeats({twice, repeat, missing, repeat, repeat});
  ASSERT_EQ(shorter.size(), 3u);
  EXPECT_EQ(shorter[1].id, "log/repeated-events");
}

}  // namespace
}  // namespace strata::compliance
