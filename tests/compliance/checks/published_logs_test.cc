// Compares with the official tools over two whole published rounds.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <regex>
#include <set>

#include "base/error.h"
#include "base/threads/parallel.h"
#include "compliance/checks/check_log.h"
#include "compliance/checks/rcp.h"
#include "compliance/checks/rounds.h"
#include "compliance/package/package.h"
#include "tests/compliance/bert_log.h"
#include "tests/compliance/published.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;
using ::strata::testing::official_package;
using ::strata::testing::published_data;
using ::strata::testing::published_round;
using ::strata::testing::read_table;

constexpr const char* kNoRounds = "the published rounds are absent (../shared/data/published_logs)";
constexpr const char* kNoPackage =
    "the official rule files are absent (set STRATA_MLPERF_LOGGING to an installed mlperf_logging)";

// Returns a path of the tables, such as v1.1/Azure/..., in the unpacked tree.
fs::path unpacked(const std::string& path) {
  return published_round(path.substr(0, path.find('/'))).parent_path() / path;
}

bool have_rounds() { return !published_round("v1.1").empty() && !published_round("v2.0").empty(); }

// Checks every log of expected_verdicts.tsv that `wanted` accepts. Verdict and numbers of errors
// and warnings must agree.
template <typename Wanted>
size_t compare_verdicts(RuleStore& rules, Wanted wanted) {
  auto rows = read_table(published_data() / "expected_verdicts.tsv");
  std::erase_if(rows, [&](const auto& row) { return !wanted(row[0]); });
  std::atomic<size_t> differ{0};
  parallel_for(rows.size(), 0, [&](size_t i) {
    const auto& row = rows[i];
    const LogVerdict verdict =
        check_log(unpacked(row[0]), rules, {.usage = "training", .ruleset = row[1]});
    const bool same = verdict.passed() == (row[2] == "PASS") &&
                      verdict.errors.size() == std::stoul(row[3]) &&
                      verdict.warnings.size() == std::stoul(row[4]);
    if (!same && ++differ < 10) {
      ADD_FAILURE() << row[0] << ": official " << row[2] << " " << row[3] << " errors " << row[4]
                    << " warnings, Strata " << verdict.errors.size() << " "
                    << verdict.warnings.size();
    }
  });
  EXPECT_EQ(differ, 0u);
  return rows.size();
}

TEST(PublishedLogs, OwnRulesAgreeOnEveryBertLog) {
  if (!have_rounds()) GTEST_SKIP() << kNoRounds;
  RuleStore rules;
  EXPECT_EQ(compare_verdicts(rules,
                             [](const std::string& log) { return log.find("/bert/") != log.npos; }),
            890u);
}

TEST(PublishedLogs, OfficialRulesAgreeOnEveryLog) {
  if (!have_rounds()) GTEST_SKIP() << kNoRounds;
  if (official_package().empty()) GTEST_SKIP() << kNoPackage;
  RuleStore rules(official_package());
  EXPECT_EQ(compare_verdicts(rules, [](const std::string&) { return true; }), 4570u);
}

TEST(PublishedLogs, EveryOfficialRuleFileCompiles) {
  if (official_package().empty()) GTEST_SKIP() << kNoPackage;
  const fs::path root = official_package() / "compliance_checker";
  RuleStore rules(official_package());
  size_t compiled = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string name = fs::relative(entry.path(), root).string();
    if (name == "training_0.7.0_warn/bert.yaml") {  // not YAML: a stray string after a CHECK
      EXPECT_THROW(rules.load(name), Error);
      continue;
    }
    EXPECT_NO_THROW(rules.load(name)) << name;
    ++compiled;
  }
  EXPECT_GT(compiled, 200u);
}

// scripts/campaigns/differential_fuzzing/every_round.py compares with the official checker.
TEST(PublishedLogs, EveryOfficialRulesetRequiresAStatusAndAcceptsAborted) {
  if (official_package().empty()) GTEST_SKIP() << kNoPackage;
  const std::regex name("(training|hpc)_([0-9]+[.][0-9]+[.][0-9]+)");
  RuleStore rules(official_package());
  std::set<std::string> tried;
  for (const auto& entry : fs::directory_iterator(official_package() / "compliance_checker")) {
    std::smatch match;
    const std::string folder = entry.path().filename().string();
    // Round 0.6 has another form.
    if (!std::regex_match(folder, match, name) || match[2] == "0.6.0") continue;
    const auto& benchmarks = round_benchmarks(match[1].str(), match[2].str());
    ASSERT_FALSE(benchmarks.empty()) << folder;
    for (const bool has_status : {true, false}) {
      ::strata::testing::BertLog log = ::strata::testing::BertLog::passing();
      log.set("submission_benchmark", '"' + std::string(benchmarks.front()) + '"');
      log.at("run_stop").metadata = has_status ? R"("status": "aborted")" : "";
      const LogVerdict verdict = check_log(mllog::LogReader::from_text(log.text(), "result_0.txt"),
                                           rules, match[1].str(), match[2].str());
      EXPECT_EQ(verdict.not_judged, "") << folder;
      const bool wrong = std::ranges::any_of(
          verdict.errors, [](const Finding& finding) { return finding.key == "run_stop"; });
      EXPECT_EQ(wrong, !has_status) << folder;
    }
    tried.insert(folder);
  }
  EXPECT_GE(tried.size(), 16u);
  EXPECT_TRUE(tried.contains("training_6.1.0") && tried.contains("hpc_3.0.0"));
}

// Compares verdict, message and scaling of every folder and both passes.
void compare_convergence(const fs::path& directory, const std::string& only) {
  std::map<std::string, FolderConvergence> folders;
  size_t compared = 0;
  size_t crashes = 0;
  for (const auto& row : read_table(published_data() / "expected_rcp.tsv")) {
    if (row[0].find(only) == row[0].npos) continue;
    auto known = folders.find(row[0]);
    if (known == folders.end()) {
      std::vector<RunConvergence> runs;
      for (const fs::path& log : result_logs(unpacked(row[0]))) {
        runs.push_back(read_convergence(mllog::LogReader(log, mllog::LogFormat::kMllog), row[1]));
      }
      known = folders.emplace(row[0], combine(runs)).first;
    }
    const RcpPass pass = row[2] == "full_rcps" ? RcpPass::kFull : RcpPass::kPruned;
    const RcpVerdict verdict = check_rcp(known->second, directory, "training", row[1], pass);
    if (row[3] == "CRASH") {
      EXPECT_FALSE(verdict.judged) << row[0];
      EXPECT_FALSE(verdict.message.empty()) << row[0];
      ++crashes;
      continue;
    }
    ++compared;
    EXPECT_EQ(verdict.passed, row[3] == "PASS") << row[0];
    EXPECT_EQ(verdict.message, row[4]) << row[0];
    EXPECT_NEAR(verdict.scaling, std::stod(row[5]), 1e-4) << row[0];
  }
  EXPECT_EQ(compared, only.empty() ? 776u : 178u);
  EXPECT_EQ(crashes, only.empty() ? 114u : 0u);
}

TEST(PublishedLogs, ConvergenceAgreesWithBuiltInPoints) {
  if (!have_rounds()) GTEST_SKIP() << kNoRounds;
  compare_convergence({}, "/bert");
}

TEST(PublishedLogs, ConvergenceAgreesWithOfficialPoints) {
  if (!have_rounds()) GTEST_SKIP() << kNoRounds;
  if (official_package().empty()) GTEST_SKIP() << kNoPackage;
  compare_convergence(official_package(), "");
}

// tests/golden/compliance/package_verdicts.py is the oracle.
TEST(PublishedLogs, PackageAndSeedVerdictsAgree) {
  if (!have_rounds()) GTEST_SKIP() << kNoRounds;
  if (official_package().empty()) GTEST_SKIP() << kNoPackage;
  RuleStore rules(official_package());
  std::map<std::string, bool> verdicts;
  for (const auto& [round, ruleset] : {std::pair("v1.1", "1.1.0"), std::pair("v2.0", "2.0.0")}) {
    PackageOptions options;
    options.ruleset = ruleset;
    options.rcp = official_package();
    const fs::path tree = published_round(round);
    for (const PackageVerdict& package : check_round(tree, rules, options)) {
      verdicts[std::string("package ") + round + "/" + package.submitter] =
          package.outcome() != Outcome::kFailed;
      for (const FolderVerdict& folder : package.folders) {
        verdicts["seeds " + fs::relative(folder.folder.path, tree.parent_path()).string()] =
            folder.seeds_passed;
      }
    }
  }
  const auto rows = read_table(
      std::string(STRATA_SOURCE_DIR) + "/tests/golden/compliance/package_verdicts.tsv", false);
  EXPECT_EQ(rows.size(), 469u);
  for (const auto& row : rows) {
    const auto found = verdicts.find(row[0] + " " + row[1]);
    ASSERT_NE(found, verdicts.end()) << row[0] << " " << row[1];
    EXPECT_EQ(found->second, row[2] == "PASS") << row[0] << " " << row[1];
  }
}

}  // namespace
}  // namespace strata::compliance
