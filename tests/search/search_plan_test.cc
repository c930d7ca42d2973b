#include "search/search_plan.h"

#include "base/files/files.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace strata::search {
namespace {

using testing_support::error_of;

constexpr char kRun[] =
    "model:\n  config: tiny\ndata:\n  train: t.hdf5\n  eval: e.hdf5\n"
    "batch:\n  micro_batch: 4\n";

constexpr char kPlan[] =
    "config: run.yaml\n"
    "set:\n"
    "  batch.micro_batch: 8\n"
    "  batch.load_balance.strata: [64, 512]\n"
    "ranks: 2\n"
    "seed: 7\n"
    "objective: seconds\n"
    "rungs:\n"
    "  trials: 9\n"
    "  eta: 4\n"
    "  samples: [100, 200]\n"
    "evaluate_every_samples: 32\n"
    "finals:\n"
    "  trials: 3\n"
    "  seeds: 4\n"
    "space:\n"
    "  - {key: optimizer.name, choice: [adam, lamb]}\n"
    "  - {key: optimizer.lr, log_uniform: [1e-4, 1e-2], when: {optimizer.name: adam}}\n"
    "  - {key: optimizer.beta2, one_minus_log_uniform: [0.001, 0.1]}\n"
    "  - {key: lr_schedule.warmup_steps, integer: [1, 9]}\n"
    "  - {key: batch.load_balance.strata, choice: [[128, 512], [512]]}\n";

class SearchPlanTest : public testing_support::TemporaryDirectory {
 protected:
  SearchPlanTest() { write_file_atomically(directory_ / "run.yaml", kRun); }

  SearchPlan load(const std::string& yaml) {
    write_file_atomically(directory_ / "space.yaml", yaml);
    return load_search_plan(directory_ / "space.yaml");
  }
  // Returns the message for the plan with one of its texts replaced, without the folder.
  std::string refused(const std::string& text, const std::string& by) {
    std::string yaml = kPlan;
    const size_t at = yaml.find(text);
    EXPECT_NE(at, std::string::npos) << text;
    yaml.replace(at, text.size(), by);
    std::string message = error_of([&] { load(yaml); });
    const std::string folder = directory_.string() + "/";
    for (size_t found; (found = message.find(folder)) != std::string::npos;) {
      message.erase(found, folder.size());
    }
    return message;
  }
};

TEST_F(SearchPlanTest, ReadsEveryKey) {
  const SearchPlan plan = load(kPlan);
  EXPECT_EQ(plan.config, directory_ / "run.yaml");
  EXPECT_EQ(plan.ranks, 2);
  EXPECT_EQ(plan.seed, 7u);
  EXPECT_EQ(plan.objective, Objective::kSeconds);
  EXPECT_EQ(plan.trials, 9);
  EXPECT_EQ(plan.eta, 4);
  EXPECT_EQ(plan.rungs, (std::vector<int64_t>{100, 200}));
  EXPECT_EQ(plan.evaluate_every, 32);
  EXPECT_EQ(plan.finalists, 3);
  EXPECT_EQ(plan.seeds, 4);
  EXPECT_EQ(plan.final_samples, 200);
  ASSERT_EQ(plan.space.size(), 5u);
  EXPECT_EQ(plan.space[0].choices, (std::vector<std::string>{"adam", "lamb"}));
  EXPECT_EQ(plan.space[1].distribution, Distribution::kLogUniform);
  EXPECT_EQ(plan.space[1].when, (Settings{{"optimizer.name", "adam"}}));
  EXPECT_EQ(plan.space[2].distribution, Distribution::kOneMinusLogUniform);
  EXPECT_EQ(plan.space[3].high, 9);
  EXPECT_EQ(plan.space[4].choices[0], "[128, 512]");
}

TEST_F(SearchPlanTest, ARunHasFixedValuesThenItsOwnSettings) {
  const SearchPlan plan = load(kPlan);
  EXPECT_EQ(configuration_of(plan).batch.micro_batch, 8);
  const auto run = configuration_of(plan, {{"optimizer.lr", "0.25"}, {"batch.micro_batch", "2"}});
  EXPECT_EQ(run.optimizer.lr, 0.25);
  EXPECT_EQ(run.batch.micro_batch, 2);
}

TEST_F(SearchPlanTest, MissingKeysHaveDefaults) {
  const SearchPlan plan = load(
      "config: run.yaml\nrungs: {trials: 3, samples: [10]}\n"
      "space:\n  - {key: optimizer.lr, uniform: [0.1, 0.2]}\n");
  EXPECT_EQ(plan.ranks, 1);
  EXPECT_EQ(plan.eta, 3);
  EXPECT_EQ(plan.objective, Objective::kSamples);
  // MLPerf's interval for a batch of 4.
  EXPECT_EQ(plan.evaluate_every, 150000);
}

TEST_F(SearchPlanTest, ErrorsNameFileLineAndKey) {
  EXPECT_EQ(refused("eta: 4", "eta: 1"),
            "space.yaml:10: rungs.eta: '1' is not an integer from 2 to 10000");
  EXPECT_EQ(refused("[100, 200]", "[200, 100]"),
            "space.yaml:11: rungs.samples: [200, 100] is not a list of increasing integers");
  EXPECT_EQ(refused("  trials: 9\n", ""), "space.yaml:8: rungs.trials: is missing");
  EXPECT_EQ(refused("config: run.yaml\n", ""),
            "space.yaml: config: is missing; see docs/search.md");
  EXPECT_EQ(refused("objective: seconds", "objective: minutes"),
            "space.yaml:7: objective: 'minutes' is not one of `samples`, `seconds`");
  EXPECT_EQ(refused("finals:", "final:").substr(0, 36), "space.yaml:13: final: unknown key; o");
  EXPECT_EQ(refused("log_uniform: [1e-4, 1e-2]", "log_uniform: [0, 1e-2]"),
            "space.yaml:18: space[1].log_uniform: [0, 1e-2] is not [LOW, HIGH] above 0");
  EXPECT_EQ(
      refused("[0.001, 0.1]", "[0.001, 1.1]"),
      "space.yaml:19: space[2].one_minus_log_uniform: [0.001, 1.1] is not [LOW, HIGH] of x for "
      "values 1 - x, with HIGH at most 1");
  // Every trial would have drawn the upper end.
  for (const char* far : {"uniform: [-1e308, 1e308]", "log_uniform: [1e-300, 1e300]"}) {
    EXPECT_THAT(refused("log_uniform: [1e-4, 1e-2]", far), HasSubstr("at most 1.7e308"));
  }
  EXPECT_EQ(refused("integer: [1, 9]", "integer: [1, 9.5]"),
            "space.yaml:20: space[3].integer: [1, 9.5] is not [LOW, HIGH], two integers");
  EXPECT_EQ(refused("integer: [1, 9]", "integer: [1, 9], choice: [1]").substr(0, 63),
            "space.yaml:20: space[3]: lr_schedule.warmup_steps needs one of ");
  EXPECT_EQ(refused("key: lr_schedule.warmup_steps", "key: run.seed"),
            "space.yaml:20: space[3]: run.seed is set by the search itself; remove it");
  EXPECT_EQ(refused("  batch.micro_batch: 8\n", "  run.seed: 8\n"),
            "space.yaml:2: set: run.seed is set by the search itself; remove it");
  EXPECT_EQ(refused("{optimizer.name: adam}", "{optimizer.name: adma}"),
            "space.yaml:18: space[1].when: no earlier entry of optimizer.name has the choice "
            "adma");
  EXPECT_EQ(refused("key: optimizer.beta2", "key: optimizer.lr").substr(0, 53),
            "space.yaml:19: space[2]: optimizer.lr is in the space");
  EXPECT_EQ(refused("  seeds: 4\n", "  samples: 150\n"),
            "space.yaml: finals.samples: 150 are fewer than the last rung's 200");
}

TEST_F(SearchPlanTest, RefusesImpossibleTrialsBeforeTheFirstRun) {
  EXPECT_THAT(refused("key: optimizer.beta2", "key: optimizer.beta3"),
              HasSubstr("optimizer.beta3"));
  // Some trials draw a norm of 0 or less.
  const std::string message = refused("{key: lr_schedule.warmup_steps, integer: [1, 9]}",
                                      "{key: clip.max_norm, integer: [0, 2]}");
  EXPECT_THAT(message, HasSubstr("cannot run"));
  EXPECT_THAT(message, HasSubstr("clip.max_norm=0"));
  EXPECT_THAT(refused("  batch.micro_batch: 8\n",
                      "  parallel.stages: 3\n  batch.gradient_accumulation_steps: 3\n"),
              HasSubstr("ranks: 2 is not a multiple of the 3 ranks of a replica"));
}

TEST(SearchPlans, ShippedSearchPlansAreValid) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(STRATA_SOURCE_DIR "/scripts/configs")) {
    if (!entry.path().filename().string().starts_with("search-")) continue;
    EXPECT_NO_THROW(load_search_plan(entry.path())) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 1);
}

}  // namespace
}  // namespace strata::search
