#include "scoring/summary/summary.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files/files.h"
#include "scoring/summary/private_id.h"
#include "tests/compliance/submission.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"

namespace strata::scoring {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::strata::testing::BertLog;
using ::strata::testing::TemporaryFolder;
using ::strata::testing::whole_description;
using ::strata::testing::write_submission;

std::vector<Score> scores_under(const TemporaryFolder& folder) {
  return score_directory(folder.path(), {.usage = "training", .ruleset = "5.0.0", .threads = 1});
}

SummaryCell cell_at(const SummaryTable& table, size_t row, const std::string& column) {
  const auto found = std::ranges::find(table.columns, column);
  EXPECT_NE(found, table.columns.end()) << column;
  return table.rows.at(row).at(static_cast<size_t>(found - table.columns.begin()));
}

TEST(Summary, EverySystemHasARowInTheOfficialColumns) {
  const TemporaryFolder folder;
  write_submission(folder.path(), "Acme", "box", 10);
  folder.write("Acme/results/empty/notes.txt", "");
  folder.write("Acme/systems/empty.json",
               whole_description("Acme", "tpu-v3", "open",
                                 R"("system_name": "tpu-v3", "accelerator_model_name": "tpu-v3",
                                    "accelerators_per_node": 8.0, "hw_notes": "",
                                    "framework": "TensorFlow 2 commit hash = 123 abc")"));
  const Summary summary = summarize(scores_under(folder));
  EXPECT_EQ(summary.strong.columns.size(), 14u + 7u);
  ASSERT_EQ(summary.strong.rows.size(), 2u);
  EXPECT_EQ(cell_at(summary.strong, 0, "system"), SummaryCell("box"));
  EXPECT_EQ(cell_at(summary.strong, 0, "number_of_nodes"), SummaryCell("2"));
  EXPECT_EQ(cell_at(summary.strong, 0, "accelerators_count"), SummaryCell(int64_t{4}));
  EXPECT_EQ(cell_at(summary.strong, 0, "notes"), SummaryCell("2;2"));
  EXPECT_EQ(cell_at(summary.strong, 0, "bert"), SummaryCell((60'000 + 4500.0) / 60'000));
  EXPECT_EQ(cell_at(summary.strong, 0, "retinanet"), SummaryCell());
  EXPECT_EQ(cell_at(summary.strong, 0, "details_url"),
            SummaryCell("https://github.com/mlcommons/training_results_v5.0/blob/main/Acme/systems/"
                        "box.json"));
  EXPECT_EQ(cell_at(summary.detailed, 0, "bert:RCP"), SummaryCell("Pass"));
  EXPECT_EQ(cell_at(summary.detailed, 0, "bert:GBS"), SummaryCell(448.0));
  EXPECT_EQ(cell_at(summary.detailed, 0, "bert:samples_to_converge"), SummaryCell(99000000.0));
  EXPECT_EQ(cell_at(summary.strong, 1, "system"), SummaryCell("TPUv3.16"));
  EXPECT_EQ(cell_at(summary.strong, 1, "accelerator_model_name"), SummaryCell("TPUv3"));
  EXPECT_EQ(cell_at(summary.strong, 1, "framework"), SummaryCell("TensorFlow 2"));
  EXPECT_EQ(cell_at(summary.strong, 1, "bert"), SummaryCell());
  EXPECT_EQ(json::parse(summary_json(summary, false))[0]["bert"], (60'000 + 4500.0) / 60'000);
  EXPECT_THAT(summary_text(summary, false), Not(HasSubstr("retinanet")));
}

TEST(Summary, ResultsWithoutARowAreReported) {
  const TemporaryFolder folder;
  write_submission(folder.path(), "Acme", "box", 3);
  write_submission(folder.path(), "Acme", "rack", 3);
  folder.write("Acme/systems/rack.json",
               whole_description("Acme", "rack", "closed", R"("number_of_nodes": "many")"));
  write_submission(folder.path(), "Acme", "shelf", 3);
  fs::remove(folder.path() / "Acme/systems/shelf.json");
  folder.write("Acme/results/box/chess/result_0.txt", BertLog::passing().text());
  folder.write("loose/result_0.txt", BertLog::passing().text());
  const Summary summary = summarize(scores_under(folder));
  ASSERT_EQ(summary.strong.rows.size(), 1u);
  ASSERT_EQ(summary.left_out.size(), 4u);
  EXPECT_THAT(summary.left_out[0], HasSubstr("'chess' is not a benchmark"));
  EXPECT_THAT(summary.left_out[1], HasSubstr("is not in a submission"));
  EXPECT_THAT(summary.left_out[2], HasSubstr("\"number_of_nodes\" is many"));
  EXPECT_THAT(summary.left_out[3], HasSubstr("shelf.json"));
}

TEST(Summary, HostileTextStaysInItsCell) {
  const TemporaryFolder folder;
  write_submission(folder.path(), "Acme", "box", 3);
  folder.write("Acme/systems/box.json",
               whole_description("Acme", "box", "closed",
                                 R"("hw_notes": "a,\"b\"\n<script>", "sw_notes": "\u001b[31m")"));
  const Summary summary = summarize(scores_under(folder));
  EXPECT_THAT(summary_csv(summary, false), HasSubstr("\"a,\"\"b\"\"\n<script>;\x1b[31m\""));
  EXPECT_THAT(summary_text(summary, false), HasSubstr("a,\"b\"\\x0a<script>;\\x1b[31m"));
}

TEST(PrivateIds, AreFourWordsOfTheDescription) {
  // The official summarizer's hashes of these texts.
  EXPECT_EQ(words_of("abc"), "saturn-juliet-black-kentucky");
  EXPECT_EQ(words_of(""), "river-early-aspen-lactose");
  PrivateIds ids;
  const json description = json::parse(whole_description("Acme", "box"));
  const std::string first = ids.id_of(description, "a"), second = ids.id_of(description, "b");
  EXPECT_EQ(std::ranges::count(first, '-'), 3);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, words_of("closedAcmebox222222"));
  EXPECT_EQ(second, words_of("closedAcmebox222222b"));
}

TEST(PrivateIds, AreWrittenOnceAndKept) {
  const TemporaryFolder folder;
  write_submission(folder.path(), "Acme", "box", 3);
  write_submission(folder.path(), "Acme", "rack", 3);
  folder.write("Acme/results/rack/privateid.json", R"({"private_id": "my-own"})");
  EXPECT_EQ(cell_at(summarize(scores_under(folder)).strong, 0, "private_id"), SummaryCell(""));
  const Summary summary = summarize(scores_under(folder), true);
  const std::string text = read_file(folder.path() / "Acme/results/box/privateid.json");
  const std::string id = json::parse(text).at("private_id");
  EXPECT_EQ(text, "{\n    \"private_id\": \"" + id + "\"\n}");
  EXPECT_EQ(cell_at(summary.strong, 0, "private_id"), SummaryCell(id));
  EXPECT_EQ(cell_at(summary.strong, 1, "private_id"), SummaryCell("my-own"));
  summarize(scores_under(folder), true);
  EXPECT_EQ(read_file(folder.path() / "Acme/results/box/privateid.json"), text);
  EXPECT_EQ(read_file(folder.path() / "Acme/results/rack/privateid.json"),
            R"({"private_id": "my-own"})");
}

// ---- Comparison with the official summarizer

// Returns whether two tables have the same cells, numbers but for rounding: since Python 3.12,
// sum() rounds once.
bool agree_but_for_rounding(const std::string& ours, const std::string& theirs) {
  const auto cells = [](const std::string& text) {
    std::vector<std::string> all(1);
    for (const char c : text) {
      if (c == ',' || c == '\n') {
        all.emplace_back();
      } else {
        all.back() += c;
      }
    }
    return all;
  };
  return std::ranges::equal(cells(ours), cells(theirs), [](const auto& a, const auto& b) {
    char *end_a = nullptr, *end_b = nullptr;
    const double x = std::strtod(a.c_str(), &end_a), y = std::strtod(b.c_str(), &end_b);
    const bool numbers = !a.empty() && !b.empty() && *end_a == '\0' && *end_b == '\0';
    return a == b || (numbers && std::fabs(x - y) <= 1e-15 * std::fabs(y));
  });
}

// Both CSV files, with the same private ids, are equal: byte for byte, if Python sums as Strata
// does.
TEST(SummaryOracle, TheOfficialSummarizerWritesTheSame) {
  if (testing_support::oracle_python() == nullptr) GTEST_SKIP() << testing_support::kNoOracle;
  const TemporaryFolder folder;
  write_submission(folder.path(), "Acme", "box", 10);
  write_submission(folder.path(), "Acme", "rack", 5, [](BertLog& log, int i) {
    if (i == 1) log.without("eval_accuracy");
  });
  folder.write("Acme/systems/rack.json",
               whole_description("Acme", "rack", "closed", R"("sw_notes": "a, \"b\"")"));
  folder.write("Acme/results/rack/bert/scaling.json", R"({"scaling_factor": 1.25})");
  write_submission(folder.path(), "Bolt", "tpu", 2);
  folder.write("Bolt/systems/tpu.json",
               whole_description("Bolt", "tpu-v3", "open",
                                 R"("accelerators_per_node": 8, "number_of_nodes": 2.0)"));
  write_submission(folder.path(), "Bolt", "twin", 10);
  write_submission(folder.path(), "Bolt", "twin2", 10);
  folder.write("Bolt/systems/twin2.json", whole_description("Bolt", "twin"));
  const std::string round = folder.path().string();
  std::string theirs[2];
  {
    // The official convergence check removes scaling.json.
    const TemporaryFolder copy;
    const auto copied = copy.path() / "round";
    fs::copy(folder.path(), copied, fs::copy_options::recursive);
    const std::string csv = (copy.path() / "their.csv").string();
    const auto result = testing_support::run_command(
        "cd " + copy.path().string() + " && " + testing_support::oracle_python() +
        " -m mlperf_logging.result_summarizer '" + copied.string() +
        "/{Acme,Bolt}' training 5.0.0 --generate_private_ids --csv " + csv);
    ASSERT_EQ(result.status, 0) << result.output;
    theirs[0] = read_file(csv);
    theirs[1] = read_file(copy.path() / "their_detailed.csv");
  }
  const Summary ours = summarize(scores_under(folder), true);
  EXPECT_TRUE(ours.left_out.empty());
  const bool to_the_last_digit =
      testing_support::run_command(std::string(testing_support::oracle_python()) +
                                   " -c 'import sys; sys.exit(sys.version_info >= (3, 12))'")
          .status == 0;
  for (const bool detailed : {false, true}) {
    const std::string csv = summary_csv(ours, detailed);
    if (to_the_last_digit) {
      EXPECT_EQ(csv, theirs[detailed]);
    } else {
      EXPECT_TRUE(agree_but_for_rounding(csv, theirs[detailed])) << csv << theirs[detailed];
    }
  }
}

}  // namespace
}  // namespace strata::scoring
