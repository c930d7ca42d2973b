#include "config/run_config.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>

#include "base/error.h"
#include "base/files/files.h"
#include "config/run_config_keys.h"
#include "config/run_config_names.h"
#include "loadbalance/plans/batch_plan.h"
#include "tests/support/matchers.h"
#include "tests/support/temporary_directory.h"

namespace strata::config {
namespace {

constexpr char kSmallest[] =
    "model:\n"
    "  config: tiny\n"
    "data:\n"
    "  train: train.hdf5\n"
    "  eval: [a.hdf5, /b]\n";

class RunConfigTest : public testing_support::TemporaryDirectory {
 protected:
  RunConfig load(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
    write_file_atomically(file_, yaml);
    return load_run_config(file_, overrides);
  }

  // Returns the message without the file's directory.
  std::string error_of(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
    try {
      load(yaml, overrides);
    } catch (const Error& error) {
      std::string message = error.what();
      const std::string directory = directory_.string() + "/";
      for (size_t at; (at = message.find(directory)) != std::string::npos;) {
        message.erase(at, directory.size());
      }
      return message;
    }
    return "no error";
  }

  const std::filesystem::path file_ = directory_ / "run.yaml";
};

TEST_F(RunConfigTest, AbsentKeysHaveTheirDefaults) {
  const RunConfig config = load(kSmallest);
  EXPECT_EQ(config.model.config, "tiny");
  EXPECT_EQ(config.optimizer.lr, OptimizerConfig{}.lr);
  EXPECT_EQ(config.model.checkpoint, std::nullopt);
  EXPECT_EQ(config.run.seed, std::nullopt);
}

TEST_F(RunConfigTest, RelativePathsAreRelativeToTheFile) {
  const RunConfig config = load(kSmallest);
  const std::vector<std::filesystem::path> eval = {directory_ / "a.hdf5", "/b"};
  EXPECT_EQ(config.data.train, std::vector{directory_ / "train.hdf5"});
  EXPECT_EQ(config.data.eval, eval);
  EXPECT_EQ(config.run.output, directory_ / "runs");
}

TEST_F(RunConfigTest, OverridesWinAndTheirPathsAreRelativeToTheCurrentDirectory) {
  const RunConfig config =
      load(std::string(kSmallest) + "optimizer: {lr: 1e-4}\n",
           {"optimizer.lr=1e-3", "batch.load_balance={strategy: random, strata: [64, 128]}",
            "optimizer.lr=2e-3", "data.train=x", "run.seed=auto", "clip.mode=none"});
  EXPECT_EQ(config.optimizer.lr, 2e-3);
  EXPECT_EQ(config.batch.load_balance.strategy, BalanceStrategy::kRandom);
  EXPECT_EQ(config.batch.load_balance.strata, (std::vector{64, 128}));
  EXPECT_EQ(config.data.train, std::vector{std::filesystem::current_path() / "x"});
  EXPECT_EQ(config.clip.mode, ClipMode::kNone);
}

// The file may change or vanish, but the run's value stays in its result.
TEST_F(RunConfigTest, AMeasuredCostIsResolvedWhenItIsRead) {
  write_file_atomically(directory_ / "cost.json", "{\"linear\": 3e-05, \"quadratic\": 1.5e-08}");
  const std::string yaml =
      to_yaml(load(kSmallest, {"batch.load_balance={strategy: planned, group_ranks: 16}",
                               "batch.load_balance.cost=" + (directory_ / "cost.json").string()}));
  EXPECT_THAT(yaml,
              HasSubstr("    group_ranks: 16\n    cost: {linear: 3e-05, quadratic: 1.5e-08}\n"));
  const RunConfig again = load(yaml);
  EXPECT_EQ(again.batch.load_balance.group_ranks, 16);
  EXPECT_EQ(again.batch.load_balance.cost.linear, 3e-5);
  EXPECT_EQ(again.batch.load_balance.cost.quadratic, 1.5e-8);
}

TEST_F(RunConfigTest, ATildeInAPathIsTheHomeDirectory) {
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  ::setenv("HOME", "/home/someone", 1);
  const RunConfig config = load(kSmallest, {"data.train=~/x.hdf5", "data.eval=[~/a, ~/b/c]",
                                            "run.output=~/runs", "model.config=~/model.json"});
  EXPECT_EQ(config.data.train, std::vector<std::filesystem::path>{"/home/someone/x.hdf5"});
  EXPECT_EQ(config.data.eval,
            (std::vector<std::filesystem::path>{"/home/someone/a", "/home/someone/b/c"}));
  EXPECT_EQ(config.run.output, "/home/someone/runs");
  EXPECT_EQ(config.model.config, "/home/someone/model.json");
  ::unsetenv("HOME");
  EXPECT_EQ(error_of(kSmallest, {"data.train=~/x.hdf5"}),
            "--set: data.train: '~' stands for the home directory, but HOME is not set; give the "
            "full path");
  if (!home.empty()) ::setenv("HOME", home.c_str(), 1);
}

TEST_F(RunConfigTest, PathsThatOnlyAShellWouldExpandAreRefusedByName) {
  const std::string smallest = kSmallest;
  for (const char* path : {"$DATA/x", "a/${DATA}/x", "x_$_y"}) {
    EXPECT_EQ(error_of(smallest + "run: {output: \"" + path + "\"}\n"),
              fmt::format("run.yaml:6: run.output: \"{}\": variables are not expanded; give the "
                          "value itself, or use --set, where the shell expands them",
                          path));
  }
  for (const char* path : {"part-*", "data/x?.hdf5", "part-[0-9]", "../*/x"}) {
    const std::string error = error_of(smallest, {std::string("data.eval=[/b, \"") + path + "\"]"});
    EXPECT_EQ(error,
              fmt::format("--set: data.eval: \"{}\": patterns are not expanded, and there is "
                          "no file of that name; write the name out (data.train and data.eval "
                          "take lists and folders)",
                          path));
  }
  EXPECT_THAT(error_of(smallest, {"model.vocab=~other/vocab.txt"}),
              HasSubstr("give the full path"));
}

TEST_F(RunConfigTest, FilesWithNamesLikePatternsAreTaken) {
  for (const char* name : {"$HOME", "part-*", "x?y", "[0-9]", "~", "~other"}) {
    std::filesystem::create_directories(directory_ / name / "inside");
    const std::string quoted = std::string("\"") + name + "/inside/new.hdf5\"";
    const RunConfig config =
        load("model: {config: tiny}\ndata: {train: " + quoted + ", eval: b}\n");
    EXPECT_EQ(config.data.train[0], directory_ / name / "inside" / "new.hdf5");
  }
  EXPECT_EQ(load(kSmallest, {"run.output=\"cost 5$\""}).run.output,
            std::filesystem::current_path() / "cost 5$");
}

TEST_F(RunConfigTest, PathsOfAResolvedConfigurationAreNotExpanded) {
  for (const char* name : {"$HOME", "a/${DATA}/x", "part-*", "x?y", "[0-9]"}) {
    RunConfig config = load(kSmallest);
    config.data.train = {directory_ / name};
    config.data.eval = {directory_ / name, directory_ / "b"};
    config.run.output = directory_ / name;
    write_file_atomically(file_, to_yaml(config));
    EXPECT_THROW(load_run_config(file_), Error) << "no such file is there";
    EXPECT_EQ(to_yaml(load_resolved_config(file_)), to_yaml(config));
  }
}

TEST_F(RunConfigTest, TheFirstEvaluationIsAMultipleOfTheInterval) {
  RunConfig config;
  config.target.eval_interval_samples = 30;
  EXPECT_EQ(samples_at_next_evaluation(config, 1, 0), 30);
  EXPECT_EQ(samples_at_next_evaluation(config, 1, 29), 30);
  EXPECT_EQ(samples_at_next_evaluation(config, 1, 30), 60);
  config.target.start_eval_at_sample = 61;
  EXPECT_EQ(samples_at_next_evaluation(config, 1, 0), 90);
  EXPECT_EQ(samples_at_next_evaluation(config, 1, 100), 120);
}

TEST_F(RunConfigTest, EveryLoadBalanceStrategyCanBeNamed) {
  EXPECT_EQ(names_of_choices<BalanceStrategy>(), loadbalance::strategies());
}

TEST_F(RunConfigTest, AnOverrideLeavesAliasesOfTheOverriddenValueAlone) {
  const RunConfig config =
      load(std::string(kSmallest) + "optimizer: {lr: &rate 0.5, weight_decay: *rate}\n",
           {"optimizer.lr=0.25"});
  EXPECT_EQ(config.optimizer.lr, 0.25);
  EXPECT_EQ(config.optimizer.weight_decay, 0.5);
}

TEST_F(RunConfigTest, UnknownKeysAreErrorsThatNameTheNearestKnownOne) {
  EXPECT_EQ(error_of(std::string(kSmallest) + "optimizer:\n  lrr: 1\n"),
            "run.yaml:7: optimizer.lrr: unknown key; did you mean optimizer.lr?");
  EXPECT_EQ(error_of(std::string(kSmallest) + "lr: 1\n"),
            "run.yaml:6: lr: unknown key; did you mean optimizer.lr?");
  EXPECT_EQ(error_of(std::string(kSmallest) + "optimiser: {}\n"),
            "run.yaml:6: optimiser: unknown key; did you mean optimizer?");
  EXPECT_EQ(error_of(std::string(kSmallest) + "weather: fine\n"),
            "run.yaml:6: weather: unknown key; see docs/config.md or 'strata train "
            "--describe-config'");
  EXPECT_EQ(error_of(kSmallest, {"clip.max_normm=1"}),
            "--set: clip.max_normm: unknown key; did you mean clip.max_norm?");
}

TEST_F(RunConfigTest, WrongValuesAreErrorsThatNameFileLineKeyAndReason) {
  EXPECT_EQ(error_of(std::string(kSmallest) + "optimizer:\n  lr: fast\n"),
            "run.yaml:7: optimizer.lr: 'fast' is not a number above 0");
  EXPECT_EQ(error_of(std::string(kSmallest) + "optimizer: {beta1: 1}\n"),
            "run.yaml:6: optimizer.beta1: '1' is not a number of at least 0 and below 1");
  EXPECT_EQ(error_of(std::string(kSmallest) + "batch: {micro_batch: 0}\n"),
            "run.yaml:6: batch.micro_batch: '0' is not an integer from 1 to 1000000");
  EXPECT_EQ(error_of(std::string(kSmallest) + "clip: {mode: before}\n"),
            "run.yaml:6: clip.mode: 'before' is not one of `none`, `after_allreduce`, "
            "`before_allreduce`, `bucket_before_allreduce`");
  for (const char* once : {"true", "false"}) {
    EXPECT_EQ(
        error_of(std::string(kSmallest) + "optimizer: {sharded: " + once + "}\n"),
        fmt::format(
            "run.yaml:6: optimizer.sharded: '{}' is not one of `none`, `state`, `gradients`, `all`",
            once));
  }
  EXPECT_EQ(
      error_of(std::string(kSmallest) + "batch: {load_balance: {strata: [256, 128]}}\n"),
      "run.yaml:6: batch.load_balance.strata: [256, 128] is not a list of increasing integers "
      "from 1 to 1048576");
  EXPECT_EQ(error_of(std::string(kSmallest) + "run: {organization: a/b}\n"),
            "run.yaml:6: run.organization: 'a/b' is not a valid directory name");
  EXPECT_EQ(error_of(kSmallest, {"run.seed=-1"}),
            "--set: run.seed: '-1' is not an integer from 0 to 1000000000000, or `auto`");
  EXPECT_EQ(error_of(std::string(kSmallest) + "optimizer: 3\n"),
            "run.yaml:6: optimizer: '3' is not a section of 'key: value' lines");
  EXPECT_EQ(error_of(std::string(kSmallest) + "clip:\n  mode:\n"),
            "run.yaml:7: clip.mode: nothing is not one of `none`, `after_allreduce`, "
            "`before_allreduce`, `bucket_before_allreduce`");
}

TEST_F(RunConfigTest, AKeyThatStandsTwiceIsAnError) {
  EXPECT_EQ(error_of(std::string(kSmallest) + "clip:\n  max_norm: 1\n  max_norm: 2\n"),
            "run.yaml:8: clip.max_norm: is given twice; keep one");
}

TEST_F(RunConfigTest, AMissingKeyIsNamed) {
  EXPECT_EQ(error_of("model: {config: tiny}\ndata: {eval: x}\n"),
            "run.yaml: data.train: is missing; give a path or a list of paths");
}

TEST_F(RunConfigTest, AFileThatIsNotYamlOrNoConfigurationIsAnError) {
  EXPECT_THAT(error_of("run: [1\n"), HasSubstr("run.yaml:2: not valid YAML"));
  EXPECT_THAT(error_of(""), HasSubstr("run.yaml: is not a configuration"));
  EXPECT_THAT(error_of("- a\n- b\n"), HasSubstr("run.yaml: is not a configuration"));
  EXPECT_THAT(error_of(std::string(5000, '[')), HasSubstr("not valid YAML"));
  EXPECT_NE(error_of(std::string("\0\xff\xfe\x80", 4)), "no error");
  EXPECT_NE(error_of("{? [a]: b}"), "no error");
  EXPECT_THROW(load_run_config(directory_ / "absent.yaml"), Error);
}

TEST_F(RunConfigTest, AnOverrideMustReadKeyEqualsValue) {
  EXPECT_EQ(error_of(kSmallest, {"optimizer.lr"}),
            "--set optimizer.lr: must have the form key=value, for example optimizer.lr=1e-3");
  EXPECT_THAT(error_of(kSmallest, {"=1"}), HasSubstr("must have the form key=value"));
  EXPECT_THAT(error_of(kSmallest, {"optimizer.lr=[1"}), HasSubstr("not valid YAML"));
}

// Every key, with a value other than its default, survives being written and read.
TEST_F(RunConfigTest, TheResolvedConfigurationReadsBackTheSame) {
  RunConfig config = load(kSmallest);
  config.run.organization = "Org: \"x\"";
  config.run.system = "auto";
  config.run.platform = "2 x box";
  config.run.status = SubmissionStatus::kResearch;
  config.run.seed = 123456789012;
  config.run.notes = "a\nb";
  config.model.config = "/models/tiny";
  config.model.vocab = "/v";
  config.model.checkpoint = "/none";
  config.model.hidden_dropout = 0.0;
  config.model.attention_dropout = 0.25;
  config.device.threads = 3;
  config.optimizer.epsilon = 1e-9;
  config.lr_schedule.start_warmup_step = -16;
  config.target.eval_interval_samples = 77;
  config.target.max_steps = 5;
  config.log.step_trace = true;
  config.log.timeline_steps = 5;
  config.log.loss_interval_steps = 3;
  config.optimizer.sharded = Sharding::kState;
  const std::string yaml = to_yaml(config);
  const RunConfig again = load(yaml);
  EXPECT_EQ(to_yaml(again), yaml);
  EXPECT_EQ(again.run.organization, config.run.organization);
  EXPECT_EQ(again.run.system, config.run.system);
  EXPECT_EQ(again.run.seed, config.run.seed);
  EXPECT_EQ(again.model.checkpoint, config.model.checkpoint);
  EXPECT_EQ(again.model.hidden_dropout, 0.0);
  EXPECT_EQ(again.optimizer.epsilon, 1e-9);
  EXPECT_EQ(again.target.eval_interval_samples, 77);
}

// The table names members by hand, so two keys could share one.
TEST_F(RunConfigTest, EveryKeyWritesAMemberOfItsOwn) {
  const char* const kCandidates[] = {"7",      "0.5",        "1.5",
                                     "[7]",    "true",       "false",
                                     "closed", "none",       "cloud",
                                     "bf16",   "random",     "reference",
                                     "plain",  "never",      "polynomial_decay",
                                     "layer",  "recompute",  "lamb",
                                     "state",  "average",    "pre",
                                     "token",  "contiguous", "{linear: 1, quadratic: 1}"};
  const RunConfig before = load(kSmallest);
  for (const ConfigSection& section : config_sections()) {
    for (const ConfigKey& key : section.keys) {
      RunConfig after = before;
      for (const char* candidate : kCandidates) {
        try {
          key.read({YAML::Load(candidate), key.name, "test", "/"}, after);
        } catch (const Error&) {
          continue;
        }
        if (key.write(after) != key.write(before)) break;
      }
      std::vector<std::string> changed;
      for (const ConfigSection& other_section : config_sections()) {
        for (const ConfigKey& other : other_section.keys) {
          if (other.write(after) != other.write(before)) changed.push_back(other.name);
        }
      }
      EXPECT_EQ(changed, std::vector{key.name});
    }
  }
}

TEST_F(RunConfigTest, GlobalBatchSizeAndOtherValuesAreDerived) {
  RunConfig config = load(kSmallest);
  config.batch.micro_batch = 8;
  config.batch.gradient_accumulation_steps = 3;
  config.lr_schedule.training_steps = 99;
  EXPECT_EQ(global_batch_size(config, 2), 48);
  config.parallel.stages = 2;
  EXPECT_EQ(global_batch_size(config, 4), 48);
  config.parallel.stages = 1;
  config.ouroboros.modules = 3;
  EXPECT_EQ(ranks_of_replica(config), 2);
  EXPECT_EQ(global_batch_size(config, 2), 24);
  config.ouroboros.modules = 1;
  EXPECT_EQ(max_steps(config), 99);
  EXPECT_EQ(eval_interval_samples(config, 2), 150'000);
  config.target.max_steps = 7;
  config.target.eval_interval_samples = 400;
  EXPECT_EQ(max_steps(config), 7);
  EXPECT_EQ(eval_interval_samples(config, 2), 400);
}

TEST(RunConfigFiles, ShippedConfigurationsAreValid) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(STRATA_SOURCE_DIR "/scripts/configs")) {
    if (entry.path().filename().string().starts_with("search-")) continue;  // see SearchPlans
    EXPECT_NO_THROW(load_run_config(entry.path())) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 5);
}

// A GPU prepares shapes before the clock starts, and the host does not wait for it in every step.
TEST(RunConfigFiles, ConfigurationsForGpusAreComplete) {
  struct File {
    const char* name;
    int ranks;
    int64_t batch;
  };
  for (const File& file : {File{"bert-large-1gpu", 1, 448}, File{"bert-large-8gpu", 8, 448},
                           File{"bert-large", 1024, 16'384}}) {
    SCOPED_TRACE(file.name);
    const RunConfig config =
        load_run_config(fmt::format("{}/scripts/configs/{}.yaml", STRATA_SOURCE_DIR, file.name));
    EXPECT_EQ(global_batch_size(config, file.ranks), file.batch);
    EXPECT_TRUE(config.data.shapes.has_value());
    EXPECT_EQ(config.log.loss_interval_steps, 10);
  }
}

TEST_F(RunConfigTest, NcclsThreadBlocksAreItsOwnChoiceUnlessLimited) {
  EXPECT_EQ(load(kSmallest).reduce.nccl_max_ctas, std::nullopt);
  EXPECT_EQ(load(kSmallest, {"reduce.nccl_max_ctas=16"}).reduce.nccl_max_ctas, 16);
  EXPECT_EQ(load(kSmallest, {"reduce.nccl_max_ctas=auto"}).reduce.nccl_max_ctas, std::nullopt);
  EXPECT_THAT(error_of(kSmallest, {"reduce.nccl_max_ctas=0"}), HasSubstr("reduce.nccl_max_ctas"));
}

TEST_F(RunConfigTest, OptionsOfABackendMayBeSetOneByOne) {
  const std::string yaml = kSmallest + std::string("device:\n  backend: cuda\n");
  const device::OptionValues both = {{"attention", "mma"}, {"epilogues", "never"}};
  EXPECT_EQ(load(yaml, {"device.options.attention=mma"}).device.options,
            (device::OptionValues{{"attention", "mma"}}));
  EXPECT_EQ(
      load(yaml, {"device.options.attention=mma", "device.options.epilogues=never"}).device.options,
      both);
  const std::string with_map = yaml + "  options: {attention: wgmma, epilogues: never}\n";
  EXPECT_EQ(load(with_map, {"device.options.attention=mma"}).device.options, both);
  EXPECT_EQ(load(with_map, {"device.options={attention: plain}"}).device.options,
            (device::OptionValues{{"attention", "plain"}}));
  EXPECT_EQ(load(with_map, {"device.options.attention=mma", "device.options={}"}).device.options,
            device::OptionValues{});
  EXPECT_EQ(load(yaml + "  options:\n", {"device.options.attention=mma"}).device.options,
            (device::OptionValues{{"attention", "mma"}}));
  const RunConfig config = load(with_map);
  write_file_atomically(file_, to_yaml(config));
  EXPECT_EQ(load_run_config(file_).device.options, config.device.options);
}

TEST_F(RunConfigTest, BadOptionsOfABackendAreNamed) {
  const std::string yaml = kSmallest + std::string("device:\n  backend: cuda\n");
  for (const char* bad : {"[a]", "7", "{attention: [mma]}", "{[a]: b}"}) {
    EXPECT_THAT(error_of(yaml, {std::string("device.options=") + bad}), HasSubstr("device.options"))
        << bad;
  }
  EXPECT_EQ(error_of(yaml, {"device.options.attention=flash"}),
            "--set: device.options: flash is not a value of attention; choose one of fastest, "
            "plain, mma, wgmma, cudnn");
  EXPECT_THAT(error_of(yaml, {"device.options={\"a\\nb\": x}"}),
              HasSubstr("is not a valid option"));
  EXPECT_THAT(error_of(yaml, {"device.threads.x=2"}), HasSubstr("device.threads.x: unknown key"));
}

TEST_F(RunConfigTest, RenamedKeysAreNamedAndTheirDefaultsPass) {
  EXPECT_EQ(error_of(kSmallest + std::string("device:\n  attention: mma\n")),
            "run.yaml:7: device.attention: is now called device.options.attention");
  EXPECT_EQ(error_of(kSmallest, {"device.epilogues=never"}),
            "--set: device.epilogues: is now called device.options.epilogues");
  EXPECT_EQ(error_of(kSmallest, {"reduce.early_words=true"}),
            "--set: reduce.early_words: is now called reduce.split_tied_embedding");
  EXPECT_EQ(error_of(kSmallest + std::string("schedule:\n  training_steps: 20\n")),
            "run.yaml:6: schedule: is now called lr_schedule");
  EXPECT_EQ(error_of(kSmallest, {"schedule.training_steps=20"}),
            "--set: schedule.training_steps: is now called lr_schedule.training_steps");
  // Every resolved configuration of earlier versions has these keys.
  EXPECT_EQ(load(kSmallest + std::string("device:\n  attention: fastest\n  epilogues: fastest\n"))
                .device.options,
            device::OptionValues{});
  EXPECT_FALSE(
      load(kSmallest + std::string("reduce:\n  early_words: false\n")).reduce.split_tied_embedding);
}

}  // namespace
}  // namespace strata::config
