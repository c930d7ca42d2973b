// Compares whole tables and files of scores: notes on each folder, and on several together.
#include "scoring/score_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/matchers.h"

namespace strata::scoring {
namespace {

RunScore run(const std::string& log, double ms, const std::string& reason = "") {
  RunScore run{.log = "out/" + log, .time_to_train_ms = ms, .counts = reason.empty()};
  run.reason = reason;
  run.convergence.converged = run.counts;
  run.convergence.epochs = 640;
  return run;
}

Score score_of(const std::string& system) {
  Score score;
  score.folder.submitter = "Strata";
  score.folder.system = system;
  score.folder.benchmark = "bert";
  score.folder.path = "out/" + system;
  score.usage = "training";
  score.ruleset = "5.0.0";
  score.ground = "given";
  score.system.division = "closed";
  return score;
}

// Returns a score with every field set.
Score complete() {
  Score score = score_of("tower");
  score.system.accelerator = "H100, \"large\"";
  score.system.accelerators = 8;
  score.runs = {run("result_0.txt", 60000), run("result_1.txt", 180000)};
  score.runs[0].energy_joules = 2500;
  score.runs_needed = 2;
  score.mean = Mean::kOlympic;
  score.unscaled_ms = 120000;
  score.time_to_train_ms = 150000;
  score.rcp_scaled_ms = 180000;
  score.committee_scaling = 1.25;
  score.held_to_rcp = true;
  score.rcp.judged = true;
  score.rcp.passed = true;
  score.rcp.scaling = 1.2;
  score.rcp.message = "too fast";
  score.rcp.points = "rcps_bert.json";
  score.rcp.points_sha256 = "4567";
  // The first run was not read.
  score.runs[1].rules = {"given", "4.1.68", "x/rules", "training", "5.0.0", "0123"};
  score.batch_size = 256;
  score.samples_to_converge = 640;
  score.energy_joules = 2500;
  score.sequences_per_second = 5.5;
  score.sequences_per_second_per_accelerator = 0.6875;
  return score;
}

// Returns a score with few runs, some of which do not count.
Score plain() {
  Score score = score_of("laptop");
  score.system.division = "open";
  score.runs = {run("result_0.txt", 90000), run("result_1.txt", 0, "no target"),
                run("result_2.txt", 0, "aborted"), run("result_3.txt", 0, "no target")};
  score.runs[1].energy_problem = "no meter";
  score.mean = Mean::kPlain;
  score.unscaled_ms = score.time_to_train_ms = 90000;
  return score;
}

// Returns a score without counting runs and without rules.
Score none(const std::string& system) {
  Score score = score_of(system);
  score.runs = {run("result_0.txt", 0, "aborted")};
  score.runs[0].not_judged = "no rules";
  score.runs_needed = 10;
  score.held_to_rcp = true;
  score.rcp.judged = false;
  score.rcp.message = "no points";
  score.scaling_problem = "it holds no factor";
  return score;
}

Score too_fast() {
  Score score = score_of("pod");
  score.runs = {run("result_0.txt", 60000)};
  score.mean = Mean::kOlympic;
  score.held_to_rcp = true;
  score.rcp.judged = true;
  score.rcp.scaling = 2;
  score.rcp.message = "faster than any reference";
  return score;
}

TEST(ScoreReport, ScoresWithoutNotesAreOnlyATable) {
  Score score = complete();
  score.committee_scaling = 1;
  score.rcp.scaling = 1;
  EXPECT_EQ(
      score_table({score}),
      "submitter  system  benchmark  division  accelerators  runs  minutes  factor  RCP-scaled  "
      "mean     RCP     batch  to converge  seq/s/acc.  energy kJ\n"
      "Strata     tower   bert       closed    8             2/2   2.5000   -       3.0000      "
      "olympic  passed  256    640          0.7         2.5\n");
}

TEST(ScoreReport, EqualNotesAreGrouped) {
  EXPECT_EQ(
      score_table({complete(), plain(), none("a"), none("b"), too_fast()}),
      R"(submitter  system  benchmark  division  accelerators  runs  minutes  factor  RCP-scaled  mean     RCP         batch  to converge  seq/s/acc.  energy kJ
Strata     tower   bert       closed    8             2/2   2.5000   1.2500  3.0000      olympic  passed      256    640          0.7         2.5
Strata     laptop  bert       open      -             1/4   1.5000   -       -           plain    -           -      -            -           -
Strata     a       bert       closed    -             0/1   -        -       -           none     not judged  -      -            -           -
Strata     b       bert       closed    -             0/1   -        -       -           none     not judged  -      -            -           -
Strata     pod     bert       closed    -             1/1   -        -       -           olympic  failed      -      -            -           -

not judged by rules, so a log counts if it says success: no rules
converged faster than the reference mean, but not too fast:
  Strata/tower/bert: RCP scaling 1.2000
runs that do not count:
  Strata/laptop/bert: result_1.txt, result_3.txt: no target
  Strata/laptop/bert: result_2.txt: aborted
  Strata/a/bert: result_0.txt: aborted
  Strata/b/bert: result_0.txt: aborted
a plain mean instead of an olympic one, because there are fewer runs than a submission needs:
  Strata/laptop/bert: has 4, needs 3 or more runs; 1 counts
no energy, because it is unknown for a run that counts:
  Strata/laptop/bert: no meter
no score, because too few runs count:
  Strata/a/bert: 0 of 1
  Strata/b/bert: 0 of 1
scaling.json not applied:
  Strata/a/bert: it holds no factor
  Strata/b/bert: it holds no factor
convergence check failed:
  Strata/pod/bert: faster than any reference
1 folder: minutes multiplied by the factor in scaling.json
2 folders: convergence not judged: no points
)");
}

TEST(ScoreReport, ShowsTheTargetAndDifferingSettings) {
  Score score = complete();
  score.target = 0.72;
  score.differing_settings = {"global_batch_size is 256 and 512"};
  const std::string table = score_table({score, plain()});
  EXPECT_THAT(table, HasSubstr("  runs  target  minutes"));
  EXPECT_THAT(table, HasSubstr("  2/2   0.72    2.5000"));
  EXPECT_THAT(table, HasSubstr("  1/4   -       1.5000"));
  EXPECT_THAT(table, HasSubstr("runs with different settings, averaged nevertheless:\n  "
                               "Strata/tower/bert: global_batch_size is 256 and 512\n"));
  EXPECT_THAT(score_csv({score}), HasSubstr(",0.72\n"));
  const auto json = nlohmann::json::parse(score_json({score}))["scores"][0];
  EXPECT_EQ(json["target"], 0.72);
  EXPECT_EQ(json["differing_settings"][0], score.differing_settings[0]);
}

// Submitter, system and benchmark of two rows are the same.
TEST(ScoreReport, SystemsOfOneNameHaveTheirFolders) {
  std::vector<Score> scores = {complete(), complete(), plain()};
  scores[0].folder.submitter_path = "/runs/before/Strata";
  scores[1].folder.submitter_path = "/runs/after/Strata";
  scores[2].folder.submitter_path = "/runs/after/Strata";
  for (const std::string& text : {score_table(scores), score_csv(scores)}) {
    for (const char* name : {"tower in /runs/before", "tower in /runs/after"}) {
      EXPECT_NE(text.find(name), text.npos) << text;
    }
    EXPECT_EQ(text.find("laptop in"), text.npos) << text;
  }
  EXPECT_THAT(score_table(scores), HasSubstr("Strata/tower/bert in /runs/before: "));
}

TEST(ScoreReport, CsvHasACellForEveryColumn) {
  const std::string csv = score_csv({complete(), plain()});
  const std::string header = csv.substr(0, csv.find('\n') + 1);
  EXPECT_EQ(std::ranges::count(header, ','), 26);
  EXPECT_EQ(csv.substr(header.size()),
            "Strata,tower,bert,closed,training,5.0.0,\"H100, \"\"large\"\"\",8,2,2,olympic,2.5,2,3,"
            "1.25,passed,1.2,too fast,256,640,5.5,0.6875,2500,,,,\n"
            "Strata,laptop,bert,open,training,5.0.0,,,4,1,plain,1.5,1.5,,1,,1,,,,,,,,,,\n");
}

TEST(ScoreReport, NamesTheFirstRunWithTimesThatAreNotDates) {
  Score score = complete();
  EXPECT_THAT(score_table({score}), Not(HasSubstr("not dates")));
  for (RunScore& run : score.runs) run.odd_time = "time_ms is 5, which looks like weeks";
  EXPECT_THAT(
      score_table({score}),
      HasSubstr(
          "times that are not dates; the minutes are computed from them nevertheless:\n  "
          "Strata/tower/bert: result_0.txt: time_ms is 5, which looks like weeks (2 of 2 runs)\n"));
}

TEST(ScoreReport, JsonHoldsRunsAndNumbers) {
  const auto json = nlohmann::json::parse(score_json({complete(), plain()}))["scores"];
  ASSERT_EQ(json.size(), 2u);
  const auto& runs = json[1]["runs"];
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0], nlohmann::json::parse(R"({"log": "out/result_0.txt", "counts": true,
      "reason": "", "not_judged": "", "odd_time": "", "time_to_train_ms": 90000.0,
      "converged": true, "samples_to_converge": 640.0, "energy_joules": null, "energy_problem": ""})"));
  EXPECT_EQ(runs[1], nlohmann::json::parse(R"({"log": "out/result_1.txt", "counts": false,
      "reason": "no target", "not_judged": "", "odd_time": "", "time_to_train_ms": null, "converged": false,
      "samples_to_converge": null, "energy_joules": null, "energy_problem": "no meter"})"));
  EXPECT_EQ(json[1]["accelerators"], nullptr);
  EXPECT_EQ(json[1]["rcp"]["outcome"], "-");
  auto score = json[0];
  EXPECT_EQ(score["runs"][0]["energy_joules"], 2500.0);
  score.erase("runs");
  EXPECT_EQ(score, nlohmann::json::parse(R"({"path": "out/tower", "submitter": "Strata",
      "system": "tower", "benchmark": "bert", "division": "closed", "usage": "training",
      "ruleset": "5.0.0", "ruleset_ground": "given", "rules": {"source": "given",
      "version": "4.1.68", "path": "x/rules", "sha256": "0123"}, "accelerator": "H100, \"large\"",
      "accelerators": 8, "runs_needed": 2, "mean": "olympic", "time_to_train_ms": 150000.0,
      "unscaled_ms": 120000.0, "rcp_scaled_ms": 180000.0, "scaling": 1.25, "scaling_problem": "",
      "rcp": {"outcome": "passed", "judged": true, "passed": true, "message": "too fast",
      "points": "rcps_bert.json", "points_sha256": "4567"},
      "global_batch_size": 256.0, "samples_to_converge": 640.0, "sequences_per_second": 5.5,
      "sequences_per_second_per_accelerator": 0.6875, "energy_joules": 2500.0,
      "target": null, "differing_settings": [], "weak": null, "weak_problem": ""})"));
}

}  // namespace
}  // namespace strata::scoring
