#include "harness/time_to_train.h"

#include <cmath>
#include <cstdio>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/timing.h"
#include "harness/host/page_cache.h"
#include "harness/progress.h"
#include "harness/record/experiment_log.h"
#include "harness/record/log_keys.h"
#include "harness/record/run_description_events.h"
#include "harness/seed.h"

namespace strata::harness {
namespace {

// What all experiments of a call share.
struct Benchmark {
  const config::RunConfig& config;
  SystemUnderTest& system;
  ResultTree tree;
  std::vector<ExperimentResult> results;  // that were there already

  bool first() const { return system.rank() == 0; }
  // Lines for people, from the first rank only.
  void say(const std::string& line) const {
    if (first()) std::fprintf(stderr, "%s\n", line.c_str());
  }
};

// Results that lie together are of one configuration on one system.
void check_kept(const ResultTree& tree, const std::vector<ExperimentResult>& kept,
                const config::RunConfig& config, const std::string& system_description) {
  if (kept.empty()) return;
  if (read_file(tree.system_description()) != system_description) {
    fail(
        "{}: describes another system, or this one otherwise, than the results would be of; "
        "continue on the same ranks and machines, or choose another run.output",
        tree.system_description().string());
  }
  for (const ExperimentResult& result : kept) {
    config::RunConfig theirs = config::load_run_config(tree.config(result.experiment));
    theirs.run.experiments = config.run.experiments;
    if (to_yaml(theirs) == to_yaml(config)) continue;
    fail(
        "{}: is another configuration than is to be continued with; give the same one, or choose "
        "another run.output",
        tree.config(result.experiment).string());
  }
}

// Which of the first rank's results reached the target, on all ranks.
void share(std::vector<ExperimentResult>& results, SystemUnderTest& system) {
  size_t count = results.size();
  system.broadcast(&count, sizeof count);
  results.resize(count);
  for (ExperimentResult& result : results) {
    system.broadcast(&result.experiment, sizeof result.experiment);
    system.broadcast(&result.reached_target, sizeof result.reached_target);
  }
}

Benchmark prepare(const config::RunConfig& config, SystemUnderTest& system,
                  ExistingResults existing) {
  const SystemFacts facts = system.system_facts();
  const Machine machine = inspect_machine();
  Benchmark b{
      .config = config,
      .system = system,
      .tree = {config.run.output, config.run.organization, system_name(config, machine, facts)}};
  if (b.first()) {
    b.results = prepare_result_tree(b.tree, config.run.experiments, existing);
    const std::string description = system_description_json(config, machine, facts);
    check_kept(b.tree, b.results, config, description);
    write_file_atomically(b.tree.system_description(), description);
  }
  share(b.results, system);
  if (!b.results.empty()) {
    b.say(fmt::format("results: {} of {} are there and kept, below {}", b.results.size(),
                      config.run.experiments, b.tree.results().string()));
  }
  b.say(
      fmt::format("device: {}, {} rank{}", facts.device, facts.ranks, facts.ranks == 1 ? "" : "s"));
  return b;
}

uint64_t agreed_seed(const Benchmark& b, int experiment) {
  uint64_t seed = experiment_seed(b.config.run.seed, experiment);
  b.system.broadcast(&seed, sizeof seed);
  return seed;
}

// The timed region: blocks of training, each followed by an evaluation, until the target.
class TimedRun {
 public:
  TimedRun(const Benchmark& b, ExperimentLog& log)
      : b_(b),
        system_(b.system),
        log_(log),
        max_steps_(max_steps(b.config)),
        interval_(eval_interval_samples(b.config, b.system.ranks())) {
    if (b.first())
      progress_.emplace(ProgressOptions{.total_steps = max_steps_, .may_end_earlier = true});
  }

  ExperimentResult run() {
    ExperimentResult result;
    system_.barrier();
    const auto begin = Clock::now();
    log_.run_start();
    const DataFacts data = system_.start();
    b_.say(fmt::format("data: {} training and {} evaluation samples", data.train_samples,
                       data.eval_samples));
    int64_t next_eval = std::max(b_.config.target.start_eval_at_sample, interval_);
    while (!result.reached_target && result.steps < max_steps_ && !diverged_) {
      train_until(next_eval, result);
      result.accuracy = evaluate(result.samples);
      result.reached_target = result.accuracy >= b_.config.target.masked_lm_accuracy;
      next_eval = result.samples + interval_;
    }
    log_.write([&](EventLog& log) { log_run_samples(log, result.samples, data.eval_samples); });
    log_.run_stop(result.reached_target, result.samples);
    result.seconds = seconds_since(begin);
    if (progress_) progress_->finish();
    return result;
  }

 private:
  void train_until(int64_t samples, ExperimentResult& result) {
    const int64_t first = result.samples;
    log_.write([&](EventLog& log) {
      log.start(log_keys::kBlockStart,
                {{log_keys::kFirstEpochNum, first}, {log_keys::kEpochCount, samples - first}});
      log.start(log_keys::kEpochStart, {{log_keys::kEpochNum, first}});
    });
    while (result.samples < samples && result.steps < max_steps_ && !diverged_) {
      const TrainedStep step = system_.train_step();
      result.steps = step.step;
      result.samples = step.samples;
      state_.step = step.step;
      state_.items = step.samples;
      if (step.loss) state_.loss = step.loss;
      if (progress_) progress_->update(state_);
      diverged_ = step.loss && !std::isfinite(*step.loss);
    }
    if (diverged_ && progress_) {
      progress_->print(
          fmt::format("step {}: the loss is not a finite number, so the run ends here; try a lower "
                      "optimizer.lr, a longer schedule.warmup_steps or clip.mode",
                      state_.step));
    }
    log_.write([&](EventLog& log) {
      log.end(log_keys::kEpochStop, {}, {{log_keys::kEpochNum, first}});
      log.end(log_keys::kBlockStop, {}, {{log_keys::kFirstEpochNum, first}});
    });
  }

  double evaluate(int64_t samples) {
    const EventMetadata when{{log_keys::kEpochNum, samples}};
    log_.write([&](EventLog& log) { log.start(log_keys::kEvalStart, when); });
    const double accuracy = system_.evaluate();
    log_.write([&](EventLog& log) {
      log.event(log_keys::kEvalAccuracy, accuracy, when);
      log.end(log_keys::kEvalStop, {}, when);
    });
    state_.accuracy = accuracy;
    if (progress_) {
      progress_->update(state_);
      progress_->print(fmt::format("step {}: accuracy {:.4f} (target {:.4f})", state_.step,
                                   accuracy, b_.config.target.masked_lm_accuracy));
    }
    return accuracy;
  }

  const Benchmark& b_;
  SystemUnderTest& system_;
  ExperimentLog& log_;
  std::optional<Progress> progress_;
  int64_t max_steps_, interval_;
  ProgressState state_;
  bool diverged_ = false;
};

std::vector<std::filesystem::path> data_paths(const config::RunConfig& config) {
  std::vector<std::filesystem::path> paths = config.data.train;
  paths.insert(paths.end(), config.data.eval.begin(), config.data.eval.end());
  return paths;
}

RunFiles files_of(const Benchmark& b, int experiment) {
  RunFiles files;
  if (b.config.log.step_trace) files.step_trace = b.tree.step_trace(experiment);
  if (b.config.log.timeline_steps > 0) files.timeline = b.tree.timeline(experiment);
  if (b.config.log.save_checkpoint) files.checkpoint = b.tree.checkpoint(experiment);
  return files;
}

ExperimentResult run_experiment(const Benchmark& b, int experiment) {
  std::optional<ExperimentLog> owned;
  if (b.first()) {
    owned.emplace(b.tree.log(experiment));
  } else {
    owned.emplace();
  }
  ExperimentLog& log = *owned;
  const uint64_t seed = agreed_seed(b, experiment);

  if (b.first()) {
    const std::string cleared =
        clear_page_cache(data_paths(b.config), b.config.initialization.clear_whole_cache);
    b.say(fmt::format("experiment {}: seed {}, cleared {}", experiment, seed, cleared));
  }
  log.write([&](EventLog& events) {
    events.event(log_keys::kCacheClear, true);
    events.start(log_keys::kInitStart);
    log_run_description(events, b.config,
                        {.ranks = b.system.ranks(), .seed = seed, .platform = b.tree.system});
    if (b.config.run.division == config::Division::kClosed) {
      log_weights_initialization(events, b.system.tensors());
    }
  });
  const Say say = [&](const std::string& line) { b.say(line); };
  b.system.prepare(seed, files_of(b, experiment), say);
  TimedRun run(b, log);
  b.system.warm_up(say);
  // Last of the initialisation: what fails before leaves no result behind.
  if (b.first()) write_file_atomically(b.tree.config(experiment), to_yaml(b.config));
  log.write([&](EventLog& events) { events.end(log_keys::kInitStop); });

  ExperimentResult result = run.run();
  result.experiment = experiment;
  result.seed = seed;
  result.log = b.tree.log(experiment);
  b.system.save();
  return result;
}

}  // namespace

std::vector<ExperimentResult> time_to_train(const config::RunConfig& config,
                                            SystemUnderTest& system, ExistingResults existing) {
  const Benchmark benchmark = prepare(config, system, existing);
  std::vector<ExperimentResult> results;
  auto kept = benchmark.results.begin();
  for (int experiment = 0; experiment < config.run.experiments; ++experiment) {
    if (kept != benchmark.results.end() && kept->experiment == experiment) {
      results.push_back(*kept++);
      continue;
    }
    results.push_back(run_experiment(benchmark, experiment));
    const ExperimentResult& r = results.back();
    benchmark.say(fmt::format(
        "result_{}: {} with accuracy {:.4f} (target {:.4f}) after {} samples in {:.1f} s: {}",
        r.experiment, r.reached_target ? "success" : "aborted", r.accuracy,
        config.target.masked_lm_accuracy, r.samples, r.seconds, r.log.string()));
  }
  return results;
}

}  // namespace strata::harness
