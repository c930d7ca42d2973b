#include "harness/time_to_train.h"

#include <dnnl_version.h>
#include <mpi.h>
#include <unistd.h>

#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/timing.h"
#include "harness/host/page_cache.h"
#include "harness/host/signal_thread.h"
#include "harness/host/system_description.h"
#include "harness/progress.h"
#include "harness/record/experiment_log.h"
#include "harness/record/log_keys.h"
#include "harness/record/result_tree.h"
#include "harness/record/run_description_events.h"
#include "harness/seed.h"
#include "training/evaluation.h"
#include "training/step_trace.h"
#include "training/trainer.h"
#include "training/warm_up.h"

namespace strata::harness {
namespace {

// What all experiments of a call share: the device, the model's memory, the data's indices, the
// tree.
struct Benchmark {
  const config::RunConfig& config;
  const training::Ranks& ranks;
  bert::BertConfig bert;
  std::unique_ptr<device::Backend> backend;
  std::unique_ptr<data::InstanceSource> train, eval;
  std::unique_ptr<bert::Model> model;
  ResultTree tree;
  std::string platform;
  std::vector<ExperimentResult> results;  // that were there already
};

// Lines for people, from the first rank only.
void say(const training::Ranks& ranks, const std::string& line) {
  if (ranks.first()) std::fprintf(stderr, "%s\n", line.c_str());
}

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
void share(std::vector<ExperimentResult>& results, const training::Ranks& ranks) {
  size_t count = results.size();
  ranks.communicator.broadcast(&count, sizeof count, 0);
  results.resize(count);
  for (ExperimentResult& result : results) {
    ranks.communicator.broadcast(&result.experiment, sizeof result.experiment, 0);
    ranks.communicator.broadcast(&result.reached_target, sizeof result.reached_target, 0);
  }
}

Benchmark prepare(const config::RunConfig& config, const training::Ranks& ranks,
                  ExistingResults existing) {
  Benchmark b{.config = config, .ranks = ranks, .bert = training::make_bert_config(config)};
  training::check_vocabulary(config, b.bert);
  b.backend = training::make_backend(config, ranks.local);
  b.train = training::open_data(config.data.train, b.bert);
  b.eval = training::open_data(config.data.eval, b.bert);
  const auto capacity = training::larger(training::capacity_of(*b.train, config.batch.micro_batch),
                                         training::capacity_of(*b.eval, config.batch.micro_batch));
  b.model = std::make_unique<bert::Model>(b.bert, *b.backend, capacity,
                                          training::model_options(config, b.bert));

  const Machine machine = inspect_machine();
  char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(mpi, &length);
  const std::string mpi_version(mpi, std::string_view(mpi).find(','));
  const SystemFacts facts{
      .nodes = ranks.size() / ranks.local.count,
      .ranks = ranks.size(),
      .device = b.backend->description(),
      .accelerator = b.backend->accelerator(),
      .libraries = {{"oneDNN", fmt::format("{}.{}.{}", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR,
                                           DNNL_VERSION_PATCH)},
                    {"MPI", mpi_version}}};
  b.platform = system_name(config, machine, facts);
  b.tree = {config.run.output, config.run.organization, b.platform};
  if (ranks.first()) {
    b.results = prepare_result_tree(b.tree, config.run.experiments, existing);
    const std::string description = system_description_json(config, machine, facts);
    check_kept(b.tree, b.results, config, description);
    write_file_atomically(b.tree.system_description(), description);
  }
  share(b.results, ranks);
  if (!b.results.empty()) {
    say(ranks, fmt::format("results: {} of {} are there and kept, below {}", b.results.size(),
                           config.run.experiments, b.tree.results().string()));
  }
  say(ranks, fmt::format("device: {}, {} rank{}", b.backend->description(), ranks.size(),
                         ranks.size() == 1 ? "" : "s"));
  say(ranks,
      fmt::format("data: {} training and {} evaluation samples", b.train->size(), b.eval->size()));
  return b;
}

uint64_t agreed_seed(const Benchmark& b, int experiment) {
  uint64_t seed = experiment_seed(b.config.run.seed, experiment);
  b.ranks.communicator.broadcast(&seed, sizeof seed, 0);
  return seed;
}

int64_t most_masked(const data::InstanceSource& source) {
  const auto counts = source.masked_counts();
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

// The timed region's loop: blocks of training, each followed by an evaluation, until the target.
class TimedRun {
 public:
  TimedRun(const Benchmark& b, RunLog& log, training::Trainer& trainer,
           const std::filesystem::path& step_trace)
      : b_(b),
        log_(log),
        trainer_(trainer),
        evaluator_(*b.model, *b.eval, b.config.data.eval_samples, b.config.batch.micro_batch,
                   b.ranks.communicator),
        trace_(step_trace),
        timeline_(b.ranks.communicator),
        max_steps_(max_steps(b.config)),
        interval_(eval_interval_samples(b.config, b.ranks.size())) {
    if (b.ranks.first())
      progress_.emplace(ProgressOptions{.total_steps = max_steps_, .may_end_earlier = true});
  }

  const training::Timeline& timeline() const { return timeline_; }
  const training::Evaluator& evaluator() const { return evaluator_; }

  ExperimentResult run() {
    ExperimentResult result;
    b_.ranks.communicator.barrier();
    const auto begin = Clock::now();
    log_.run_start();
    trainer_.start();
    int64_t next_eval = std::max(b_.config.target.start_eval_at_sample, interval_);
    while (!result.reached_target && result.steps < max_steps_ && !diverged_) {
      train_until(next_eval, result);
      result.accuracy = evaluate();
      result.reached_target = result.accuracy >= b_.config.target.masked_lm_accuracy;
      next_eval = trainer_.samples() + interval_;
    }
    result.samples = trainer_.samples();
    log_.write([&](EventLog& log) { log_run_samples(log, result.samples, evaluator_.samples()); });
    log_.run_stop(result.reached_target, result.samples);
    result.seconds = seconds_since(begin);
    if (progress_) progress_->finish();
    trace_.finish();
    return result;
  }

 private:
  void train_until(int64_t samples, ExperimentResult& result) {
    const int64_t first = trainer_.samples();
    log_.write([&](EventLog& log) {
      log.start(log_keys::kBlockStart,
                {{log_keys::kFirstEpochNum, first}, {log_keys::kEpochCount, samples - first}});
      log.start(log_keys::kEpochStart, {{log_keys::kEpochNum, first}});
    });
    while (trainer_.samples() < samples && result.steps < max_steps_ && !diverged_) {
      trainer_.record(result.steps < b_.config.log.timeline_steps ? &timeline_ : nullptr);
      const training::StepResult step = trainer_.step();
      result.steps = step.step;
      trace_.add(step);
      state_.step = step.step;
      state_.items = trainer_.samples();
      if (step.losses) state_.loss = step.losses->mean_loss();
      if (progress_) progress_->update(state_);
      diverged_ = step.losses && !std::isfinite(step.losses->mean_loss());
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

  double evaluate() {
    const EventMetadata when{{log_keys::kEpochNum, trainer_.samples()}};
    log_.write([&](EventLog& log) { log.start(log_keys::kEvalStart, when); });
    const double accuracy = evaluator_.evaluate().masked_lm_accuracy();
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
  RunLog& log_;
  training::Trainer& trainer_;
  training::Evaluator evaluator_;
  training::StepTrace trace_;
  training::Timeline timeline_;
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

ExperimentResult run_experiment(const Benchmark& b, int experiment) {
  const training::Ranks& ranks = b.ranks;
  std::optional<RunLog> owned;
  if (ranks.first()) {
    owned.emplace(b.tree.log(experiment));
  } else {
    owned.emplace();
  }
  RunLog& log = *owned;
  const uint64_t seed = agreed_seed(b, experiment);

  if (ranks.first()) {
    const std::string cleared =
        clear_page_cache(data_paths(b.config), b.config.initialization.clear_whole_cache);
    say(ranks, fmt::format("experiment {}: seed {}, cleared {}", experiment, seed, cleared));
  }
  log.write([&](EventLog& events) {
    events.event(log_keys::kCacheClear, true);
    events.start(log_keys::kInitStart);
    log_run_description(events, b.config,
                        {.ranks = ranks.size(),
                         .seed = seed,
                         .platform = b.platform,
                         .max_predictions_per_seq = most_masked(*b.train)});
    if (b.config.run.division != config::Division::kClosed) return;
    std::vector<std::string> tensors;
    for (const bert::Parameter& parameter : b.model->layout().all)
      tensors.push_back(parameter.name);
    log_weights_initialization(events, tensors);
  });
  const bert::HostWeights weights = training::make_weights(
      b.config, b.model->layout(), seed, [&](const std::string& line) { say(ranks, line); });
  b.model->set_weights(weights);
  training::Trainer trainer(b.config, *b.backend, *b.model, ranks.communicator, *b.train, seed);
  TimedRun run(b, log, trainer,
               b.config.log.step_trace && ranks.first() ? b.tree.step_trace(experiment)
                                                        : std::filesystem::path());
  const training::WarmUp warm =
      training::warm_up(b.config.initialization.warmup_steps, max_steps(b.config), *b.model,
                        weights, trainer, run.evaluator());
  if (warm.tried > 0 || warm.kept > 0) {
    say(ranks, fmt::format("warm-up: {} micro-batches tried, {} shapes recorded, {:.1f} s",
                           warm.tried, warm.kept, warm.seconds));
  }
  // Last of the initialisation: what fails before leaves no result behind.
  if (ranks.first()) write_file_atomically(b.tree.config(experiment), to_yaml(b.config));
  log.write([&](EventLog& events) { events.end(log_keys::kInitStop); });

  ExperimentResult result = run.run();
  result.experiment = experiment;
  result.seed = seed;
  result.log = b.tree.log(experiment);
  if (b.config.log.timeline_steps > 0) run.timeline().write(b.tree.timeline(experiment));
  if (b.config.log.save_checkpoint) trainer.gather_weights();
  if (b.config.log.save_checkpoint && ranks.first()) {
    bert::save_weights(b.model->layout(), b.model->weights(), b.tree.checkpoint(experiment));
  }
  return result;
}

}  // namespace

std::vector<ExperimentResult> time_to_train(const config::RunConfig& config,
                                            const training::Ranks& ranks,
                                            ExistingResults existing) {
  const SignalThread signal_thread;  // before the device starts its threads
  const Benchmark benchmark = prepare(config, ranks, existing);
  std::vector<ExperimentResult> results;
  auto kept = benchmark.results.begin();
  for (int experiment = 0; experiment < config.run.experiments; ++experiment) {
    if (kept != benchmark.results.end() && kept->experiment == experiment) {
      results.push_back(*kept++);
      continue;
    }
    results.push_back(run_experiment(benchmark, experiment));
    const ExperimentResult& r = results.back();
    say(ranks,
        fmt::format(
            "result_{}: {} with accuracy {:.4f} (target {:.4f}) after {} samples in {:.1f} s: {}",
            r.experiment, r.reached_target ? "success" : "aborted", r.accuracy,
            config.target.masked_lm_accuracy, r.samples, r.seconds, r.log.string()));
  }
  return results;
}

}  // namespace strata::harness
