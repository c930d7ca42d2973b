// Tests the review of logs and packages, which changes no verdict unless asked to.
#include "compliance/review/review.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "compliance/formats/formats.h"
#include "compliance/package/package.h"
#include "compliance/package/report.h"
#include "compliance/review/described_system.h"
#include "tests/compliance/bert_log.h"
#include "tests/compliance/review/runs.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

using ::strata::testing::BertLog;
using ::strata::testing::LogEvent;
using ::strata::testing::TemporaryFolder;

// Writes ten runs of Acme in the open division. Its description names `submitter`.
void write_acme(const TemporaryFolder& folder, const std::string& submitter,
                const std::string& logged = "Acme") {
  for (int i = 0; i < 10; ++i) {
    BertLog log = BertLog::passing("open");
    log.set("submission_org", "\"" + logged + "\"");
    for (auto& event : log.events) event.time_ms += 60'000 * i;
    folder.write("Acme/results/box/bert/result_" + std::to_string(i) + ".txt", log.text());
  }
  folder.write("Acme/systems/box.json",
               "{\"division\": \"open\", \"submitter\": \"" + submitter + "\"}");
}

PackageVerdict check_acme(const TemporaryFolder& folder, bool strict = false) {
  RuleStore rules;
  PackageOptions options;
  options.ruleset = "0.7.0";  // this round needs no description
  options.strict = strict;
  return check_package(folder.path() / "Acme", rules, options);
}

const Section& review_in(const PackageVerdict& package) {
  const auto& sections = package.folders.at(0).sections;
  return *std::ranges::find(sections, "Review", &Section::title);
}

LogVerdict check_log_of(const BertLog& log, bool strict) {
  const TemporaryFolder folder;
  RuleStore rules;
  CheckOptions options;
  options.ruleset = "5.0.0";
  options.then = [&](const mllog::LogReader& events, LogVerdict& verdict) {
    review_verdict(events, strict, verdict);
  };
  return check_log(folder.write("result_0.txt", log.text()), rules, options);
}

BertLog resumed() {
  BertLog log = BertLog::passing();
  const auto at = std::ranges::find(log.events, "eval_start", &testing::LogEvent::key);
  log.events.insert(at, {"resumed", "12", "", at->time_ms - 750});
  return log;
}

TEST(Review, FindingsOfALogDoNotChangeItsVerdict) {
  const LogVerdict verdict = check_log_of(resumed(), false);
  EXPECT_TRUE(verdict.passed());
  EXPECT_TRUE(verdict.warnings.empty());
  ASSERT_EQ(ids_of(verdict.review), Ids{"review/clock/resumed"});
  EXPECT_GT(verdict.review[0].line, 20u);
  EXPECT_THAT(log_text(verdict), HasSubstr("  review: line "));
  EXPECT_TRUE(check_log_of(BertLog::passing(), true).passed());
}

// Tests odd lines and times, and the line that each finding names.
TEST(Review, NamesTheLineOfLostEventsAndOddTimes) {
  struct Case {
    const char* what;
    std::function<void(BertLog&)> change;
    std::string id, key;  // id of the finding, key of the event on its line
    std::string text;
  };
  const auto scaled = [](double factor) {
    return [factor](BertLog& log) {
      for (LogEvent& event : log.events) event.time_ms = std::floor(event.time_ms * factor);
    };
  };
  const Case cases[] = {
      {"seconds", scaled(1e-3), "review/clock/unit", "cache_clear", "looks like seconds"},
      {"microseconds", scaled(1e3), "review/clock/unit", "cache_clear", "looks like microseconds"},
      {"nanoseconds", scaled(1e6), "review/clock/unit", "cache_clear", "looks like nanoseconds"},
      {"wrapped at 32 bits",
       [](BertLog& log) {
         for (LogEvent& event : log.events) event.time_ms += 2'300'000'000 - 1.7e12;
       },
       "review/clock/unit", "cache_clear",
       "days after 1970: the clock was not set, or its counter"},
      {"wrapped",
       [](BertLog& log) {
         for (LogEvent& event : log.events) event.time_ms += 18446744073708 - 1.7e12;
       },
       "review/clock/unit", "cache_clear", "584 years after 1970"},
      {"wrapped midway",
       [](BertLog& log) {
         for (const char* key : {"eval_stop", "eval_accuracy", "epoch_stop", "block_stop"})
           log.at(key).time_ms -= 1.7e12;
       },
       "review/clock/unit", "eval_stop", "(4 such events)"},
      {"stop before start", [](BertLog& log) { log.at("eval_stop").time_ms -= 5000; },
       "review/clock/disorder", "eval_stop",
       "the time of this eval_stop is 4 s earlier than that of its eval_st"},
      {"object in a value",
       [](BertLog& log) {
         log.at("seed").value = R"({"key": "seed", "time_ms": 5, "value": 1, "metadata": {}})";
       },
       "review/log/swallowed", "seed", "looks like another"},
      {"text in metadata",
       [](BertLog& log) {
         log.at("seed").metadata = R"("a": "b {\"time_ms\": 5, \"key\": \"eval_stop\"}")";
       },
       "review/log/swallowed", "seed", "looks like another"}};
  for (const Case& one : cases) {
    BertLog log = BertLog::passing();
    one.change(log);
    const LogVerdict verdict = check_log_of(log, false);
    const auto found = std::ranges::find(verdict.review, one.id, &ReviewFinding::id);
    ASSERT_NE(found, verdict.review.end()) << one.what;
    EXPECT_THAT(found->text, HasSubstr(one.text)) << one.what;
    const auto at = std::ranges::find(log.events, one.key, &LogEvent::key);
    EXPECT_EQ(found->line, static_cast<uint64_t>(at - log.events.begin()) + 1) << one.what;
  }
}

TEST(Review, NamesTheLineWithTwoEvents) {
  const TemporaryFolder folder;
  std::string text = BertLog::passing().text();
  const size_t stop = text.find("\"eval_accuracy\"");
  text.erase(text.find('\n', stop), 1);
  const mllog::LogReader log = mllog::LogReader::from_text(text, "result_0.txt");
  const auto findings = review_log(log, read_run_record(log), "5.0.0");
  ASSERT_EQ(ids_of(findings), Ids{"review/log/several-on-a-line"});
  EXPECT_THAT(findings[0].text, HasSubstr("lost: eval_accuracy"));
  EXPECT_EQ(findings[0].line, 1 + std::ranges::count(text.substr(0, stop), '\n'));
}

TEST(Review, TimesThatCountFromTheStartAreNoFinding) {
  BertLog log = BertLog::passing();
  for (LogEvent& event : log.events) event.time_ms -= 1.7e12;
  EXPECT_EQ(ids_of(check_log_of(log, false).review), Ids{});
}

TEST(Review, FindingsOfALogAreErrorsIfStrict) {
  const LogVerdict verdict = check_log_of(resumed(), true);
  EXPECT_FALSE(verdict.passed());
  ASSERT_EQ(verdict.errors.size(), 1u);
  EXPECT_EQ(verdict.errors[0].id, "review/clock/resumed");
  EXPECT_GT(verdict.errors[0].log_line, 20u);
}

TEST(Review, FindingsOfAPackageDoNotChangeItsVerdict) {
  const TemporaryFolder folder;
  write_acme(folder, "Bolt");
  const PackageVerdict verdict = check_acme(folder);
  EXPECT_TRUE(verdict.passed()) << package_text(verdict);
  const Section& review = review_in(verdict);
  EXPECT_TRUE(review.passed());
  ASSERT_EQ(ids_of(review.findings), Ids{"review/system/submitter"});
  EXPECT_EQ(review.findings[0].path.filename(), "result_0.txt");
  ASSERT_EQ(review.warnings.size(), 1u);
  EXPECT_TRUE(review.warnings[0].starts_with("result_0.txt, line 4: submission_org is 'Acme'"))
      << review.warnings[0];
  EXPECT_THAT(review.warnings[0], HasSubstr("(10 of 10 logs) [review/system/submitter]"));
}

TEST(Review, FindingsOfAPackageAreErrorsIfStrict) {
  const TemporaryFolder folder;
  write_acme(folder, "Bolt");
  const PackageVerdict verdict = check_acme(folder, true);
  EXPECT_FALSE(verdict.passed());
  EXPECT_EQ(review_in(verdict).errors.size(), 1u);
  const TemporaryFolder clean;
  write_acme(clean, "Acme");
  EXPECT_TRUE(check_acme(clean, true).passed()) << package_text(check_acme(clean, true));
}

TEST(Review, AMissingNameIsOneFindingOfASubmission) {
  const TemporaryFolder folder;
  write_acme(folder, "Acme");
  for (const int system : {1, 2}) {
    for (int i = 0; i < 10; ++i) {
      BertLog log = BertLog::passing("open");
      log.set("submission_org", "\"Acme\"");
      log.set("submission_platform", "\"1xPLATFORM_PLACEHOLDER\"");
      for (auto& event : log.events) event.time_ms += 60'000 * (100 * system + i);
      folder.write("Acme/results/other" + std::to_string(system) + "/bert/result_" +
                       std::to_string(i) + ".txt",
                   log.text());
    }
    folder.write("Acme/systems/other" + std::to_string(system) + ".json",
                 R"({"division": "open", "submitter": "Acme"})");
  }
  const PackageVerdict verdict = check_acme(folder);
  size_t found = 0;
  for (const FolderVerdict& one : verdict.folders) {
    for (const Section& section : one.sections)
      found += static_cast<size_t>(
          std::ranges::count(section.findings, kPlaceholder, &ReviewFinding::id));
    for (const LogVerdict& log : one.logs) EXPECT_EQ(ids_of(log.review), Ids{});
  }
  EXPECT_EQ(found, 0u);
  const auto section = std::ranges::find(verdict.systems, "Review", &Section::title);
  ASSERT_NE(section, verdict.systems.end());
  ASSERT_EQ(section->warnings.size(), 1u);
  EXPECT_THAT(section->warnings[0], HasSubstr("(2 result folders, first in results/other1/bert)"));
  EXPECT_TRUE(verdict.passed());
  EXPECT_THAT(round_text({verdict}),
              HasSubstr("1 submission: review/system/placeholder, first in Acme"));
}

TEST(Review, FindsRunsThatWereNotSubmitted) {
  const TemporaryFolder folder;
  write_acme(folder, "Acme");
  for (int i = 0; i < 6; ++i) {
    BertLog log = BertLog::passing("open");
    for (auto& event : log.events) event.time_ms += 60'000 * (20 + i);
    log.at("run_stop").time_ms += 20'000;  // makes the run slower
    folder.write("Acme/results/box/bert/all/result_" + std::to_string(i) + ".txt", log.text());
  }
  EXPECT_EQ(ids_of(review_in(check_acme(folder)).findings), Ids{"review/runs/window"});
}

TEST(Review, ARunInTwoFoldersIsNoticed) {
  const TemporaryFolder folder;
  write_acme(folder, "Acme");
  BertLog log = BertLog::passing("open");
  folder.write("Acme/results/other/bert/result_0.txt",
               log.set("submission_org", "\"Acme\"").text());
  const PackageVerdict verdict = check_acme(folder);
  ASSERT_EQ(verdict.folders.size(), 2u);
  EXPECT_EQ(ids_of(verdict.folders[1].logs.at(0).review), Ids{"review/runs/same-run"});
}

TEST(Review, IsInEveryFormat) {
  const TemporaryFolder folder;
  write_acme(folder, "Bolt");
  for (const bool strict : {false, true}) {
    const auto cases = cases_of(std::vector{check_acme(folder, strict)});
    const std::string level = strict ? "error" : "warning";
    const auto results = nlohmann::json::parse(sarif(cases))["runs"][0]["results"];
    ASSERT_EQ(results.size(), 1u) << results;
    EXPECT_EQ(results[0]["ruleId"], "review/system/submitter");
    EXPECT_EQ(results[0]["level"], level);
    const auto place = results[0]["locations"][0]["physicalLocation"];
    EXPECT_TRUE(place["artifactLocation"]["uri"].get<std::string>().ends_with("bert/result_0.txt"));
    EXPECT_EQ(place["region"]["startLine"], 4);
    EXPECT_THAT(github(cases),
                HasSubstr("bert/result_0.txt,line=4,title=review/system/submitter::"));
    EXPECT_THAT(junit(cases), HasSubstr("result_0.txt: line 4: submission_org"));
  }
  const auto json = nlohmann::json::parse(package_json({check_acme(folder)}));
  const auto sections = json["packages"][0]["folders"][0]["sections"];
  EXPECT_EQ(sections.back()["findings"][0]["id"], "review/system/submitter");
  EXPECT_EQ(sections.back()["findings"][0]["line"], 4);
  EXPECT_THAT(round_text({check_acme(folder)}),
              HasSubstr("1 folder: review/system/submitter, first in "
                        "Acme/box/bert"));
}

TEST(Review, PrintsNoControlCharactersOfALog) {
  const TemporaryFolder folder;
  write_acme(folder, "Bolt", "\\u001b[2J\\n::error::x" + std::string(1 << 18, 'a'));
  const std::string text = package_text(check_acme(folder));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr(R"(\x1b[2J\x0a::error::x)")) << text.substr(0, 3000);
  EXPECT_LT(text.size(), 20'000u);
}

TEST(Review, MergesEqualFindingsOfSeveralLogs) {
  const ReviewFinding one{"a", "text", "result_0.txt", 1}, two{"b", "other", "result_1.txt", 2};
  const auto merged = merge_findings({{one, one}, {two, one}, {}});
  ASSERT_EQ(ids_of(merged), (Ids{"a", "b"}));
  EXPECT_EQ(merged[0].text, "text (2 of 3 logs)");
  EXPECT_EQ(merged[1].text, "other (1 of 3 logs)");
  EXPECT_EQ(merge_findings({{one}})[0].text, "text");
  EXPECT_TRUE(merge_findings({}).empty());
}

}  // namespace
}  // namespace strata::compliance
