// Compares scores of two whole published rounds with the official summarizer and a direct reading
// of the logs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/files/files.h"
#include "scoring/score.h"
#include "tests/compliance/published.h"

namespace strata::scoring {
namespace {

namespace fs = std::filesystem;
using ::strata::testing::official_package;
using ::strata::testing::published_data;
using ::strata::testing::published_round;

// Minutes by round, submitter, system name and benchmark. Two folders may have the same name.
using Expected = std::multimap<std::string, double>;

Expected expected_scores() {
  Expected scores;
  for (const auto& row : ::strata::testing::read_table(published_data() / "expected_scores.tsv")) {
    scores.emplace(row[0] + "/" + row[1] + "/" + row[2] + "/" + row[3], std::stod(row[4]));
  }
  return scores;
}

// Returns the name that the official summarizer prints.
std::string printed_name(const Score& score) {
  if (score.system.system_name != "tpu-v3") return score.system.system_name;
  return "TPUv3." + std::to_string(2 * *score.system.accelerators / *score.system.nodes);
}

bool close(double a, double b) { return std::fabs(a - b) <= 1e-8 * std::fabs(b); }

// The summarizer multiplies by the factor in a folder's scaling.json. Only afterwards it runs the
// convergence check, which writes its own factor there. So all scores of a submitter come from the
// summarizer's first run over the submission, or all from a later one.
enum class OfficialRun { kFirst, kLater };

double official_minutes(const Score& score, OfficialRun run) {
  constexpr double kMsPerMinute = 60'000;
  const bool scaled_by_check = run == OfficialRun::kLater && score.committee_scaling == 1;
  return (scaled_by_check ? score.rcp_scaled_ms.value_or(*score.time_to_train_ms)
                          : *score.time_to_train_ms) /
         kMsPerMinute;
}

// Returns the mean of run_stop - run_start without the extremes, from the text of the logs.
double direct_ms(const Score& score) {
  static const std::regex kTime(R"re("time_ms": (\d+))re");
  std::vector<double> times;
  for (const RunScore& run : score.runs) {
    if (!run.counts) continue;
    const std::string text = read_file(run.log);
    const auto time_of = [&](const char* key) {
      const size_t at = text.find(key);
      const size_t start = text.rfind("\n", at) == text.npos ? 0 : text.rfind("\n", at);
      const std::string line = text.substr(start, text.find('\n', at) - start);
      std::smatch match;
      return std::regex_search(line, match, kTime) ? std::stod(match[1]) : std::nan("");
    };
    times.push_back(time_of("\"run_stop\"") - time_of("\"run_start\""));
  }
  std::sort(times.begin(), times.end());
  const size_t cut = score.folder.benchmark == "unet3d" ? 4 : 1;
  const size_t cut_high = cut - (score.runs.size() - times.size());
  double sum = 0;
  for (size_t i = cut; i < times.size() - cut_high; ++i) sum += times[i];
  return sum / static_cast<double>(times.size() - cut - cut_high);
}

void compare(const std::string& round, const std::string& only, size_t wanted) {
  const Expected expected = expected_scores();
  ScoreOptions options;
  if (only.empty()) options.rules = options.rcp = official_package();
  size_t compared = 0;
  std::map<std::string, std::map<OfficialRun, std::string>> unequal;  // by submitter
  for (const Score& score : score_directory(published_round(round), options)) {
    if (!only.empty() && score.folder.benchmark != only) continue;
    EXPECT_EQ(score.ruleset, round == "v1.1" ? "1.1.0" : "2.0.0");
    if (score.mean != Mean::kOlympic) continue;
    EXPECT_NEAR(*score.unscaled_ms, direct_ms(score), 1) << score.folder.path;
    const auto [first, last] =
        expected.equal_range(round + "/" + score.folder.submitter + "/" + printed_name(score) +
                             "/" + score.folder.benchmark);
    ASSERT_NE(first, last) << score.folder.path;
    for (const OfficialRun run : {OfficialRun::kFirst, OfficialRun::kLater}) {
      const double minutes = official_minutes(score, run);
      if (std::none_of(first, last, [&](const auto& e) { return close(minutes, e.second); })) {
        unequal[score.folder.submitter][run] += fmt::format(
            "{}: {} minutes, {} wanted\n", score.folder.path.string(), minutes, first->second);
      }
    }
    ++compared;
  }
  for (const auto& [submitter, runs] : unequal) {
    EXPECT_LT(runs.size(), 2) << runs.begin()->second;
  }
  EXPECT_EQ(compared, wanted);
}

TEST(PublishedScores, OwnRulesGiveTheOfficialBertScores) {
  if (published_round("v1.1").empty() || published_round("v2.0").empty())
    GTEST_SKIP() << "the published rounds are absent";
  compare("v2.0", "bert", 53);
}

TEST(PublishedScores, AllScoresMatchTheOfficialScores) {
  if (published_round("v1.1").empty() || published_round("v2.0").empty())
    GTEST_SKIP() << "the published rounds are absent";
  if (official_package().empty())
    GTEST_SKIP() << "the official rule files are absent (set STRATA_MLPERF_LOGGING)";
  compare("v1.1", "", 107);
  compare("v2.0", "", 262);
}

}  // namespace
}  // namespace strata::scoring
