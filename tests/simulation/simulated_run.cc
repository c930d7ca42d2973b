#include "tests/simulation/simulated_run.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files/files.h"
#include "compliance/checks/check_log.h"
#include "harness/record/log_keeper.h"
#include "loadbalance/random.h"
#include "tests/simulation/damage.h"
#include "tests/training/small_training.h"

namespace strata::simulation {
namespace {

namespace fs = std::filesystem;

constexpr int kSteps = 10, kGlobalBatch = 12;

harness::ResultTree tree_of(const config::RunConfig& config) {
  return {config.run.output, config.run.organization, *config.run.system};
}

Outcome outcome_of(const harness::ResultTree& tree) {
  Outcome outcome;
  if (fs::exists(tree.checkpoint(0))) outcome.weights = read_file(tree.checkpoint(0));
  if (!fs::exists(tree.step_trace(0))) return outcome;
  std::istringstream lines(read_file(tree.step_trace(0)));
  for (std::string line; std::getline(lines, line);) {
    auto step = nlohmann::json::parse(line, nullptr, false);
    if (!step.is_object()) continue;  // incomplete line, so this step's losses are missing
    std::erase_if(step.get_ref<nlohmann::json::object_t&>(),
                  [](const auto& entry) { return entry.first.ends_with("seconds"); });
    outcome.losses.push_back(step.dump());
  }
  return outcome;
}

}  // namespace

Simulation::Simulation(fs::path folder) : folder_(std::move(folder)) {
  training::write_small_data(folder_ / "data.hdf5", training::counting_instances(48));
  training::write_small_model(folder_ / "model.json");
}

config::RunConfig Simulation::draw_config(uint64_t seed, int ranks) {
  loadbalance::Random random(seed);
  const auto one_of = [&](auto... values) {
    const std::array all{values...};
    return all[random.below(sizeof...(values))];
  };
  using config::BalanceStrategy;
  using config::ClipMode;
  config::RunConfig config = training::small_run();
  config.run.system = "simulated";
  config.run.seed = 3;
  config.model.config = (folder_ / "model.json").string();
  config.data.train = config.data.eval = {folder_ / "data.hdf5"};
  config.data.max_predictions_per_seq = 8;
  const int accumulation = one_of(1, 1, 2);
  config.batch.gradient_accumulation_steps = accumulation;
  config.batch.micro_batch = kGlobalBatch / ranks / accumulation;
  config.batch.load_balance.strategy = one_of(BalanceStrategy::kRandom, BalanceStrategy::kPlanned);
  config.model.precision = one_of(config::Precision::kFp32, config::Precision::kBf16);
  config.optimizer.sharded = one_of(config::Sharding::kNone, config::Sharding::kState);
  config.optimizer.name = one_of(config::OptimizerKind::kAdam, config::OptimizerKind::kLamb,
                                 config::OptimizerKind::kMadgrad, config::OptimizerKind::kAcClip,
                                 config::OptimizerKind::kSgd);
  config.clip = {one_of(ClipMode::kAfterAllReduce, ClipMode::kBucketBeforeAllReduce), 0.3};
  config.log.loss_interval_steps = one_of(1, 1, 3);
  config.log.save_checkpoint = config.log.step_trace = true;
  config.target.masked_lm_accuracy = 1;
  config.target.eval_interval_samples = 40;
  config.target.max_steps = kSteps;
  config.checkpoint.every_steps = one_of(1, 2, 3);
  return config;
}

const Outcome& Simulation::uninterrupted(const Job& job) {
  Job whole = job;
  whole.device = Device::kHostMemory;
  whole.dies_at = 0;
  whole.config.checkpoint = {};
  whole.graphs = false;
  whole.config.run.output = folder_ / "whole";
  const std::string key = fmt::format("{} {}", job.ranks, to_yaml(whole.config));
  const auto found = whole_.find(key);
  if (found != whole_.end()) return found->second;
  fs::remove_all(whole.config.run.output);
  const JobEnd end = simulation::run(whole, folder_ / "whole.messages");
  if (!end.finished) fail("the uninterrupted run fails: {}", end.messages);
  Outcome outcome = outcome_of(tree_of(whole.config));
  outcome.moments = end.moments;
  return whole_.emplace(key, std::move(outcome)).first->second;
}

Simulated Simulation::run(uint64_t seed) {
  loadbalance::Random random(seed * 2 + 1);
  Job job{.ranks = static_cast<int>(1 + random.below(3)),
          .device = static_cast<Device>(random.below(3)),
          .seed = seed};
  job.config = draw_config(random.below(64), job.ranks);
  job.graphs = job.device != Device::kHostMemory && random.below(2) == 0;
  job.config.run.output = folder_ / "run";
  const harness::ResultTree tree = tree_of(job.config);
  fs::remove_all(job.config.run.output);

  Simulated result;
  result.story = fmt::format("{} ranks, device {}{}", job.ranks, static_cast<int>(job.device),
                             job.graphs ? " with graphs" : "");
  const Outcome& whole = uninterrupted(job);
  for (uint32_t deaths = 1 + random.below(2); deaths > 0; --deaths) {
    job.victim = static_cast<int>(random.below(static_cast<uint32_t>(job.ranks)));
    job.dies_at = 1 + random.below(static_cast<uint32_t>(whole.moments));
    const JobEnd end = simulation::run(job, folder_ / "messages");
    if (end.finished) {
      result.story += "; ended before";
      break;
    }
    if (end.messages.find("no checkpoint is usable") != std::string::npos) break;
    if (!end.killed) result.problems.push_back("a rank ended by itself: " + end.messages);
    result.story += fmt::format("; rank {} died", job.victim);
    // The process that keeps the log may die with the machine.
    if (random.below(2) == 0 && fs::exists(tree.log(0))) harness::end_abandoned_log(tree.log(0));
    result.story += ", " + damage(tree, random);
  }
  job.dies_at = 0;
  JobEnd end = simulation::run(job, folder_ / "messages");
  if (end.messages.find("no checkpoint is usable") != std::string::npos) {
    result.story += "; continued";
    job.existing = harness::ExistingResults::kKeep;
    end = simulation::run(job, folder_ / "messages");
  }
  if (!end.finished) {
    result.problems.push_back("cannot be resumed: " + end.messages);
    return result;
  }
  if (end.messages.find("continues after step") != std::string::npos) result.story += "; resumed";
  const Outcome outcome = outcome_of(tree);
  // The run died between run_stop and its last files: the log is complete, and the program explains
  // the rest.
  const bool had_ended = end.messages.find("exist and are kept") != std::string::npos;
  if (had_ended) result.story += "; had ended";
  if (!had_ended && outcome.weights != whole.weights) result.problems.push_back("other weights");
  if (!had_ended && outcome.losses != whole.losses) result.problems.push_back("other losses");
  const auto verdict = compliance::check_log(tree.log(0), {.ruleset = "5.0.0"});
  for (const auto& finding : verdict.errors) result.problems.push_back(describe(finding));
  if (fs::exists(tree.checkpoints(0))) result.problems.push_back("checkpoints are left");
  return result;
}

}  // namespace strata::simulation
