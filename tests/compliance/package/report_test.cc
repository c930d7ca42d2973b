// Compares whole reports: they explain failures and say nothing about the rest.
#include "compliance/package/report.h"

#include <nlohmann/json.hpp>

#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

FolderVerdict folder_of(const std::string& benchmark, std::vector<Section> sections) {
  FolderVerdict folder;
  folder.folder.system = "laptop";
  folder.folder.benchmark = benchmark;
  folder.folder.path = "Strata/results/laptop/" + benchmark;
  folder.division = "open";
  folder.sections = std::move(sections);
  return folder;
}

LogVerdict failed_log() {
  LogVerdict log{.path = "result_0.txt", .usage = "training", .ruleset = "5.0.0"};
  log.ground = "submission_round";
  log.event_count = 3;
  log.errors = {{.key = "seed",
                 .summary = "two\nlines",
                 .rule = "v['value'] > 0",
                 .found = "-1",
                 .rule_file = "common.yaml",
                 .rule_line = 7,
                 .log_line = 3,
                 .id = "common/seed/CHECK"}};
  log.warnings = {{.summary = "wanted: x", .rule = "x"}};
  return log;
}

// Returns a submitter with a folder of each outcome, and one without problems.
std::vector<PackageVerdict> two_packages() {
  PackageVerdict mixed{.path = "Strata", .submitter = "Strata", .systems = {}, .folders = {}};
  mixed.systems = {{"systems/laptop.json", {}, {"a small thing"}, {}},
                   {"systems/tower.json", {"no field"}, {}, {}}};
  mixed.folders = {folder_of("bert", {{"files", {"expected 10"}, {"a doubt"}, {"a note"}},
                                      {"seeds", {}, {"a warning"}, {}}}),
                   folder_of("ssd", {{"ssd's files", {}, {}, {}}}),
                   folder_of("gnmt", {{"logs", {}, {}, {"no rules", "none at all"}, false}}),
                   folder_of("ncf", {{"logs", {}, {}, {"no rules", "none at all"}, false}}),
                   folder_of("dlrm", {{"logs", {}, {}, {"no points"}, false}})};
  mixed.folders[0].logs = {failed_log(), {.path = "result_1.txt"}};
  mixed.folders[1].logs = {{.path = "result_0.txt"}};
  mixed.folders[1].skipped = true;
  mixed.folders[1].sections[0] = {"Benchmark", {}, {}, {"not of the round"}, false};
  mixed.folders[1].division = "";
  PackageVerdict passed{.path = "Another", .submitter = "AnotherSubmitter"};
  passed.folders = {folder_of("bert", {{"its files", {}, {}, {}}})};
  return {mixed, passed};
}

TEST(Report, ALogsReportNamesLinesRulesAndFoundValues) {
  LogVerdict log = failed_log();
  EXPECT_EQ(log_text(log), R"(failed result_0.txt
  ruleset: training 5.0.0 (from the submission_round; --ruleset overrides)
  error: line 3: two\x0alines
    wanted: v['value'] > 0
    found:  -1
    rule:   common.yaml:7
  warning: wanted: x
)");
  log.ground = "given";
  log.errors.clear();
  log.warnings.clear();
  log.not_judged = "no rules for ssd";
  EXPECT_EQ(log_text(log), "not judged result_0.txt\n  no rules for ssd\n");
}

TEST(Report, AReportOfSeveralLogsEndsWithACount) {
  LogVerdict failed = failed_log(), passed, unjudged;
  passed.path = "result_1.txt";
  passed.ground = "given";
  unjudged.path = "result_2.txt";
  unjudged.ground = "given";
  unjudged.not_judged = "no rules";
  LogVerdict again = failed;
  again.path = "result_3.txt";
  const std::string all = logs_text({failed, again, passed, unjudged}, false);
  EXPECT_TRUE(all.ends_with("4 logs: 1 passed, 1 not judged, 2 failed\n")) << all;
  // The ruleset appears once if it does not change.
  EXPECT_EQ(all.find("ruleset:"), all.rfind("ruleset:")) << all;
  EXPECT_THAT(all, HasSubstr("passed result_1.txt"));
  const std::string quiet = logs_text({failed, passed, passed, unjudged}, true);
  EXPECT_THAT(quiet, Not(HasSubstr("result_1.txt")));
  EXPECT_TRUE(
      quiet.ends_with("4 logs: 2 passed, 1 not judged, 1 failed\n  1 not judged: no rules\n"))
      << quiet;
  EXPECT_EQ(logs_text({passed}, true), "passed result_1.txt\n");
}

// A quiet package text has only what did not pass, and the verdict.
TEST(Report, AQuietPackageReportHasOnlyFailures) {
  const std::string text = package_text(two_packages().front(), true);
  EXPECT_THAT(text, Not(HasSubstr("systems/laptop.json")));
  EXPECT_THAT(text, HasSubstr("failed systems/tower.json"));
  EXPECT_TRUE(text.ends_with("failed Strata\n")) << text;
}

// "0 occurrences" says no more than "but found 0".
TEST(Report, DoesNotRepeatACount) {
  Finding finding{"a",
                  "Required EXACTLY_ONE occurrence of 'a' but found 0",
                  "EXACTLY_ONE",
                  "0 occurrences",
                  "",
                  0,
                  0,
                  "x/a/REQ"};
  EXPECT_EQ(describe(finding), finding.summary);
  finding.found += "; the log has 'b', a similar key, in line 7";
  EXPECT_EQ(describe(finding),
            finding.summary + "\n  found:  the log has 'b', a similar key, in line 7");
  finding.summary = "CHECK for 'a' failed in line 3:";
  finding.found = "12";
  EXPECT_EQ(found_beyond_summary(finding), "12");
}

TEST(Report, APackageReportHasEverySectionAndTheFailedLogs) {
  EXPECT_EQ(package_text(two_packages()[0]), R"(passed systems/laptop.json
  warning: a small thing
failed systems/tower.json
  error: no field
failed results/laptop/bert (open)
  failed files
    error: expected 10
    warning: a doubt
    a note
  passed seeds
    warning: a warning
    failed result_0.txt
      ruleset: training 5.0.0 (from the submission_round; --ruleset overrides)
      error: line 3: two\x0alines
        wanted: v['value'] > 0
        found:  -1
        rule:   common.yaml:7
      warning: wanted: x
skipped results/laptop/ssd (division unknown)
  not judged Benchmark
    not of the round
not judged results/laptop/gnmt (open)
  not judged logs
    no rules
    none at all
not judged results/laptop/ncf (open)
  not judged logs
    no rules
    none at all
not judged results/laptop/dlrm (open)
  not judged logs
    no points
failed Strata
)");
}

TEST(Report, ARoundReportHasCountsAndFailures) {
  EXPECT_EQ(
      round_text(two_packages()),
      R"(submitter         outcome     systems     folders  failed  not judged  logs   failed logs
Strata            failed      failed      5        1       4           3      1
AnotherSubmitter  passed      passed      1        0       0           0      0

Strata
  failed systems/tower.json
    error: no field
  failed results/laptop/bert
    failed files
      error: expected 10
      warning: a doubt
      a note

not judged
  1 folder: no points
  2 folders: no rules; none at all
  1 folder: not of the round
)");
  EXPECT_EQ(round_text({}),
            "submitter  outcome     systems     folders  failed  not judged  logs   failed logs\n");
}

TEST(Report, JsonHasTheContentsOfTheText) {
  const auto packages = nlohmann::json::parse(package_json(two_packages()))["packages"];
  ASSERT_EQ(packages.size(), 2u);
  EXPECT_EQ(packages[0]["outcome"], "failed");
  EXPECT_EQ(packages[0]["passed"], false);
  EXPECT_EQ(packages[1]["passed"], true);
  EXPECT_EQ(packages[0]["systems"][1]["errors"][0], "no field");
  EXPECT_EQ(packages[0]["systems"][0]["passed"], true);
  const auto& folder = packages[0]["folders"][0];
  EXPECT_EQ(folder["benchmark"], "bert");
  EXPECT_EQ(folder["sections"][0]["warnings"][0], "a doubt");
  EXPECT_EQ(folder["sections"][0]["notes"][0], "a note");
  EXPECT_EQ(folder["skipped"], false);
  EXPECT_EQ(folder["seeds_passed"], true);
  EXPECT_EQ(packages[0]["folders"][1]["skipped"], true);
  EXPECT_EQ(packages[0]["folders"][4]["outcome"], "not judged");
  const auto& log = folder["logs"][0];
  EXPECT_EQ(log["events"], 3);
  EXPECT_EQ(log["ruleset_ground"], "submission_round");
  EXPECT_EQ(log["errors"], nlohmann::json::parse(R"([{"key": "seed", "summary": "two\nlines",
      "wanted": "v['value'] > 0", "found": "-1", "id": "common/seed/CHECK", "rule_file": "common.yaml", "rule_line": 7,
      "log_line": 3}])"));
  EXPECT_EQ(log["warnings"][0]["summary"], "wanted: x");
  EXPECT_EQ(nlohmann::json::parse(log_json({failed_log()}))["logs"][0], log);
}

TEST(LogText, ALogWithoutEventsHasOneErrorForIt) {
  RuleStore rules;
  const LogVerdict verdict =
      check_log(mllog::LogReader::from_text("no events\n", "x.txt"), rules, "training", "5.0.0");
  const std::string text = log_text(verdict);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;  // with the rules' line
  EXPECT_THAT(text, HasSubstr("no line holds ':::MLLOG'"));
  EXPECT_THAT(text, HasSubstr("13 more findings"));
  // A log with broken lines gets another error.
  const LogVerdict broken =
      check_log(mllog::LogReader::from_text(":::MLLOG {\n", "x.txt"), rules, "training", "5.0.0");
  EXPECT_THAT(log_text(broken), HasSubstr("parsing errors"));
}

}  // namespace
}  // namespace strata::compliance
