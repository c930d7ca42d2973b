#include "report/page.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <regex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "scoring/plots/plot_parts.h"
#include "scoring/plots/plots.h"
#include "tests/report/written_runs.h"
#include "tests/support/error_of.h"
#include "tests/support/oracle.h"

namespace strata::report {
namespace {

using ::strata::testing::BertLog;
using ::strata::testing::TemporaryFolder;

class Page : public ::testing::Test {
 protected:
  std::string page(PageInput input = {}, std::vector<std::filesystem::path> beside = {}) {
    if (input.title.empty()) input.title = "Title";
    const ReportData data = read_report_data({.directories = {folder_.path()},
                                              .beside = std::move(beside),
                                              .score = {.ruleset = "5.0.0", .threads = 1}});
    return make_page(data, input);
  }
  // Returns the page's texts. Fails the test if Python's parser finds an error.
  std::string texts(const std::string& html) {
    const auto file = folder_.write("page.html", html);
    const testing_support::CommandResult result = testing_support::run_command(
        "python3 " STRATA_SOURCE_DIR "/tests/report/page_structure.py " + file.string());
    EXPECT_EQ(result.status, 0) << result.output.substr(
        result.output.size() > 3000 ? result.output.size() - 3000 : 0);
    std::filesystem::remove(file);
    return result.output;
  }

  // Writes medians of 10 minutes on 16 accelerators, and of 21 on 8.
  void write_big_and_small() {
    for (int i = 0; i < 3; ++i) {
      write_run(folder_, "Acme", "big", i, log_of({{1, 0.5}, {9.0 + i, 0.73}}));
      write_run(folder_, "Bolt", "small", i, log_of({{2, 0.5}, {20.0 + i, 0.73}}));
    }
    write_system(folder_, "Acme", "big", "GPU", 16);
    write_system(folder_, "Bolt", "small", "GPU", 8);
  }

  TemporaryFolder folder_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST_F(Page, ShowsSystemsSideBySide) {
  write_big_and_small();
  const std::string html = page();
  const std::string shown = texts(html);
  EXPECT_TRUE(has(shown,
                  "bert: 2 of 2 systems have a score; 6 of 6 runs count. The fastest is "
                  "Acme big: 10 min to train on 16 x GPU."))
      << shown.substr(0, 1500);
  for (const char* part :
       {"Acme big", "Bolt small", "Systems side by side", "Accuracy over time and samples",
        "Speed per accelerator and per watt", "Where the time goes", "Settings that differ",
        "log: global_batch_size"}) {
    EXPECT_EQ(has(shown, part), std::string(part) != "log: global_batch_size") << part;
  }
  EXPECT_TRUE(has(shown, "system: accelerators_per_node")) << "the setting that differs";
  EXPECT_TRUE(has(shown, "Every run counts"));
}

TEST_F(Page, ShowsWhatTheReviewFinds) {
  write_big_and_small();
  for (int i = 0; i < 3; ++i) {
    std::string log = log_of({{2, 0.5}, {20.0 + i, 0.73}});
    const std::string platform = "1 x CPU";
    log.replace(log.find(platform), platform.size(), "5xGPU9000");
    write_run(folder_, "Bolt", "small", i, log);
  }
  const std::string shown = texts(page());
  EXPECT_TRUE(has(shown, "5xGPU9000")) << shown.substr(0, 3000);
  EXPECT_TRUE(has(shown, "[review/system/nodes]"));
  EXPECT_FALSE(has(shown, "Every run counts"));
}

// 16 x 10 accelerator-minutes are fewer than 8 x 21. So the guide ends in the former's dot, and
// begins at eight accelerators, below the other's.
TEST_F(Page, TheGuideShowsTheFewestAcceleratorMinutes) {
  write_big_and_small();
  const std::string html = page();
  const size_t chart = html.find("minutes to train over accelerators, bert");
  ASSERT_NE(chart, html.npos);
  const std::string drawn = html.substr(chart, html.find("</svg>", chart) - chart);
  std::smatch guide;
  ASSERT_TRUE(std::regex_search(
      drawn, guide, std::regex("guide dashed\" d=\"M([0-9.]+) ([0-9.]+).*L([0-9.]+) ([0-9.]+)\"")));
  std::vector<std::pair<double, double>> dots;
  const std::regex dot("cx=\"([0-9.]+)\" cy=\"([0-9.]+)\"");
  for (std::sregex_iterator found(drawn.begin(), drawn.end(), dot), end; found != end; ++found) {
    dots.emplace_back(std::stod((*found)[1]), std::stod((*found)[2]));
  }
  ASSERT_EQ(dots.size(), 2u);
  const auto& [small, big] = std::minmax(dots[0], dots[1]);
  EXPECT_NEAR(std::stod(guide[3]), big.first, 0.1);
  EXPECT_NEAR(std::stod(guide[4]), big.second, 0.1);
  EXPECT_NEAR(std::stod(guide[1]), small.first, 0.1);
  EXPECT_GT(std::stod(guide[2]), small.second + 1) << "less time: further down";
  EXPECT_TRUE(has(drawn, ">half the time<"));
}

TEST_F(Page, SaysWhatFailedAndWhy) {
  write_run(folder_, "Acme", "x", 0, log_of({{10, 0.73}}));
  write_run(folder_, "Acme", "x", 1, log_of({{10, 0.5}}, true, "aborted"));
  BertLog broken = BertLog::passing();
  broken.without("eval_samples").without("train_samples");
  write_run(folder_, "Acme", "x", 2, broken.text());
  write_run(folder_, "Acme", "x", 3, "nothing\n");
  const std::string shown = texts(page());
  EXPECT_TRUE(has(shown, "run_stop does not say success"));
  EXPECT_TRUE(has(shown, "eval_samples")) << "both broken rules";
  EXPECT_TRUE(has(shown, "train_samples"));
  EXPECT_TRUE(has(shown, "Runs that have not ended")) << "a log without events";
}

TEST_F(Page, TooFewRunsAreNotJudgedForConvergence) {
  write_run(folder_, "Acme", "x", 0, log_of({{10, 0.73}}));
  folder_.write("Acme/systems/x.json", R"({"division": "closed", "system_name": "S"})");
  const ReportData data = read_report_data(
      {.directories = {folder_.path()}, .score = {.ruleset = "2.1.0", .threads = 1}});
  const std::string shown = texts(make_page(data, {.title = "Title"}));
  EXPECT_FALSE(has(shown, "converges faster"));
  EXPECT_TRUE(has(shown, "too few runs to compare with the reference")) << shown;
}

TEST_F(Page, ShowsTheProgressOfARun) {
  write_run(folder_, "Acme", "x", 0, log_of({{1, 0.51}}, false));
  folder_.write("Acme/results/x/bert/result_0.steps.jsonl",
                "{\"step\": 41, \"seconds\": 1, \"masked_lm_loss\": 6.25, \"tokens\": 300}\n"
                "{\"step\": 42, \"seconds\": 2, \"masked_lm_loss\": 6.125, \"tokens\": 300}\n");
  const std::string html = page({.refresh_seconds = 3});
  const std::string shown = texts(html);
  for (const char* part : {"Running or interrupted", "42", "6.125", "0.51", "150"}) {
    EXPECT_TRUE(has(shown, part)) << part;
  }
  EXPECT_TRUE(has(html, "<body data-refresh=\"3\">"));
  EXPECT_TRUE(has(html, "connect-src 'self'; "));
  EXPECT_FALSE(has(page(), "connect-src")) << "a page that is sent asks for nothing";
}

// One run is in progress, others are missing, and there is no problem.
TEST_F(Page, AnUnfinishedRunIsNoProblemWhileWatching) {
  write_run(folder_, "Acme", "x", 0, log_of({{1, 0.51}}, false));
  folder_.write("Acme/systems/x.json", R"({"division": "open", "system_name": "S"})");
  for (const bool first_is_over : {false, true}) {
    if (first_is_over) {
      write_run(folder_, "Acme", "x", 0, log_of({{1, 0.51}, {20, 0.73}}));
      write_run(folder_, "Acme", "x", 1, log_of({{1, 0.51}}, false));
    }
    const ReportData data = read_report_data(
        {.directories = {folder_.path()}, .score = {.ruleset = "2.1.0", .threads = 1}});
    const std::string watched = make_page(data, {.title = "T", .refresh_seconds = 2});
    EXPECT_FALSE(has(watched, "class=\"bad\"")) << watched.substr(watched.find("<main"));
    const std::string shown = texts(watched);
    EXPECT_TRUE(has(shown, first_is_over ? "passed" : "under way")) << shown;
    EXPECT_TRUE(has(shown, "So far every run that has ended counts")) << shown;
    EXPECT_FALSE(has(shown, "too many runs do not count"));
    // In a page without --watch, a run without an end is a problem.
    EXPECT_TRUE(has(make_page(data, {.title = "T"}), "class=\"bad\""));
  }
  folder_.write("Acme/systems/x.json", R"({"division": "closed", "system_name": "S"})");
  for (const int refresh_seconds : {0, 2}) {
    const std::string html = page({.title = "T", .refresh_seconds = refresh_seconds});
    EXPECT_EQ(has(html, " of the systems fails the check"), refresh_seconds == 0) << html;
  }
  write_run(folder_, "Acme", "x", 2, log_of({{10, 0.5}}, true, "aborted"));
  EXPECT_TRUE(has(page({.refresh_seconds = 2}), "class=\"bad\"")) << "that one has failed";
}

// Colours and the labelled run are those of `strata plot curves`.
TEST_F(Page, HasTheColoursAndMedianRunsOfPlots) {
  // By the first benchmark's score 'noisy' would come second: its runs take 5, 6 and 30 minutes.
  for (int i = 0; i < 3; ++i) {
    write_run(folder_, "Acme", "noisy", i, log_of({{1, 0.5}, {i == 2 ? 30.0 : 5.0 + i, 0.73}}));
    write_run(folder_, "Bolt", "even", i, log_of({{2, 0.5}, {10.0 + i, 0.73}}));
  }
  write_run(folder_, "Acme", "noisy", 3, log_of({{1, 0.5}, {2, 0.6}}, true, "aborted"));
  const ReportData data = read_report_data(
      {.directories = {folder_.path()}, .score = {.ruleset = "5.0.0", .threads = 1}});
  const std::string html = make_page(data, {.title = "T"});
  const std::filesystem::path paths[] = {folder_.path()};
  const std::string pictures[] = {
      scoring::plot_curves(scoring::read_curves(paths)).picture.elements,
      scoring::plot_scores(
          scoring::score_directory(folder_.path(), {.ruleset = "5.0.0", .threads = 1}))
          .picture.elements};
  for (const ReportedFolder& folder : data.folders) {
    ASSERT_GE(folder.owner.colour, 0);
    for (const std::string& svg : pictures) {
      const size_t group = svg.rfind("<g class=\"", svg.find('>' + folder.owner.name));
      EXPECT_EQ(svg.substr(group + 10, 2), "c" + std::to_string(folder.owner.colour)) << svg;
    }
  }
  const std::regex bold("class=\"line bold\" [^>]*><title>[^<]*noisy[^<]*(result_.)");
  for (const std::string& text : {html, pictures[0]}) {
    std::smatch thick;
    ASSERT_TRUE(std::regex_search(text, thick, bold)) << text;
    EXPECT_EQ(thick[1], "result_1");
  }
}

TEST_F(Page, EveryPictureHasItsData) {
  write_run(folder_, "Acme", "x", 0, log_of({{1, 0.5}, {9, 0.73}}));
  const std::string html = page();
  for (const char* name :
       {"systems-bert", "times-bert", "accuracy-bert", "speed", "run-phases-bert"}) {
    EXPECT_TRUE(has(html, "download=\"" + std::string(name) + ".csv\"")) << name;
  }
  EXPECT_TRUE(has(html, "Acme%20x,result_0.txt,9,9000000,0.73%0A"));
}

// A submitter's logs must not run code in another's browser.
TEST_F(Page, EscapesHostileText) {
  const std::string markup = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>";
  const std::string json_markup =
      "\\\"'></title></style><script>alert(1)</script>\\n\\r\\u202e\\u0000<svg onload=alert(3)>";
  BertLog log = BertLog::passing();
  for (const char* key : {"submission_org", "submission_platform", "submission_status"}) {
    log.set(key, '"' + json_markup + '"');
  }
  log.set("submission_benchmark", '"' + json_markup + '"');
  log.append({"<b onclick=x>", '"' + json_markup + '"'});
  log.append({"eval_accuracy", '"' + json_markup + '"'});
  log.at("run_stop").metadata = "\"status\": \"" + json_markup + "\"";
  std::string name = markup;
  std::erase(name, '/');
  write_run(folder_, name, name, 0, log.text(), name);
  write_run(folder_, name, name, 1, log_of({{1, 0.5}, {2, 0.73}}), name);
  write_system(folder_, name, name, json_markup);
  folder_.write(name + "/results/" + name + "/" + name + "/result_1.yaml",
                "'" + std::string(1000, '<') + "': \"" + json_markup + "\"\n");
  folder_.write(name + "/results/" + name + "/" + name + "/scaling.json", "{\"x\": \"<b>\"}");
  write_run(folder_, "Acme", "javascript:alert(1)", 0, log_of({{3, 0.73}}));
  write_run(folder_, "\x1b]0;\xff\xc0 \xe2\x80\xae", "\n", 0, log_of({{3, 0.73}}));
  const std::string html = page({.title = markup});
  texts(html);
  EXPECT_FALSE(has(html, "<script>alert"));
  EXPECT_FALSE(has(html, "<img"));
  EXPECT_FALSE(has(html, "\x1b"));
  EXPECT_FALSE(has(html, "\u202e"));
}

TEST_F(Page, MegabytesAreCut) {
  BertLog log = BertLog::passing();
  const std::string megabytes = '"' + std::string(3 << 20, 'x') + '"';
  log.set("submission_platform", megabytes).append({"opt_name", megabytes});
  write_run(folder_, "Acme", "x", 0, log.text());
  write_run(folder_, "Acme", "y", 0, log_of({{3, 0.73}}));
  write_system(folder_, "Acme", "x", std::string(900'000, 'y'));
  EXPECT_LT(page().size(), 200'000u);
}

TEST_F(Page, ShowsLogsWithoutEvaluationsAndOfOtherBenchmarks) {
  BertLog log = BertLog::passing();
  log.without("eval_accuracy");
  write_run(folder_, "Acme", "x", 0, log.text());
  write_run(folder_, "Acme", "x", 0, log_of({{3, 0.73}}), "resnet");
  BertLog other = BertLog::passing();
  other.set("submission_benchmark", "\"resnet\"");
  write_run(folder_, "Acme", "y", 0, other.text(), "resnet");
  BertLog same_moment = BertLog::passing();
  for (auto& event : same_moment.events) event.time_ms = 1'700'000'000'000;
  write_run(folder_, "Acme", "z", 0, same_moment.text());
  write_run(folder_, "Acme", "empty", 0, "");
  const std::string shown = texts(page());
  EXPECT_TRUE(has(shown, "resnet: "));
  EXPECT_TRUE(has(shown, "bert: "));
}

TEST_F(Page, NumbersOfEverySizeMakeAPage) {
  for (const char* value : {"0", "-1", "1e300", "1e-300", "-1e308", "NaN", "null"}) {
    TemporaryFolder folder;
    BertLog log = BertLog::passing();
    log.set("global_batch_size", value).set("eval_accuracy", value);
    log.append({"quality_target", value});
    log.at("eval_accuracy").metadata = std::string("\"epoch_num\": ") + value;
    write_run(folder_, "Acme", std::string("v") + value, 0, log.text());
    folder_.write("Acme/results/v" + std::string(value) + "/bert/result_0.steps.jsonl",
                  "{\"step\": 1, \"seconds\": " + std::string(value) + ", \"tokens\": " + value +
                      ", \"masked_lm_loss\": " + value + ", \"imbalance\": " + value + "}\n");
  }
  const std::string html = page();
  texts(html);
  for (const char* nowhere :
       {"\"nan", "\"inf", "\"-nan", "\"-inf", "Mnan", "Lnan", "Minf", "Linf"}) {
    EXPECT_FALSE(has(html, nowhere)) << html.substr(html.find(nowhere) - 200, 300);
  }
}

TEST_F(Page, ShowsAPlanBesideTheMeasuredRun) {
  write_run(folder_, "Acme", "x", 0, log_of({{10, 0.73}}));
  write_system(folder_, "Acme", "x", "GPU", 8);
  const auto plan = [](double ranks) {
    return R"({"ranks": )" + std::to_string(ranks) +
           R"(, "batch": 448, "step_seconds": {"compute": 0.1, "imbalance": 0.01, "constant": 0.02,
               "bubble": 0, "exposed": 0.03},
               "run": {"seconds": 660, "low_seconds": 600, "high_seconds": 720}})";
  };
  const auto file =
      folder_.write("plan.json", R"({"version": 2, "plans": [{"predictions": [)" + plan(8) + ", " +
                                     plan(64) + R"(], "checked": []}]})");
  const std::string shown = texts(page({.plans = {file}}));
  EXPECT_TRUE(has(shown, "+10.0 %")) << "11 minutes where 10 happened";
  EXPECT_TRUE(has(shown, "no measured system of this size"));
  EXPECT_TRUE(has(shown, "10 to 12"));
  const auto other = folder_.write("other.json", "{}");
  EXPECT_TRUE(has(testing_support::error_of([&] { page({.plans = {other}}); }), "other.json"));
}

TEST_F(Page, MeasurementsStandSideBySide) {
  write_run(folder_, "Acme", "x", 0, log_of({{10, 0.73}}));
  const auto file = [&](const char* name, double forward) {
    return folder_.write(name, R"({"version": 2, "device": "d", "share_of_matrix_peak": 0.875,
        "seconds": {"step": 1, "forward": )" +
                                   std::to_string(forward) + R"(, "backward": 0.5}})");
  };
  const std::string shown =
      texts(page({.measurements = {file("a.json", 0.25), file("b.json", 0.125)}}));
  for (const char* part : {"seconds.forward", "0.25", "0.125", "87.5 % of the peak"}) {
    EXPECT_TRUE(has(shown, part)) << part;
  }
}

TEST_F(Page, BeginsWithATableOfSystemsByBenchmarks) {
  write_run(folder_, "Acme", "x", 0, log_of({{10, 0.73}}));
  BertLog other = BertLog::passing();
  other.set("submission_benchmark", "\"resnet\"");
  write_run(folder_, "Acme", "x", 0, other.text(), "resnet");
  write_run(folder_, "Bolt", "y", 0, log_of({{20, 0.73}}));
  const std::string html = page();
  const size_t pivot = html.find("<caption>Minutes to train, systems by benchmarks</caption>");
  ASSERT_NE(pivot, html.npos);
  EXPECT_LT(pivot, html.find(">bert: scores and their details</caption>"));
  const std::string table = html.substr(pivot, html.find("</table>", pivot) - pivot);
  EXPECT_TRUE(has(table, ">bert</button>")) << table;
  EXPECT_TRUE(has(table, ">resnet</button>"));
  EXPECT_TRUE(has(table, "data-value=\"20\">20</td><td class=\"n\"></td>")) << table;
}

TEST_F(Page, OneBenchmarkHasNoTableOfBenchmarks) {
  write_big_and_small();
  EXPECT_FALSE(has(page(), "systems by benchmarks"));
}

TEST_F(Page, EveryTargetHasItsOwnTablesAndPictures) {
  const auto with_target = [](const char* target) {
    BertLog named = BertLog::passing();
    named.events.insert(named.events.begin() + 3, {"quality_target", target, "", 1.7e12});
    return named.text();
  };
  write_run(folder_, "Acme", "x", 0, with_target("0.72"));
  write_run(folder_, "Acme", "y", 0, with_target("0.33"));
  const std::string shown = texts(page());
  for (const char* group : {"bert, target 0.33", "bert, target 0.72"}) {
    EXPECT_TRUE(has(shown, std::string(group) + ": scores and their details")) << shown;
    EXPECT_TRUE(has(shown, std::string(group) + ": minutes to train"));
    EXPECT_TRUE(has(shown, std::string(group) + ": 1 of 1 system has a score"));
  }
  std::filesystem::remove_all(folder_.path() / "Acme/results/y");
  EXPECT_TRUE(has(texts(page()), "bert: minutes to train")) << "one target needs no other name";
}

TEST_F(Page, APublishedRoundDoesNotBeginWithARunThatHasNotEnded) {
  write_run(folder_, "Acme", "x", 0, log_of({{1, 0.51}}, false));
  write_run(folder_, "Acme", "x", 1, log_of({{10, 0.73}}));
  const std::string html = page();
  EXPECT_LT(html.find("id=\"results\""), html.find("id=\"running\""));
  const std::string watched = page({.refresh_seconds = 2});
  EXPECT_GT(watched.find("id=\"results\""), watched.find("id=\"running\""));
}

TEST_F(Page, TimesOfAColumnHaveOneUnit) {
  write_run(folder_, "Acme", "fast", 0, log_of({{0.5, 0.73}}));
  write_run(folder_, "Acme", "slow", 0, log_of({{400, 0.73}}));
  const std::string html = page();
  const size_t begin = html.find("aria-label=\"Phases of a run, bert");
  const std::string phases = html.substr(begin, html.find("</figure>", begin) - begin);
  EXPECT_TRUE(has(phases, ">0.5 min<")) << phases;
  EXPECT_TRUE(has(phases, ">400 min<"));
}

TEST_F(Page, ABenchmarkWithoutCurvesIsNamedOnce) {
  BertLog log = BertLog::passing();
  log.without("eval_accuracy");
  write_run(folder_, "Acme", "x", 0, log.text());
  write_run(folder_, "Acme", "y", 0, log.text());
  const std::string alone = texts(page());
  EXPECT_TRUE(has(alone, "No run of bert has a curve: it has no evaluations.")) << alone;
  EXPECT_FALSE(has(alone, "no curve"));
  write_run(folder_, "Acme", "z", 0, log_of({{10, 0.73}}));
  EXPECT_FALSE(has(texts(page()), "No run of bert"));
}

TEST_F(Page, FactorsHaveFourDigits) {
  write_run(folder_, "Acme", "x", 0, log_of({{10, 0.73}}));
  folder_.write("Acme/results/x/bert/scaling.json", R"({"scaling_factor": 1.0312345678})");
  const std::string html = page();
  EXPECT_TRUE(has(html, ">1.031</td>")) << html.substr(html.find("<caption>"), 3000);
}

TEST_F(Page, APlanIsComparedWithItsCalibrationSystems) {
  for (const char* submitter : {"Acme", "Bolt"}) {
    for (const int ranks : {8, 16}) {
      const std::string system = "n" + std::to_string(ranks);
      write_run(folder_, submitter, system, 0, log_of({{ranks == 8 ? 10 : 6, 0.73}}));
      write_system(folder_, submitter, system, "GPU", ranks);
    }
  }
  const auto plan = [&](const char* measured) {
    return folder_.write("plan.json",
                         std::string(R"({"version": 2, "plans": [{"measured": [{"name": ")") +
                             measured +
                             R"(", "ranks": 8, "batch": 448}], "predictions": [
            {"ranks": 16, "batch": 448, "step_seconds": {"compute": 0.1, "imbalance": 0.01,
             "constant": 0.02, "bubble": 0, "exposed": 0.03},
             "run": {"seconds": 360, "low_seconds": 300, "high_seconds": 400}}], "checked": []}]})");
  };
  const auto table = [&](const char* measured) {
    const std::string html = page({.plans = {plan(measured)}});
    const size_t begin = html.find("<caption>Predictions beside measurements");
    return html.substr(begin, html.find("</table>", begin) - begin);
  };
  const std::string acme = table("Acme n8");
  EXPECT_TRUE(has(acme, ">Acme n16<")) << acme;
  EXPECT_FALSE(has(acme, ">Bolt n16<"));
  const std::string own = table("large.json");
  EXPECT_TRUE(has(own, ">Acme n16<"));
  EXPECT_TRUE(has(own, ">Bolt n16<")) << "nothing tells which system was measured";
}

TEST(MessagePage, HasItsTextAndRefreshes) {
  const std::string html = make_message_page("no <logs> yet", {.title = "T", .refresh_seconds = 2});
  EXPECT_TRUE(has(html, "no &lt;logs&gt; yet"));
  EXPECT_TRUE(has(html, "data-refresh=\"2\""));
}

}  // namespace
}  // namespace strata::report
