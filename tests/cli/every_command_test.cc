// Runs every command of the program once, so that sanitizers see all of its code together: if two
// libraries define a type differently, only a program that links both shows it.

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "tests/cli/process.h"
#include "tests/cli/small_benchmark.h"
#include "tests/compliance/bert_log.h"
#include "tests/compliance/submission.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

using ::strata::testing::write_submission;
using Words = std::vector<std::string>;

struct Call {
  Words arguments;  // arguments after the command; file names are relative to the test's folder
  int exit_code = 0;
};

// The order matters: later commands read the files that earlier ones write.
const std::vector<std::pair<std::string, Call>>& calls() {
  static const std::string kRules = STRATA_SOURCE_DIR "/compliance/rules";
  static const std::vector<std::pair<std::string, Call>> kCalls = {
      {"train", {{"--config", "run.yaml", "--set", "target.max_steps=8", "--experiments", "1"}, 1}},
      {"eval", {{"--config", "run.yaml"}}},
      {"data prepare",
       {{"--text", "text.txt", "--vocab", "vocab.txt", "--out", "again", "--max-length", "48",
         "--max-predictions", "8", "--threads", "1"}}},
      {"data convert",
       {{"data/train.hdf5", "--out", "fixed.hdf5", "--format", "mlperf-fixed", "--vocab-size",
         "32"}}},
      {"data mlperf", {{"--text", "none", "--vocab", "vocab.txt", "--out", "mlperf"}, 2}},
      {"data index", {{"data/train.hdf5"}}},
      {"data shapes", {{"data/train.hdf5"}}},
      {"data compare", {{"data/train.hdf5", "data/train.hdf5"}}},
      {"data info", {{"data/train.hdf5"}}},
      {"data show", {{"data/train.hdf5", "0", "--vocab", "vocab.txt"}}},
      {"search", {{"--space", "space.yaml", "--out", "searched", "--dry-run"}}},
      {"bench step", {{"--config", "run.yaml", "--steps", "1", "--json"}}},
      {"bench operations", {{"--config", "run.yaml", "--steps", "1", "--only", "attention"}}},
      {"bench machine",
       {{"--models", "model.json", "--tokens", "64", "--steps", "1", "--rounds", "1", "--threads",
         "1"}}},
      {"bench balance", {{"--samples", "4096", "--ranks", "8", "--steps", "2"}}},
      {"bench overlap", {{"--config", "run.yaml"}, 2}},
      {"bench plan", {{"--config", "run.yaml"}, 2}},
      {"bench schedule", {{"--config", "run.yaml"}, 2}},
      {"bench simulate",
       {{"--config", "run.yaml", "--ranks", "4", "--gflops", "100", "--network", "1e-6,1e9",
         "--timeline", "simulated.json"}}},
      {"bench optimizer", {{"--model", "tiny", "--rounds", "1", "--threads", "1"}}},
      {"bench cost", {{"--config", "run.yaml", "--rounds", "1", "--tokens", "64"}}},
      {"bench start",
       {{"--config", "run.yaml", "--samples", "1000000", "--ranks", "8", "--set",
         "batch.load_balance.strategy=random"}}},
      {"bench accumulation", {{"--trials", "2"}}},
      {"bench layer_drop",
       {{"--config", "run.yaml", "--steps", "2", "--tokens", "64", "--set", "model.norm=pre",
         "--set", "layer_drop.theta=0.5"}}},
      {"check log", {{"round", "--sarif", "log.sarif", "--junit", "log.xml"}}},
      {"check package", {{"round/Acme", "--sarif", "package.sarif"}}},
      {"check round", {{"round", "--json"}}},
      {"check rcp", {{"round/Acme"}}},
      {"check system", {{"round/Acme/systems/fast.json"}}},
      {"check seeds", {{"round"}}},
      {"check power", {{"round"}}},
      {"check repo", {{"round"}}},
      {"score", {{"round", "--csv", "score.csv", "--summary", "summary.csv"}}},
      {"package merge", {{"round", "-o", "merged"}}},
      {"package preview", {{"round/Acme", "--detailed"}}},
      {"package resubmit-check", {{"later/Acme", "round/Acme"}, 1}},
      {"rules list", {{}}},
      {"rules diff", {{"2.1.0", "5.0.0", "--rules", kRules}}},
      {"rules install", {{"0.0.0"}, 2}},
      {"rcp diff", {{"2.0", "2.1", "--scores", "round"}}},
      {"compare", {{"round/Acme", "round/Bolt"}}},
      {"plan", {{"--measured", "steps_4.json", "steps_8.json", "--ranks", "2", "--json"}, 2}},
      {"plot curves", {{"round", "-o", "curves.svg"}}},
      {"plot scores", {{"round", "-o", "scores.svg"}}},
      {"plot rcp", {{"-o", "rcp.svg"}}},
      {"plot timeline", {{"timeline.json", "-o", "timeline.svg"}}},
      {"plot history", {{"history.jsonl", "-o", "history.svg"}}},
      {"plot plan", {{"none.json", "-o", "plan.svg"}, 2}},
      {"plot search", {{"searched", "-o", "search.svg"}, 2}},
      {"report", {{"round", "-o", "report.html"}}},
      {"export tensorboard", {{"round", "-o", "board"}}},
      {"export csv", {{"round", "-o", "events.csv"}}},
      {"completion", {{"bash"}}},
      {"man", {{"check", "log"}}}};
  return kCalls;
}

class EveryCommand : public SmallBenchmark {
 protected:
  EveryCommand() {
    for (const char* submitter : {"Acme", "Bolt"})
      write_submission(path("round"), submitter, "fast", 10);
    write_submission(path("later"), "Acme", "fast", 10);
    ::strata::testing::write_text(
        path("later/Acme/systems/fast.json"),
        ::strata::testing::whole_description("Acme", "fast", "closed", R"("cooling": "ice")"));
    for (int run = 0; run < 10; ++run) {
      ::strata::testing::write_text(
          path("round/Acme/results/fast/bert/power/result_" + std::to_string(run) + "/node_0.txt"),
          "no readings");
    }
    ::strata::testing::write_text(
        path("history.jsonl"),
        R"({"version": 1, "date": "2031-02-03", "old": "a", "new": "b", "processor": "Zen 5",)"
        R"( "numbers": {"step.seconds": {"ratio": 1.1, "interval": [1.05, 1.15]}}})");
    ::strata::testing::write_text(
        path("timeline.json"),
        R"({"traceEvents": [{"name": "forward", "ph": "X", "ts": 1, "dur": 2, "pid": 0, "tid": 0}]})");
    ::strata::testing::write_text(path("space.yaml"), R"(config: run.yaml
seed: 2
objective: samples
rungs:
  trials: 4
  eta: 2
  samples: [64, 128]
evaluate_every_samples: 16
finals:
  trials: 1
  seeds: 1
  samples: 256
space:
  - {key: optimizer.lr, log_uniform: [1e-4, 1e-3]}
)");
  }
  ProcessResult run_here(const std::string& command, const Words& arguments) const {
    Words words = {"sh", "-c", "cd \"$0\" && exec \"$@\"", directory_.string(), kStrata};
    std::istringstream parts(command);
    for (std::string part; parts >> part;) words.push_back(part);
    words.insert(words.end(), arguments.begin(), arguments.end());
    return run(words);
  }

  // Returns the commands without subcommands.
  std::set<std::string> leaves(const std::string& command = "") const {
    const std::string help = run_here(command, {"--help"}).out;
    const size_t below = help.find("\nSubcommands:");
    if (below == help.npos) return {command};
    std::set<std::string> all;
    std::istringstream lines(help.substr(below));
    const std::regex name(R"(  ([a-z]\S*).*)");
    std::smatch match;
    for (std::string line; std::getline(lines, line);) {
      if (!std::regex_match(line, match, name)) continue;
      all.merge(leaves(command + (command.empty() ? "" : " ") + match[1].str()));
    }
    return all;
  }
};

TEST_F(EveryCommand, RunsWithoutAFault) {
  std::set<std::string> run_ones;
  for (const auto& [command, call] : calls()) {
    SCOPED_TRACE(command);
    const ProcessResult result = run_here(command, call.arguments);
    EXPECT_EQ(result.exit_code, call.exit_code) << result.out << result.err;
    for (const char* report : {"Sanitizer", "runtime error:", "free(): ", "corruption"}) {
      EXPECT_THAT(result.err, Not(HasSubstr(report)));
    }
    run_ones.insert(command);
  }
  EXPECT_EQ(run_ones, leaves()) << "a command is missing from the table, or is no more";
}

}  // namespace
}  // namespace strata::cli
