#include "compliance/review/unlike_runs.h"

#include "tests/compliance/bert_log.h"
#include "tests/compliance/review/runs.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

using ::strata::testing::BertLog;
using ::strata::testing::TemporaryFolder;

RunSettings settings_of(const TemporaryFolder& folder, int number, const BertLog& log) {
  return read_settings(
      mllog::LogReader(folder.write("result_" + std::to_string(number) + ".txt", log.text())));
}

TEST(UnlikeRuns, EachKindOfSettingIsNoticed) {
  struct Case {
    const char *key, *value, *id, *text;
  };
  for (const Case& one :
       {Case{"opt_base_learning_rate", "0.25", "review/runs/settings",
             "opt_base_learning_rate is 1 and 0.25"},
        Case{"global_batch_size", "2", "review/runs/settings", "global_batch_size is 1 and 2"},
        Case{"eval_samples", "10000", "review/runs/data", "eval_samples is 1 and 10000"}}) {
    const TemporaryFolder folder;
    std::vector<RunSettings> runs;
    for (int i = 0; i < 3; ++i) {
      BertLog log = BertLog::passing();
      if (i == 1) log.set(one.key, one.value);
      runs.push_back(settings_of(folder, i, log));
    }
    const auto findings = review_settings(runs, 0.72);
    ASSERT_EQ(ids_of(findings), Ids{one.id});
    EXPECT_THAT(findings[0].text, HasSubstr(one.text));
    EXPECT_EQ(findings[0].path.filename(), "result_1.txt");
  }
}

TEST(UnlikeRuns, RunsMadeAlikeHaveNoFinding) {
  const TemporaryFolder folder;
  std::vector<RunSettings> runs;
  for (int i = 0; i < 3; ++i) {
    BertLog log = BertLog::passing();
    // Seeds and trained samples may differ. The same number may be written in several ways.
    log.set("seed", std::to_string(i)).set("train_samples", std::to_string(1000 * i));
    log.set("opt_base_learning_rate", i == 0 ? "0.001" : i == 1 ? "1e-3" : "1.0e-03");
    if (i > 0) log.without("num_warmup_steps");
    // Events after the first evaluation are no settings.
    log.append({"opt_learning_rate", std::to_string(i)});
    runs.push_back(settings_of(folder, i, log));
  }
  EXPECT_TRUE(review_settings(runs, 0.72).empty());
  EXPECT_TRUE(review_settings({}, 0.72).empty());
}

TEST(UnlikeRuns, TargetsAreComparedWithTheBenchmarksAndOtherRuns) {
  const TemporaryFolder folder;
  std::vector<RunSettings> runs;
  for (const char* target : {"0.72", "0.720", "0.4"}) {
    BertLog log = BertLog::passing();
    log.events.insert(log.events.begin() + 3, {"quality_target", target, "", 1.7e12});
    runs.push_back(settings_of(folder, static_cast<int>(runs.size()), log));
  }
  const auto findings = review_settings(runs, 0.72);
  ASSERT_EQ(ids_of(findings), (Ids{"review/runs/target", "review/runs/target"}));
  EXPECT_THAT(findings[0].text, HasSubstr("quality_target is 0.72 and 0.4"));
  EXPECT_THAT(findings[1].text,
              HasSubstr("target 0.4, but the benchmark's target is 0.72 (1 of 3 logs)"));
  runs.pop_back();
  EXPECT_TRUE(review_settings(runs, 0.72).empty());
  EXPECT_TRUE(review_settings(runs, std::nullopt).empty());
  EXPECT_EQ(review_settings(runs, 0.75).size(), 1u);
}

}  // namespace
}  // namespace strata::compliance
