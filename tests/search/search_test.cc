#include "search/search.h"

#include <cmath>
#include <deque>
#include <set>

#include "search/finalists.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace strata::search {
namespace {

constexpr double kBestRate = 3e-3, kTarget = 0.8;

// A run's accuracy rises with samples towards a limit that depends on its rate and is highest at
// kBestRate. The seed adds a little noise.
RunResult train(const TrialRun& run, const Settings& settings, int64_t samples) {
  double rate = 1e-4;
  for (const Setting& setting : settings) {
    if (setting.key == "optimizer.lr") rate = std::stod(setting.value);
  }
  const double off = std::log10(rate / kBestRate);
  const double pace = std::exp(-off * off) * (1 + 0.01 * static_cast<double>(run.seed % 3));
  const auto needed = static_cast<int64_t>(std::ceil(160 / pace));
  const double accuracy = 1 - std::exp(-static_cast<double>(samples) * pace / 100);
  if (accuracy < kTarget || needed > samples) {
    return {Ending::kMissed, std::min(accuracy, 0.79), samples, 1.0};
  }
  return {Ending::kReached, kTarget, needed, static_cast<double>(needed)};
}

// Ends runs in an order of its own.
class SyntheticRunner final : public TrialRunner {
 public:
  explicit SyntheticRunner(int slots, bool newest_first = false)
      : slots_(slots), newest_first_(newest_first) {}

  int slots() const override { return slots_; }
  void start(const TrialRun& run, const Settings& settings, int64_t samples) override {
    EXPECT_LT(std::ssize(under_way_), slots_);
    ++started;
    RunResult result = train(run, settings, samples);
    if (failing.contains(run.trial)) result = {.message = "no luck"};
    under_way_.push_back({run, result});
  }
  std::optional<Ended> poll() override {
    if (under_way_.empty()) return std::nullopt;
    const Ended ended = newest_first_ ? under_way_.back() : under_way_.front();
    newest_first_ ? under_way_.pop_back() : under_way_.pop_front();
    return ended;
  }
  std::string progress_of(const TrialRun&) const override { return ""; }

  int started = 0;
  std::set<int> failing;

 private:
  int slots_;
  bool newest_first_;
  std::deque<Ended> under_way_;
};

SearchPlan plan() {
  SearchPlan plan;
  plan.seed = 3;
  plan.trials = 26;
  plan.eta = 3;
  plan.rungs = {40, 120, 360};
  plan.finalists = 2;
  plan.seeds = 5;
  plan.final_samples = 360;
  plan.space = {{.key = "optimizer.lr",
                 .distribution = Distribution::kLogUniform,
                 .low = 1e-5,
                 .high = 1e-1}};
  return plan;
}

SearchHooks hooks(int stop_after = 1 << 30) {
  auto count = std::make_shared<int>(0);
  return {
      .show = [count](const SearchState&, const FinishedRun* ended) { *count += ended != nullptr; },
      .is_stopped = [count, stop_after] { return *count >= stop_after; }};
}

class SearchTest : public testing_support::TemporaryDirectory {
 protected:
  std::filesystem::path file(const std::string& name = "trials.jsonl") const {
    return directory_ / name;
  }
};

std::map<TrialRun, std::string> lines_of(const TrialLog& log) {
  std::map<TrialRun, std::string> lines;
  for (const auto& [run, finished] : log.runs()) lines[run] = to_json_line(finished);
  return lines;
}

TEST_F(SearchTest, FindsTheBestOfAllTrials) {
  TrialLog log(file());
  SyntheticRunner runner(4);
  ASSERT_TRUE(run_search(plan(), log, runner, hooks()));
  // The rungs have 27, 9 and 3 runs. The finals have two finalists, one of which may be the base,
  // and the base.
  EXPECT_GE(runner.started, 27 + 9 + 3 + 10);
  EXPECT_LE(runner.started, 27 + 9 + 3 + 15);
  // The best trial is known without a search.
  int best = 1;
  const auto distance = [](int trial) {
    return std::abs(std::log(std::stod(settings_of(plan(), trial).at(0).value) / kBestRate));
  };
  for (int trial = 2; trial <= plan().trials; ++trial) {
    if (distance(trial) < distance(best)) best = trial;
  }
  const auto finalists = rank_finalists(plan(), log);
  EXPECT_EQ(finalists.front().trial, best);
  EXPECT_EQ(finalists.front().reached, 5);
  const double rate = std::stod(finalists.front().settings.at(0).value);
  EXPECT_LT(std::abs(std::log10(rate / kBestRate)), 0.4);
}

TEST_F(SearchTest, TheUnchangedConfigurationIsInTheFinals) {
  TrialLog log(file());
  SyntheticRunner runner(1);
  ASSERT_TRUE(run_search(plan(), log, runner, hooks()));
  int runs = 0;
  for (const auto& [run, finished] : log.runs()) {
    runs += run.trial == kBaseTrial && run.stage == kFinals;
  }
  EXPECT_EQ(runs, 5);
}

TEST_F(SearchTest, MakesTheSameRunsHoweverManyAtATime) {
  TrialLog one(file("one")), many(file("many"));
  SyntheticRunner slow(1), quick(7, true);
  ASSERT_TRUE(run_search(plan(), one, slow, hooks()));
  ASSERT_TRUE(run_search(plan(), many, quick, hooks()));
  EXPECT_EQ(lines_of(one), lines_of(many));
}

TEST_F(SearchTest, GoesOnWhereItWasStopped) {
  TrialLog whole(file("whole"));
  SyntheticRunner runner(2);
  ASSERT_TRUE(run_search(plan(), whole, runner, hooks()));
  int started = 0;
  for (int round = 0; round < 100; ++round) {
    TrialLog log(file());
    SyntheticRunner again(2);
    const bool ended = run_search(plan(), log, again, hooks(10));
    started += again.started;
    if (ended) break;
  }
  const TrialLog log(file());
  EXPECT_EQ(lines_of(log), lines_of(whole));
  // At most one of the runs in progress at the stop is repeated.
  EXPECT_LE(started, runner.started + runner.started / 10 + 1);
}

TEST_F(SearchTest, AnEndedSearchMakesNoRun) {
  TrialLog log(file());
  SyntheticRunner runner(2), again(2);
  ASSERT_TRUE(run_search(plan(), log, runner, hooks()));
  ASSERT_TRUE(run_search(plan(), log, again, hooks()));
  EXPECT_EQ(again.started, 0);
}

TEST_F(SearchTest, FailedRunsRankLastAndAreRepeated) {
  TrialLog log(file());
  SyntheticRunner runner(1);
  runner.failing = {4, 5, 6, 8, 10};  // includes the best trial
  ASSERT_TRUE(run_search(plan(), log, runner, hooks()));
  for (const auto& [run, finished] : log.runs()) {
    if (run.stage > 0) {
      EXPECT_FALSE(runner.failing.contains(run.trial));
    }
  }
  SyntheticRunner again(1);
  run_search(plan(), log, again, hooks());
  EXPECT_GE(again.started, 3);
  EXPECT_EQ(log.find({4, 0, 3})->result.ending, Ending::kMissed);
  // Later stages are as if the runs had never failed, whatever the log still has.
  TrialLog whole(file("whole"));
  SyntheticRunner never(1);
  ASSERT_TRUE(run_search(plan(), whole, never, hooks()));
  for (const int stage : stages_of(plan())) {
    std::vector<TrialRun> ranked, expected;
    for (const FinishedRun* run : ranking(plan(), log, stage)) ranked.push_back(run->run);
    for (const FinishedRun* run : ranking(plan(), whole, stage)) expected.push_back(run->run);
    EXPECT_EQ(ranked, expected) << name_of_stage(stage);
  }
}

TEST_F(SearchTest, ASearchWhoseRunsAllFailSaysWhy) {
  TrialLog log(file());
  SyntheticRunner runner(1);
  for (int trial = 0; trial <= plan().trials; ++trial) runner.failing.insert(trial);
  EXPECT_EQ(testing_support::error_of([&] { run_search(plan(), log, runner, hooks()); }),
            "rung 0: all 27 runs failed; the first error: no luck");
}

TEST_F(SearchTest, OneTrialInEtaAdvances) {
  TrialLog log(file());
  SyntheticRunner runner(3);
  ASSERT_TRUE(run_search(plan(), log, runner, hooks()));
  EXPECT_EQ(runs_of_stage(plan(), log, 0).size(), 27u);
  EXPECT_EQ(runs_of_stage(plan(), log, 1).size(), 9u);
  EXPECT_EQ(runs_of_stage(plan(), log, 2).size(), 3u);
  // No trial that was dropped is better than one that advances.
  const auto ranked = ranking(plan(), log, 0);
  for (const TrialRun& run : runs_of_stage(plan(), log, 1)) {
    for (size_t i = 9; i < ranked.size(); ++i) EXPECT_NE(run.trial, ranked[i]->run.trial);
  }
}

}  // namespace
}  // namespace strata::search
