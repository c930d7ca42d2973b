// Tests the facts of a run for any contents of its log.
#include "compliance/review/run_record.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/compliance/bert_log.h"

namespace strata::compliance {
namespace {

using ::strata::testing::BertLog;
using ::strata::testing::LogEvent;

RunRecord record_of(const std::string& text) {
  return read_run_record(mllog::LogReader::from_text(text, "result_0.txt"));
}

TEST(RunRecord, HasSubmissionTimesAndNumbers) {
  BertLog log = BertLog::passing("closed");
  log.set("train_samples", "156725653").set("eval_samples", "[10000]");
  log.append({"submission_org", "\"Another\"", ""});
  const RunRecord record = record_of(log.text());
  EXPECT_EQ(record.said("org"), "Strata");  // the first one counts
  EXPECT_EQ(record.said("division"), "closed");
  EXPECT_EQ(record.said("poc_name"), "");
  EXPECT_EQ(record.number("train_samples"), 156725653);
  EXPECT_EQ(record.number("eval_samples"), 10000);
  EXPECT_EQ(record.number("number_of_nodes"), std::nullopt);
  ASSERT_EQ(record.evaluations.size(), 1u);
  EXPECT_EQ(record.evaluations[0].count, 640);
  EXPECT_EQ(record.run_ms(), 8000);
  EXPECT_TRUE(record.success);
  EXPECT_EQ(record.silence.time_ms, 1000);
  EXPECT_LT(record.init_start->time_ms, record.run_start->time_ms);
  EXPECT_EQ(record.first_event->time_ms, log.events.front().time_ms);
}

TEST(RunRecord, TakesTheEarliestStartAndTheLastStop) {
  BertLog log = BertLog::passing();
  const double stop = log.at("run_stop").time_ms;
  log.append({"init_start", "null", "", 5});
  log.append({"run_start", "null", "", stop + 1});
  log.append({"run_stop", "null", R"("status": "aborted")", stop + 70});
  const RunRecord record = record_of(log.text());
  EXPECT_EQ(record.init_start->time_ms, 5);
  EXPECT_EQ(record.run_start->time_ms, log.at("run_start").time_ms);
  EXPECT_EQ(record.run_stop->time_ms, stop + 70);
  EXPECT_FALSE(record.success);
}

TEST(RunRecord, SortsEvaluationsByTime) {
  BertLog log = BertLog::passing();
  log.append({"eval_accuracy", "0.5", R"("samples_count": 7)", log.at("eval_start").time_ms});
  log.append({"eval_error", "0.5", R"("step_num": 9.5)", log.at("run_stop").time_ms});
  const RunRecord record = record_of(log.text());
  ASSERT_EQ(record.evaluations.size(), 3u);
  EXPECT_EQ(record.evaluations[0].count, 7);
  EXPECT_EQ(record.evaluations[1].count, 640);
  EXPECT_EQ(record.evaluations[2].count, 9.5);
}

TEST(RunRecord, NoticesBlocksThatStartAgain) {
  const auto restarts = [](const std::string& first, double later_ms, bool stopped) {
    BertLog log = BertLog::passing();
    const auto at = std::ranges::find(log.events, "epoch_start", &LogEvent::key);
    const double time = log.at("block_start").time_ms + later_ms;
    auto place = log.events.insert(at, {"block_start", "null", first, time});
    if (stopped) log.events.insert(place, {"block_stop", "null", "", time});
    return record_of(log.text()).restarts;
  };
  const std::string same = R"("first_epoch_num": 1, "epoch_count": 1)";
  EXPECT_EQ(restarts(same, 5000, false), 1u);
  EXPECT_EQ(restarts(same, 5000, true), 0u);
  EXPECT_EQ(restarts(same, 500, false), 0u);  // another process
  EXPECT_EQ(restarts(R"("first_epoch_num": 2)", 5000, false), 0u);
  EXPECT_EQ(record_of(BertLog::passing().text()).restarts, 0u);
}

// In these logs blocks may have stopped.
TEST(RunRecord, BlocksThatMayHaveStoppedDoNotStartAgain) {
  const auto restarts = [](const std::vector<std::string>& blocks, bool several_processes = false) {
    BertLog log = BertLog::passing().without("block_start").without("block_stop");
    if (several_processes) log.append({"run_start", "null", "", log.at("run_start").time_ms});
    auto at = std::ranges::find(log.events, "epoch_start", &LogEvent::key);
    double time = log.at("run_start").time_ms;
    for (const std::string& block : blocks) {
      const std::string key = block == "stop" ? "block_stop" : "block_start";
      at = 1 + log.events.insert(at, {key, "null", block == "stop" ? "" : block, time += 5000});
    }
    return record_of(log.text()).restarts;
  };
  const std::string zero = R"("samples_count": 0)", more = R"("samples_count": 46144)";
  const std::string epoch = R"("first_epoch_num": 1)";
  EXPECT_EQ(restarts({zero, more, R"("samples_count": 92288)", "stop"}), 0u);
  EXPECT_EQ(restarts({zero, zero, more}), 1u);
  EXPECT_EQ(restarts({epoch + ", " + zero, epoch + ", " + more}), 0u);
  EXPECT_EQ(restarts({"", "", ""}), 0u);           // no numbers
  EXPECT_EQ(restarts({epoch, epoch, epoch}), 0u);  // a constant, and no block stops
  EXPECT_EQ(restarts({epoch, "stop", epoch, "stop", epoch, epoch, "stop"}), 1u);
  EXPECT_EQ(restarts({zero, zero, more}, true), 0u);
}

TEST(RunRecord, NamesAreReadAsUtf8FromAnyEncoding) {
  BertLog log = BertLog::passing();
  for (const char* org : {"\"Z\xc3\xbcrich\"", "\"Z\\u00fcrich\"", "\"Z\xfcrich\""})
    EXPECT_EQ(record_of(log.set("submission_org", org).text()).said("org"), "Z\xc3\xbcrich") << org;
}

TEST(RunRecord, TheEarliestInitStopOfSeveralProcessesIsUsed) {
  BertLog log = BertLog::passing();
  const double time = log.at("init_stop").time_ms;
  log.append({"init_stop", "null", "", time - 300});
  EXPECT_EQ(record_of(log.text()).init_stop->time_ms, time - 300);
}

TEST(RunRecord, IgnoresValuesThatAreNotNumbersOrTimes) {
  for (const char* value : {"1e999", "-Infinity", "NaN", "\"many\"", "[1, 2]", "{}", "null", "true",
                            "\"\"", "[]", "--3"}) {
    BertLog log = BertLog::passing();
    log.set("train_samples", std::string(value) == "--3" ? "\"--3\"" : value);
    EXPECT_EQ(record_of(log.text()).number("train_samples"), std::nullopt) << value;
  }
  for (const char* value : {"3", "3.0", "\"3\"", "[3]", "3e0"}) {
    BertLog log = BertLog::passing();
    log.set("train_samples", value);
    EXPECT_EQ(record_of(log.text()).number("train_samples"), 3) << value;
  }
  std::string text = BertLog::passing().text();
  for (const char* time : {"1e300", "-1e300", "Infinity", "9999999999999999999999"}) {
    text += std::string(":::MLLOG {\"namespace\": \"\", \"time_ms\": ") + time +
            R"(, "event_type": "P", "key": "run_stop", "value": 1, "metadata": {}})" + "\n";
  }
  EXPECT_EQ(record_of(text).run_ms(), 8000);
}

TEST(RunRecord, CutsTextsOfAMegabyte) {
  BertLog log = BertLog::passing();
  log.set("submission_org", "\"" + std::string(1 << 20, 'a') + "\"");
  // Escapes are not cut.
  log.set("submission_platform",
          "\"" + std::string(198, 'b') + "\\u00e9" + std::string(1 << 20, 'b') + "\"");
  log.set("submission_status", "[" + std::string(1000, '1') + "]");
  const RunRecord record = record_of(log.text());
  EXPECT_EQ(record.said("org").size(), 200u);
  EXPECT_EQ(record.said("platform"), std::string(198, 'b') + "\u00e9");
  EXPECT_EQ(record.said("status").size(), 200u);
}

TEST(RunRecord, LimitsWhatItKeeps) {
  std::string text;
  LogEvent event{"eval_accuracy", "0.1", "\"epoch_num\": 1", 5};
  for (size_t i = 0; i < kMostEvaluations + 10; ++i) text += BertLog::line(event);
  for (int i = 0; i < 1000; ++i) {
    event.key = "submission_" + std::to_string(i);
    text += BertLog::line(event);
  }
  event.key = "resumed";
  for (int i = 0; i < 1000; ++i) text += BertLog::line(event);
  const RunRecord record = record_of(text);
  EXPECT_EQ(record.evaluations.size(), kMostEvaluations);
  EXPECT_EQ(record.submission.size(), 100u);
  EXPECT_EQ(record.resumptions.size(), 100u);
}

TEST(RunRecord, ALogWithoutEventsGivesAnEmptyRecord) {
  const RunRecord record = record_of("nothing here\n");
  EXPECT_FALSE(record.first_event);
  EXPECT_FALSE(record.run_ms());
  EXPECT_TRUE(record.evaluations.empty());
  EXPECT_FALSE(record.success);
}

TEST(RunRecord, FindingsHaveALineNumber) {
  const mllog::LogReader log =
      mllog::LogReader::from_text("text\n" + BertLog::passing().text(), "result_0.txt");
  const RunRecord record = read_run_record(log);
  const auto findings = place({{"a", "b", record.run_stop->offset}, {"c", "d", std::nullopt}}, log);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].line, log.event_count() + 1);
  EXPECT_EQ(findings[0].describe(),
            "result_0.txt, line " + std::to_string(findings[0].line) + ": b [a]");
  EXPECT_EQ(findings[1].describe(), "result_0.txt: d [c]");
}

TEST(RunRecord, TextsAreFitToBePrinted) {
  EXPECT_EQ(printable_text("a\x1b[2Jb\nc\x7f"), R"(a\x1b[2Jb\x0ac\x7f)");
  // Characters are not cut.
  EXPECT_EQ(printable_text(std::string(79, 'x') + "\u00e9\u00e9"), std::string(79, 'x') + "...");
  EXPECT_EQ(printable_text(std::string(80, 'x')), std::string(80, 'x'));
}

TEST(RunRecord, NumbersAreWrittenForPeople) {
  EXPECT_EQ(count_text(156725653), "156,725,653");
  EXPECT_EQ(count_text(-1234), "-1,234");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1.25), "1.25");
  EXPECT_EQ(count_text(5452760.4), "5,452,760");
  EXPECT_EQ(count_text(1e18), "1e+18");
  EXPECT_EQ(duration_text(84), "84 ms");
  EXPECT_EQ(duration_text(4540), "4.54 s");
  EXPECT_EQ(duration_text(23.5 * 6e4), "23.5 min");
  EXPECT_EQ(duration_text(17.2 * 36e5), "17.2 hours");
  EXPECT_EQ(duration_text(5.83 * 864e5), "5.83 days");
}

}  // namespace
}  // namespace strata::compliance
