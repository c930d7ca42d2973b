#include "harness/timed_run.h"

#include <algorithm>
#include <cmath>

#include "base/timing.h"
#include "harness/record/log_keys.h"
#include "harness/record/run_description_events.h"

namespace strata::harness {
namespace {

// Evaluations are numbered from 1; the first that is not left out.
int64_t first_evaluation(const config::TargetConfig& target, int64_t interval) {
  return std::max<int64_t>(1, (target.start_eval_at_sample + interval - 1) / interval);
}

}  // namespace

TimedRun::TimedRun(const config::RunConfig& config, SystemUnderTest& system, ExperimentLog& log)
    : config_(config),
      system_(system),
      log_(log),
      max_steps_(max_steps(config)),
      interval_(eval_interval_samples(config, system.ranks())),
      progress_(system.rank() == 0 ? Progress({.total_steps = max_steps_, .may_end_earlier = true})
                                   : Progress()) {}

void TimedRun::say(const std::string& line) { progress_.print(line); }

void TimedRun::show(const std::string& phase) { progress_.begin_phase(phase); }

ExperimentResult TimedRun::run() {
  ExperimentResult result;
  system_.barrier();
  progress_.begin_phase("");
  const auto begin = Clock::now();
  log_.run_start();
  system_.barrier();  // no rank looks at the data before run_start is written
  const DataFacts data = system_.start();
  began_ = true;
  say(fmt::format("data: {} training and {} evaluation samples", data.train_samples,
                  data.eval_samples));
  int64_t evaluation = first_evaluation(config_.target, interval_);
  while (!result.reached_target && result.steps < max_steps_ && !diverged_) {
    train_until(evaluation * interval_, result);
    result.accuracy = evaluate(result.samples);
    result.reached_target = result.accuracy >= config_.target.masked_lm_accuracy;
    evaluation = std::max(evaluation + 1, result.samples / interval_ + 1);
  }
  log_.write([&](EventLog& log) { log_run_samples(log, result.samples, data.eval_samples); });
  log_.run_stop(result.reached_target, result.samples);
  result.seconds = seconds_since(begin);
  progress_.finish();
  if (system_.rank() == 0) check_clocks(result.seconds);
  return result;
}

void TimedRun::train_until(int64_t samples, ExperimentResult& result) {
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
    progress_.update(state_);
    diverged_ = step.loss && !std::isfinite(*step.loss);
  }
  if (diverged_) {
    say(
        fmt::format("step {}: the loss is not a finite number, so the run ends here; try a lower "
                    "optimizer.lr, a longer schedule.warmup_steps or clip.mode",
                    state_.step));
  }
  log_.write([&](EventLog& log) {
    log.end(log_keys::kEpochStop, {}, {{log_keys::kEpochNum, first}});
    log.end(log_keys::kBlockStop, {}, {{log_keys::kFirstEpochNum, first}});
  });
}

double TimedRun::evaluate(int64_t samples) {
  const EventMetadata when{{log_keys::kEpochNum, samples}};
  progress_.begin_phase("evaluation");
  log_.write([&](EventLog& log) { log.start(log_keys::kEvalStart, when); });
  const double accuracy = system_.evaluate();
  log_.write([&](EventLog& log) {
    log.event(log_keys::kEvalAccuracy, accuracy, when);
    log.end(log_keys::kEvalStop, {}, when);
  });
  progress_.begin_phase("");
  state_.accuracy = accuracy;
  progress_.update(state_);
  say(fmt::format("step {}: accuracy {:.4f} (target {:.4f})", state_.step, accuracy,
                  config_.target.masked_lm_accuracy));
  return accuracy;
}

// The log's times and the result's seconds are read separately; they must tell the same.
void TimedRun::check_clocks(double seconds) {
  constexpr double kMostApart = 0.1, kMostSet = 0.5;  // seconds
  if (std::abs(log_.logged_seconds() - seconds) > kMostApart) {
    say(
        fmt::format("warning: between run_start and run_stop the log has {:.3f} s, the steady "
                    "clock {:.3f} s; writing the log was slow",
                    log_.logged_seconds(), seconds));
  }
  if (const double set_by = log_.wall_clock_set_by(); std::abs(set_by) > kMostSet) {
    say(
        fmt::format("the machine's clock was set by {:+.1f} s during the run; the log's times "
                    "are the steady clock's and do not show it",
                    set_by));
  }
}

}  // namespace strata::harness
