#include "harness/experiment.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "harness/host/page_cache.h"
#include "harness/record/experiment_log.h"
#include "harness/record/run_description_events.h"
#include "harness/record/run_log.h"
#include "harness/resume/checkpoints.h"
#include "harness/resume/last_checkpoint.h"
#include "harness/seed.h"
#include "harness/timed_run.h"

namespace strata::harness {
namespace {

uint64_t shared_seed(const Benchmark& b, int experiment) {
  uint64_t seed = experiment_seed(b.config.run.seed, experiment);
  b.ranks.share(seed);
  return seed;
}

// Clears the page cache of every node. Returns whether all could, on all ranks.
bool clear_caches(const Benchmark& b, const Say& say) {
  CacheClearing mine{.cleared = true, .what = {}};
  if (b.ranks.first_of_node()) {
    mine = clear_page_cache(b.system.data_files(), b.config.initialization.clear_whole_cache);
    if (!mine.cleared) {
      print_to_stderr("rank {}: the page cache was not cleared: {}\n", b.ranks.rank(), mine.what);
    }
  }
  const int64_t failed = b.ranks.sum(mine.cleared ? 0 : 1);
  if (failed == 0) {
    say(fmt::format("cleared on every node: {}", mine.what));
    return true;
  }
  if (b.config.run.division == config::Division::kClosed) {
    fail(
        "the page cache was not cleared on {} of the nodes, but MLPerf's rules require this before "
        "a run; fix the errors above, or set run.division to open",
        failed);
  }
  return false;
}

RunFiles files_of(const Benchmark& b, int experiment, bool resumed) {
  RunFiles files{.resumed = resumed};
  if (b.config.log.step_trace) files.step_trace = b.tree().step_trace(experiment);
  if (b.config.log.tensorboard) files.tensorboard = b.tree().tensorboard(experiment);
  if (b.config.log.timeline_steps > 0) files.timeline = b.tree().timeline(experiment);
  if (b.config.log.save_checkpoint) files.checkpoint = b.tree().checkpoint(experiment);
  return files;
}

// Opens the log of an experiment that begins, or resumes at `point`. Only on the first rank.
void open_log(std::optional<ExperimentLog>& log, const Benchmark& b, int experiment,
              const std::optional<ResumePoint>& point) {
  const std::filesystem::path path = b.tree().log(experiment);
  if (!point) {
    log.emplace(path, b.keeper);
    return;
  }
  const int64_t earliest_ms = latest_logged_ms(b.tree(), experiment, *point);
  const auto archived = rewind_log(b.tree(), experiment, *point);
  b.say(
      fmt::format("result_{}: continues after step {}, its last checkpoint; the log until the "
                  "interruption is {}",
                  experiment, point->step, archived.string()));
  log.emplace(path, b.keeper, LogBegin::kResumed, earliest_ms);
  if (const double behind_by = log->clock_behind_by(); behind_by > 0) {
    b.say(
        fmt::format("result_{}: warning: the machine's clock is {:.1f} s behind the last event of "
                    "the interrupted log; the log continues from that event, and the result does "
                    "not include the time in which nothing ran",
                    experiment, behind_by));
  }
}

void log_initialization(const Benchmark& b, mllog::LogWriter& events, uint64_t seed, bool cleared) {
  events.event(log_keys::kCacheClear, cleared);
  events.start(log_keys::kInitStart);
  log_run_description(events, b.config,
                      {.ranks = b.ranks.size(), .seed = seed, .platform = b.tree().system});
  if (b.config.run.division == config::Division::kClosed) {
    log_weights_initialization(events, b.system.tensors());
  }
}

void say_cost(const Checkpoints& checkpoints, const TimedRun& run, const Say& say) {
  if (checkpoints.taken() == 0) return;
  say(fmt::format(
      "checkpoints: {} written; training waited {:.3f} s for them, {:.2f} % of {:.1f} s",
      checkpoints.taken(), checkpoints.seconds(), 100 * checkpoints.seconds() / run.seconds(),
      run.seconds()));
}

// Writes the files that the system holds back until the run has ended.
void save(const Benchmark& b, int experiment) {
  try {
    b.system.save();
  } catch (const Error& error) {
    if (!b.ranks.first() || !can_be_resumed(b.tree(), experiment)) throw;
    fail(
        "{}; the run has ended and its log is complete. Free some space; --resume then writes the "
        "weights",
        error.what());
  }
}

}  // namespace

ExperimentResult run_experiment(const Benchmark& b, int experiment) {
  const std::optional<ResumePoint> point = find_resume_point(b, experiment);
  const uint64_t seed = point ? point->seed : shared_seed(b, experiment);
  std::optional<ExperimentLog> owned;
  if (b.ranks.first()) {
    open_log(owned, b, experiment, point);
  } else {
    owned.emplace();
  }
  ExperimentLog& log = *owned;
  const std::filesystem::path folder = b.tree().checkpoints(experiment);
  Checkpoints checkpoints(b.config.checkpoint, b.system, b.ranks, folder, point ? point->step : 0);

  TimedRun run(b, log, checkpoints, seed, point);
  const Say say = [&](const std::string& line) { run.say(line); };
  say(fmt::format("experiment {}: seed {}", experiment, seed));
  run.show("clearing the page cache");
  const bool cleared = clear_caches(b, say);
  if (!point) {
    log.write([&](mllog::LogWriter& events) { log_initialization(b, events, seed, cleared); });
  }
  run.show("reading weights");
  b.system.prepare(seed, files_of(b, experiment, point.has_value()), say);
  run.show("warm-up");
  b.system.warm_up(say);
  if (point) {
    run.show("reading the checkpoint");
    b.system.restore(checkpoint_folder(folder, point->step));
  } else {
    // Written last, so that a failed initialization leaves no result behind.
    if (b.ranks.first()) write_file_atomically(b.tree().config(experiment), to_yaml(b.config));
    log.write([&](mllog::LogWriter& events) { events.end(log_keys::kInitStop); });
  }

  ExperimentResult result;
  try {
    result = run.run();
  } catch (const Error&) {
    // Data may be opened only after run_start. A run that cannot open them does not count.
    if (!run.began() && b.ranks.first()) log.discard();
    throw;
  }
  result.experiment = experiment;
  result.log = b.tree().log(experiment);
  say_cost(checkpoints, run, say);
  save(b, experiment);
  checkpoints.remove_all();
  return result;
}

}  // namespace strata::harness
