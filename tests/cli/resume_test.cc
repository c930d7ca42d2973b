// Kills and resumes jobs of the real program.
#include <csignal>

#include "base/files/files.h"
#include "tests/cli/small_benchmark.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

class ResumedJob : public SmallBenchmark {
 protected:
  // Trains 800 steps without reaching the target, and saves the weights at the end.
  std::vector<std::string> many_steps(const std::string& output,
                                      const std::vector<std::string>& more = {}) const {
    std::vector<std::string> command =
        train({"--set", "run.output=" + path(output), "--set", "run.seed=3", "--set",
               "target.masked_lm_accuracy=1", "--set", "target.max_steps=800", "--set",
               "lr_schedule.training_steps=800", "--set", "target.eval_interval_samples=400",
               "--set", "log.save_checkpoint=true", "--set", "log.step_trace=true", "--set",
               "checkpoint.every_steps=20"});
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  std::filesystem::path file(const std::string& output, const std::string& name) const {
    return std::filesystem::path(path(output)) / "Strata" / "results" / "small" / "bert" / name;
  }
  // Counts the checkpoints that every rank has written.
  int checkpoints(const std::string& output, int ranks) const {
    std::error_code ignored;
    int count = 0;
    for (const auto& folder :
         std::filesystem::directory_iterator(file(output, "result_0.checkpoints"), ignored)) {
      bool whole = true;
      for (int rank = 0; rank < ranks; ++rank) {
        const std::string name = "rank_" + std::to_string(rank) + ".safetensors";
        whole &= std::filesystem::exists(folder.path() / name, ignored);
      }
      count += whole ? 1 : 0;
    }
    return count;
  }
  // Starts the job and kills rank `number` after so many checkpoints. Tries again if the job was
  // faster.
  void kill_after_checkpoints(int wanted, const std::string& output, int ranks, int number) {
    constexpr std::chrono::seconds kLimit(100);
    const std::filesystem::path log = file(output, "result_0.txt");
    const auto says = [&](const char* text) {
      return std::filesystem::exists(log) && read_file(log).find(text) != std::string::npos;
    };
    for (int tries = 0; tries < 10; ++tries) {
      std::filesystem::remove_all(path(output));
      Process job(command(many_steps(output), ranks));
      ASSERT_TRUE(wait_until([&] { return says("init_start"); }, kLimit));
      const pid_t victim = ranks == 1 ? job.pid() : find_rank(job.pid(), number).value();
      ASSERT_TRUE(wait_until([&] { return checkpoints(output, ranks) >= wanted || !job.running(); },
                             kLimit));
      if (!job.running()) continue;
      ::kill(victim, SIGKILL);
      EXPECT_NE(job.wait(std::chrono::seconds(10)).exit_code, 0);
      // The process that keeps the log may need a moment more.
      EXPECT_TRUE(wait_until([&] { return says("run_stop"); }, std::chrono::seconds(5)));
      if (says("\"aborted\"}")) return;
    }
    FAIL() << "every job ended before it was killed";
  }
  // Returns the lines of the step trace without their times.
  std::vector<std::string> losses(const std::string& output) const {
    std::istringstream lines(read_file(file(output, "result_0.steps.jsonl")));
    std::vector<std::string> losses;
    for (std::string line; std::getline(lines, line);) {
      const auto step = nlohmann::json::parse(line);
      losses.push_back(nlohmann::json({step["step"], step["masked_lm_loss"],
                                       step["next_sentence_loss"], step["learning_rate"]})
                           .dump());
    }
    return losses;
  }
};

class ResumedJobOfRanks : public ResumedJob, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, ResumedJobOfRanks, testing::Values(1, 2));

TEST_P(ResumedJobOfRanks, EndsLikeAnUninterruptedJob) {
  const int ranks = GetParam();
  const ProcessResult whole = strata(many_steps("whole"), ranks);
  ASSERT_EQ(whole.exit_code, 1) << whole.err;  // the target is out of reach
  kill_after_checkpoints(1, "killed", ranks, ranks - 1);
  const ProcessResult resumed = strata(many_steps("killed", {"--resume"}), ranks);
  ASSERT_EQ(resumed.exit_code, 1) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("continues after step"));
  EXPECT_EQ(read_file(file("killed", "result_0.safetensors")),
            read_file(file("whole", "result_0.safetensors")));
  EXPECT_EQ(losses("killed"), losses("whole"));
  EXPECT_EQ(values_of(events(file("killed", "result_0.txt")), "eval_accuracy"),
            values_of(events(file("whole", "result_0.txt")), "eval_accuracy"));
  EXPECT_FALSE(std::filesystem::exists(file("killed", "result_0.checkpoints")));

  const ProcessResult checked =
      strata({"check", "log", file("killed", "result_0.txt").string(), "--ruleset", "5.0.0"});
  EXPECT_EQ(checked.exit_code, 0) << checked.out;
  EXPECT_THAT(checked.out, HasSubstr("interrupted and resumed after step"));
}

TEST_F(ResumedJob, ADamagedCheckpointIsReportedAndTheOneBeforeIsUsed) {
  kill_after_checkpoints(2, "out", 1, 0);
  int64_t last = 0;
  std::filesystem::path damaged;
  for (const auto& folder : list_directory(file("out", "result_0.checkpoints"))) {
    const auto part = folder / "rank_0.safetensors";
    const int64_t step = std::stoll(folder.filename().string().substr(5));
    if (step > last && std::filesystem::exists(part)) {
      last = step;
      damaged = part;
    }
  }
  std::string bytes = read_file(damaged);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  write_file_atomically(damaged, bytes);
  const ProcessResult resumed = strata(many_steps("out", {"--resume"}));
  EXPECT_EQ(resumed.exit_code, 1) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr(damaged.string()));
  EXPECT_EQ(losses("out").size(), 800u);
}

TEST_F(ResumedJob, WithoutAnInterruptedRunResumeStartsAnew) {
  EXPECT_EQ(strata(many_steps("out", {"--resume"})).exit_code, 1);
  EXPECT_EQ(losses("out").size(), 800u);
}

}  // namespace
}  // namespace strata::cli
