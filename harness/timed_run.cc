#include "harness/timed_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/files/crc32c.h"
#include "base/text/counts.h"
#include "base/timing.h"
#include "harness/record/run_description_events.h"
#include "harness/record/run_log.h"

namespace strata::harness {
namespace {

ProgressOptions progress_options(int64_t steps, const std::optional<ResumePoint>& resumed) {
  ProgressOptions options{.total_steps = steps, .may_end_earlier = true};
  if (resumed) options.done = {.step = resumed->step, .items = resumed->samples};
  return options;
}

}  // namespace

TimedRun::TimedRun(const Benchmark& benchmark, ExperimentLog& log, Checkpoints& checkpoints,
                   uint64_t seed, const std::optional<ResumePoint>& resumed)
    : config_(benchmark.config),
      system_(benchmark.system),
      ranks_(benchmark.ranks),
      log_(log),
      checkpoints_(checkpoints),
      seed_(seed),
      resumed_(resumed),
      max_steps_(max_steps(config_)),
      global_batch_(std::max<int64_t>(global_batch_size(config_, ranks_.size()), 1)),
      progress_(ranks_.first() ? Progress(progress_options(max_steps_, resumed)) : Progress()) {}

void TimedRun::say(const std::string& line) { progress_.print(line); }

void TimedRun::show(const std::string& phase) { progress_.begin_phase(phase); }

ExperimentResult TimedRun::run() {
  ranks_.barrier();
  progress_.begin_phase("");
  const auto begin_time = Clock::now();
  ExperimentResult result = begin();
  const int64_t begin_ms = logged_ms();
  data_ = start_system();
  while (!result.reached_target && result.steps < max_steps_ && !diverged_) {
    const int64_t next = samples_at_next_evaluation(config_, ranks_.size(), result.samples);
    train_until(next, result);
    const bool on_cadence = result.samples >= next;
    result.accuracy = evaluate(result.samples, on_cadence);
    result.reached_target =
        on_cadence && !diverged_ && result.accuracy >= config_.target.masked_lm_accuracy;
  }
  log_.write(
      [&](mllog::LogWriter& log) { log_run_samples(log, result.samples, data_.eval_samples); });
  log_.run_stop(result.reached_target, result.samples);
  seconds_ = seconds_since(begin_time);
  log_.require_run_stop();
  result.seconds = resumed_ ? log_.logged_seconds() : seconds_;
  progress_.finish();
  if (ranks_.first()) check_clocks(static_cast<double>(logged_ms() - begin_ms) * 1e-3);
  return result;
}

ExperimentResult TimedRun::begin() {
  ExperimentResult result{.seed = seed_};
  if (!resumed_) {
    log_.run_start();
    return result;
  }
  began_ = true;
  result.steps = resumed_->step;
  result.samples = resumed_->samples;
  result.accuracy = resumed_->accuracy;
  block_ = resumed_->block_begin;
  state_.step = result.steps;
  state_.items = result.samples;
  log_.write([&](mllog::LogWriter& log) {
    log.event(log_keys::kResumed, result.steps,
              {{log_keys::kEpochNum, result.samples}, {log_keys::kRanks, int64_t{ranks_.size()}}});
  });
  return result;
}

DataFacts TimedRun::start_system() {
  ranks_.barrier();  // no rank looks at the data before run_start is written
  const DataFacts data = system_.start();
  began_ = true;
  say(fmt::format("data: {} and {}", counted(data.train_samples, "training sample"),
                  counted(data.eval_samples, "evaluation sample")));
  if (resumed_ &&
      (data.train_samples != resumed_->train_samples ||
       data.eval_samples != resumed_->eval_samples || data.checksum != resumed_->data_checksum)) {
    fail(
        "the data have changed since the run began, when they had {} and {}; give the same "
        "data.train and data.eval",
        counted(resumed_->train_samples, "training sample"),
        counted(resumed_->eval_samples, "evaluation sample"));
  }
  return data;
}

void TimedRun::train_until(int64_t samples, ExperimentResult& result) {
  if (!block_) begin_block(result.samples, samples);
  const int64_t first = *block_;
  while (result.samples < samples && result.steps < max_steps_ && !diverged_) {
    if (loss_is_read_ && checkpoints_.due(result.steps)) take_checkpoint(result);
    const TrainedStep step = system_.train_step();
    result.steps = step.step;
    result.samples = step.samples;
    state_.step = step.step;
    state_.items = step.samples;
    loss_is_read_ = step.loss.has_value();
    if (step.loss) state_.loss = step.loss;
    progress_.update(state_);
    if (!step.remark.empty()) say(fmt::format("step {}: {}", step.step, step.remark));
    diverged_ = step.loss && !std::isfinite(*step.loss);
  }
  if (diverged_) {
    say(
        fmt::format("step {}: the loss is not a finite number, so the run ends here; try a lower "
                    "optimizer.lr, a longer lr_schedule.warmup_steps, or clipping (clip.mode)",
                    state_.step));
  }
  log_.write([&](mllog::LogWriter& log) {
    log.end(log_keys::kEpochStop, {}, {{log_keys::kEpochNum, first}});
    log.end(log_keys::kBlockStop, {}, {{log_keys::kFirstEpochNum, first}});
  });
  block_.reset();
}

void TimedRun::begin_block(int64_t first, int64_t end) {
  block_ = first;
  const int64_t last_step = std::min((end + global_batch_ - 1) / global_batch_, max_steps_);
  const int64_t count = last_step * global_batch_ - first;
  log_.write([&](mllog::LogWriter& log) {
    log.start(log_keys::kBlockStart,
              {{log_keys::kFirstEpochNum, first}, {log_keys::kEpochCount, count}});
    log.start(log_keys::kEpochStart, {{log_keys::kEpochNum, first}});
  });
}

void TimedRun::take_checkpoint(const ExperimentResult& result) {
  log_.write([&](mllog::LogWriter& log) {
    log.event(log_keys::kCheckpoint, result.steps, {{log_keys::kEpochNum, result.samples}});
    log.flush();  // a checkpoint is unusable if the log lacks this event
  });
  const std::string text = log_.text();  // empty except on the first rank
  uint64_t log_bytes = text.size();
  uint32_t log_checksum = crc32c(text);
  ranks_.share(log_bytes);
  ranks_.share(log_checksum);
  checkpoints_.take(result.steps, to_note({.seed = seed_,
                                           .step = result.steps,
                                           .samples = result.samples,
                                           .block_begin = *block_,
                                           .accuracy = result.accuracy,
                                           .train_samples = data_.train_samples,
                                           .eval_samples = data_.eval_samples,
                                           .data_checksum = data_.checksum,
                                           .log_bytes = log_bytes,
                                           .log_checksum = log_checksum}));
}

double TimedRun::evaluate(int64_t samples, bool on_cadence) {
  mllog::EventMetadata when{{log_keys::kEpochNum, samples}};
  if (!on_cadence) when.push_back({log_keys::kOffCadence, true});
  progress_.begin_phase("evaluation");
  log_.write([&](mllog::LogWriter& log) { log.start(log_keys::kEvalStart, when); });
  const double accuracy = system_.evaluate();
  log_.write([&](mllog::LogWriter& log) {
    log.event(log_keys::kEvalAccuracy, accuracy, when);
    log.end(log_keys::kEvalStop, {}, when);
  });
  progress_.begin_phase("");
  state_.accuracy = accuracy;
  progress_.update(state_);
  say(fmt::format("step {}: accuracy {:.4f} (target {:.4f})", state_.step, accuracy,
                  config_.target.masked_lm_accuracy));
  if (!on_cadence && accuracy >= config_.target.masked_lm_accuracy) {
    say(
        fmt::format("step {}: the run ends between two evaluations, so this accuracy does not "
                    "count as reaching the target; see target.max_steps in docs/config.md",
                    state_.step));
  }
  return accuracy;
}

int64_t TimedRun::logged_ms() {
  int64_t ms = 0;
  log_.write([&](mllog::LogWriter& log) { ms = log.last_time_ms(); });
  return ms;
}

// Compares `logged_seconds`, from this process's first event in the timed region to run_stop, with
// seconds_, which are measured separately on the steady clock. Warns if they differ.
void TimedRun::check_clocks(double logged_seconds) {
  constexpr double kMostApart = 0.1, kMostSet = 0.5;  // seconds
  if (std::abs(logged_seconds - seconds_) > kMostApart) {
    say(
        fmt::format("warning: from {} to run_stop the log shows {:.3f} s, but the run measured "
                    "{:.3f} s; writing the log was slow",
                    resumed_ ? log_keys::kResumed : log_keys::kRunStart, logged_seconds, seconds_));
  }
  if (const double set_by = log_.wall_clock_set_by(); std::abs(set_by) > kMostSet) {
    say(
        fmt::format("the machine's clock was changed by {:+.1f} s during the run; the log's times "
                    "come from the steady clock and do not show it",
                    set_by));
  }
}

}  // namespace strata::harness
