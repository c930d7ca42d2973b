#include "compliance/package/checker_params.h"

#include <sys/stat.h>

#include "base/files/files.h"
#include "compliance/package/package.h"
#include "compliance/package/report.h"
#include "compliance/package/scaling.h"
#include "tests/compliance/bert_log.h"
#include "tests/compliance/submission.h"
#include "tests/support/matchers.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;
using ::strata::testing::BertLog;
using ::strata::testing::TemporaryFolder;
using ::strata::testing::write_submission;

constexpr const char* kBoxRuns = "Acme/results/box/bert/";

PackageVerdict check_acme(const TemporaryFolder& folder, PackageOptions options = {}) {
  RuleStore rules;
  options.ruleset = "5.0.0";
  return check_package(folder.path() / "Acme", rules, options);
}

TEST(CheckerParams, EveryLineIsAnOptionWithAnyLineEnding) {
  const TemporaryFolder folder;
  folder.write("package_checker_params", "rcp-bypass\r\n\nquiet\nrcp_bypass\nwerror x\nwerror");
  const CheckerParams params = read_checker_params(folder.path());
  EXPECT_TRUE(params.rcp_bypass && params.quiet && params.werror);
  EXPECT_FALSE(params.seed_bypass || params.bert_train_samples);
  EXPECT_EQ(params.given, (std::vector<std::string>{"rcp-bypass", "quiet", "werror"}));
  EXPECT_EQ(params.unknown, (std::vector<std::string>{"rcp_bypass", "werror x"}));
}

TEST(CheckerParams, AFifoOrAHugeFileIsIgnored) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder.path() / "package_checker_params").c_str(), 0600), 0);
  EXPECT_TRUE(read_checker_params(folder.path()).empty());
  fs::remove(folder.path() / "package_checker_params");
  folder.write("package_checker_params", std::string(2 << 20, '\n') + "rcp-bypass\n");
  EXPECT_TRUE(read_checker_params(folder.path()).empty());
}

// The root's parameters apply to all systems, those of a system or a benchmark only to it.
TEST(CheckerParams, RootParametersApplyToTheSubmissionAndAreReported) {
  for (const char* place : {"Acme/", "Acme/results/box/", kBoxRuns}) {
    const TemporaryFolder folder;
    write_submission(folder.path(), "Acme", "box", 10, [](BertLog& log, int) {
      log.at("eval_accuracy").metadata = "\"epoch_num\": 640";  // too fast
    });
    EXPECT_FALSE(check_acme(folder).passed());
    folder.write(std::string(place) + "package_checker_params", "rcp-bypass\n");
    EXPECT_TRUE(check_acme(folder).passed()) << package_text(check_acme(folder));
  }
  const TemporaryFolder folder;
  write_submission(folder.path(), "Acme", "box", 10,
                   [](BertLog& log, int) { log.set("seed", "7"); });
  EXPECT_FALSE(check_acme(folder).passed());
  folder.write("Acme/package_checker_params", "seed-checker-bypass\nno\noption\x1b\n");
  const std::string text = package_text(check_acme(folder));
  EXPECT_TRUE(check_acme(folder).passed()) << text;
  EXPECT_THAT(text, HasSubstr("package_checker_params of the submission: seed-checker-bypass"));
  EXPECT_THAT(text, HasSubstr("unknown option 'option\\x1b'"));
  const std::string round = round_text({check_acme(folder)});
  EXPECT_THAT(round, HasSubstr("submission: seed-checker-bypass"));
}

TEST(CheckerParams, CommandLineOptionsHaveTheSameEffect) {
  const TemporaryFolder folder;
  write_submission(folder.path(), "Acme", "box", 10, [](BertLog& log, int) {
    log.set("seed", "7");
    log.at("eval_accuracy").metadata = "\"epoch_num\": 640";
  });
  PackageOptions options;
  options.seed_bypass = true;
  EXPECT_FALSE(check_acme(folder, options).passed());
  options.rcp_bypass = true;
  EXPECT_TRUE(check_acme(folder, options).passed()) << package_text(check_acme(folder, options));
}

// No parameter permits runs that do not converge.
TEST(CheckerParams, TooFewConvergedRunsFailInSpiteOfEveryBypass) {
  const TemporaryFolder folder;
  write_submission(folder.path(), "Acme", "box", 10, [](BertLog& log, int run) {
    if (run < 2) log.at("run_stop").metadata = R"("status": "aborted")";
  });
  PackageOptions options;
  options.rcp_bypass = true;
  const auto verdict = check_acme(folder, options);
  EXPECT_EQ(verdict.folders.at(0).rcp.message, "Insufficient convergence");
  EXPECT_FALSE(verdict.passed());
}

TEST(CheckerParams, QuietHidesWarningsAndKeepsTheVerdict) {
  const TemporaryFolder folder;
  write_submission(folder.path(), "Acme", "box", 10, [](BertLog& log, int run) {
    log.append(log.at("train_samples"));  // the repetition gives a warning
    if (run == 0) log.without("run_stop");
  });
  PackageOptions options;
  const auto loud = check_acme(folder, options);
  options.quiet = true;
  const auto quiet = check_acme(folder, options);
  EXPECT_TRUE(loud.passed() && quiet.passed()) << package_text(loud);
  EXPECT_FALSE(loud.folders.at(0).logs.at(1).warnings.empty());
  for (const LogVerdict& log : quiet.folders.at(0).logs) EXPECT_TRUE(log.warnings.empty());
  EXPECT_THAT(package_text(quiet), Not(HasSubstr("warning")));
  folder.write("Acme/package_checker_params", "werror\nquiet\n");
  EXPECT_FALSE(check_acme(folder).passed());  // errors are no warnings
}

TEST(CheckerParams, TrainSamplesMayGiveTheSamplesOfBert) {
  const TemporaryFolder folder;
  write_submission(folder.path(), "Acme", "box", 10, [](BertLog& log, int) {
    log.at("eval_accuracy").metadata = "\"epoch_num\": 3";
    log.set("train_samples", "99000000");
  });
  EXPECT_FALSE(check_acme(folder).passed());
  folder.write("Acme/package_checker_params", "rcp-bert-train-samples");
  const auto verdict = check_acme(folder);
  EXPECT_TRUE(verdict.passed()) << package_text(verdict);
  EXPECT_EQ(verdict.folders.at(0).rcp.submission_mean, 99000000);
}

// ---- scaling.json

RcpVerdict passed_with(double scaling) {
  RcpVerdict verdict;
  verdict.judged = verdict.passed = true;
  verdict.scaling = scaling;
  return verdict;
}

TEST(Scaling, IsWrittenAsTheOfficialToolDoes) {
  const TemporaryFolder folder;
  EXPECT_EQ(write_scaling(folder.path(), passed_with(1.0123456789)).problem, "");
  EXPECT_EQ(read_file(folder.path() / "scaling.json"), "{\"scaling_factor\": 1.0123456789}");
  EXPECT_EQ(python_float(2), "2.0");
  EXPECT_EQ(python_float(1e22), "1e+22");
}

TEST(Scaling, AnExistingFileIsNotReplaced) {
  const TemporaryFolder folder;
  const fs::path path = folder.write("scaling.json", "{\"scaling_factor\": 1.5 }");
  EXPECT_THAT(write_scaling(folder.path(), passed_with(1.25)).problem,
              HasSubstr("already holds 1.5"));
  EXPECT_EQ(write_scaling(folder.path(), passed_with(1.5)).problem, "");
  EXPECT_NE(write_scaling(folder.path(), passed_with(1)).note, "");
  EXPECT_EQ(read_file(path), "{\"scaling_factor\": 1.5 }");
  fs::remove(path);
  fs::create_symlink("elsewhere.json", path);
  EXPECT_NE(write_scaling(folder.path(), passed_with(1.25)).problem, "");
  EXPECT_FALSE(fs::exists(folder.path() / "elsewhere.json"));
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(write_scaling(folder.path(), passed_with(1.25)).problem, HasSubstr("FIFO"));
}

TEST(Scaling, IsWrittenOnlyIfTheCheckRequiresIt) {
  const TemporaryFolder folder;
  RcpVerdict failed = passed_with(1.5);
  failed.passed = false;
  for (const RcpVerdict& verdict : {failed, passed_with(1), RcpVerdict{}}) {
    const auto written = write_scaling(folder.path(), verdict);
    EXPECT_EQ(written.note + written.problem, "");
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace strata::compliance
