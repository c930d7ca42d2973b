// Runs searches of the real program, over trials that really train.
#include <csignal>
#include <fstream>
#include <map>

#include "base/files/files.h"
#include "tests/cli/small_benchmark.h"
#include "tests/support/json_schema.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

class SearchCommand : public SmallBenchmark {
 protected:
  SearchCommand() {
    write_file_atomically(path("space.yaml"),
                          "config: run.yaml\n"
                          "set:\n"
                          "  target.masked_lm_accuracy: 0.9\n"
                          "rungs:\n"
                          "  trials: 4\n"
                          "  samples: [16, 64]\n"
                          "evaluate_every_samples: 16\n"
                          "finals:\n"
                          "  trials: 1\n"
                          "  seeds: 2\n"
                          "space:\n"
                          "  - {key: optimizer.lr, log_uniform: [1e-4, 1e-2]}\n"
                          "  - {key: optimizer.name, choice: [adam, lamb, madgrad, acclip]}\n");
  }

  std::vector<std::string> search(const std::string& out,
                                  const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command = {kStrata, "search",  "--space", path("space.yaml"),
                                        "--out", path(out), "--slots", "2"};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  // Returns the runs of a search without results that vary.
  std::map<std::string, std::string> runs(const std::string& out) const {
    std::map<std::string, std::string> runs;
    std::istringstream lines(read_file(path(out) + "/trials.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      auto run = nlohmann::json::parse(line);
      const std::string name = nlohmann::json({run["stage"], run["trial"], run["seed"]}).dump();
      EXPECT_FALSE(runs.contains(name)) << name << " was made twice";
      run.erase("seconds");
      run.erase("log");
      runs[name] = run.dump();
    }
    return runs;
  }
};

// Returns the number of processes whose command line names the folder.
int processes_in(const std::string& folder) {
  int count = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    std::ifstream file(entry.path() / "cmdline");
    const std::string command((std::istreambuf_iterator<char>(file)), {});
    count += command.find(folder) != std::string::npos;
  }
  return count;
}

TEST_F(SearchCommand, FindsAConfigurationThatTrains) {
  const ProcessResult result = run(search("out", {"--json"}));
  // The target is out of reach.
  ASSERT_EQ(result.exit_code, 1) << result.err;
  testing_support::expect_schema("search", result.out);
  const auto report = nlohmann::json::parse(result.out);
  ASSERT_EQ(report["finalists"].size(), 2u) << result.out;
  EXPECT_EQ(report["finalists"][0]["runs"], 2);
  // There are 5, 1 and at most 2 x 2 runs: rung 0 includes the unchanged configuration.
  const auto made = runs("out");
  EXPECT_EQ(made.size(), 5u + 1 + 4);
  EXPECT_EQ(report["configuration"], path("out/winner.yaml"));
  const ProcessResult trained =
      strata({"train", "--config", path("out/winner.yaml"), "--set", "run.output=" + path("won"),
              "--set", "target.max_steps=2"});
  EXPECT_EQ(trained.exit_code, 1) << trained.err;
  // The file contains the winner's settings.
  const std::string winner = read_file(path("out/winner.yaml"));
  for (const auto& [key, value] : report["finalists"][0]["settings"].items()) {
    const std::string name = key.substr(key.find('.') + 1);
    EXPECT_THAT(winner, HasSubstr("  " + name + ": " + value.get<std::string>() + "\n"));
  }
  const ProcessResult plot = run({kStrata, "plot", "search", path("out"), "-o", path("s.svg")});
  EXPECT_EQ(plot.exit_code, 0) << plot.err;
  EXPECT_THAT(plot.out, HasSubstr("s.svg: 10 drawn"));
}

TEST_F(SearchCommand, AKilledSearchContinuesAndEndsLikeAnUninterruptedOne) {
  const ProcessResult whole = run(search("whole"));
  ASSERT_EQ(whole.exit_code, 1) << whole.err;
  for (const int signal : {SIGTERM, SIGKILL}) {
    const std::string out = "killed_" + std::to_string(signal);
    for (int tries = 0;; ++tries) {
      ASSERT_LT(tries, 10) << "every search ended before it was killed";
      std::filesystem::remove_all(path(out));
      Process job(search(out));
      ASSERT_TRUE(wait_until(
          [&] {
            std::error_code ignored;
            return !job.running() ||
                   std::filesystem::file_size(path(out) + "/trials.jsonl", ignored) + 1 > 1;
          },
          std::chrono::seconds(100)));
      job.signal(signal);
      const ProcessResult ended = job.wait(std::chrono::seconds(30));
      if (ended.exit_code != 128 + signal) continue;
      if (signal == SIGTERM) {
        EXPECT_THAT(ended.err, HasSubstr("run the same command to continue it"));
      }
      break;
    }
    // Runs of a killed search may still be ending; the next search waits for them.
    if (signal == SIGTERM) {
      EXPECT_TRUE(
          wait_until([&] { return processes_in(path(out)) == 0; }, std::chrono::seconds(20)));
    }
    const ProcessResult again = run(search(out));
    EXPECT_EQ(again.exit_code, 1) << again.err;
    EXPECT_EQ(runs(out), runs("whole"));
    EXPECT_TRUE(wait_until([&] { return processes_in(path(out)) == 0; }, std::chrono::seconds(20)));
  }
}

TEST_F(SearchCommand, ADryRunRunsNothing) {
  const ProcessResult result = run(search("out", {"--dry-run"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("trial 4: optimizer.lr="));
  EXPECT_THAT(result.out, HasSubstr("rung 1: 1 run of up to 64 samples"));
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(SearchCommand, RefusesWrongAndMissingFiles) {
  write_file_atomically(path("space.yaml"), "config: run.yaml\n");
  expect_refusal(run(search("out")), {"space.yaml", "rungs: is missing"});
  expect_refusal(run({kStrata, "search", "--space", path("nowhere"), "--out", path("out")}),
                 {"nowhere: cannot open"});
  EXPECT_FALSE(std::filesystem::exists(path("out")));
  expect_refusal(run({kStrata, "plot", "search", path(""), "-o", path("s.svg")}), {"plan.json"});
}

TEST_F(SearchCommand, TheSearchEndsIfNoRunCanStart) {
  std::filesystem::remove(path("data/train.hdf5"));
  const ProcessResult result = run(search("out"));
  expect_refusal(
      {.exit_code = result.exit_code, .err = result.err.substr(result.err.rfind("strata: rung"))},
      {"all 5 runs failed", "train.hdf5"});
}

}  // namespace
}  // namespace strata::cli
