#include "harness/time_to_train.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "compliance/package/submission_tree.h"
#include "harness/host/page_cache.h"
#include "harness/record/experiment_log.h"
#include "harness/record/log_keys.h"
#include "harness/record/output_lock.h"
#include "harness/record/run_description_events.h"
#include "harness/resume/checkpoints.h"
#include "harness/resume/resume_point.h"
#include "harness/seed.h"
#include "harness/timed_run.h"

namespace strata::harness {
namespace {

// What all experiments of a call share.
struct Benchmark {
  const config::RunConfig& config;
  SystemUnderTest& system;
  ResultTree tree;
  LogKeeper* keeper;
  std::optional<OutputLock> lock = {};         // of the first rank
  std::vector<ExperimentResult> results = {};  // that were there already
  std::vector<int> interrupted = {};           // experiments that may go on from a checkpoint

  bool first() const { return system.rank() == 0; }
  // Lines for people, from the first rank only.
  void say(const std::string& line) const {
    if (first()) std::fprintf(stderr, "%s\n", line.c_str());
  }
};

// What may differ between results that lie together is not written.
std::string comparable(config::RunConfig config, bool on_other_ranks) {
  config.run.experiments = 1;
  config.run.stall_seconds = 0;
  config.checkpoint = {};
  if (on_other_ranks) {  // which may share global batches out otherwise
    config.batch.micro_batch = config.batch.gradient_accumulation_steps = 1;
    config.device.threads = {};
  }
  return to_yaml(config);
}

// Results that lie together are of one configuration on one system; a run that is resumed may go on
// on other ranks.
void check_found(const ResultTree& tree, const FoundResults& found, const config::RunConfig& config,
                 const std::string& system_description, bool on_other_ranks) {
  if (found.empty()) return;
  if (!on_other_ranks &&
      !describe_same_system(read_file(tree.system_description()), system_description)) {
    fail(
        "{}: describes another system, or this one otherwise, than the results would be of; "
        "continue on the same ranks and machines, or choose another run.output",
        tree.system_description().string());
  }
  std::vector<int> experiments = found.interrupted;
  for (const ExperimentResult& result : found.results) experiments.push_back(result.experiment);
  for (const int experiment : experiments) {
    const std::filesystem::path theirs = tree.config(experiment);
    if (!std::filesystem::exists(theirs)) continue;
    if (comparable(config::load_run_config(theirs), on_other_ranks) ==
        comparable(config, on_other_ranks)) {
      continue;
    }
    fail(
        "{}: is another configuration than is to be continued with; give the same one, or choose "
        "another run.output",
        theirs.string());
  }
}

// The system with results whose name differs from this one's in the number of ranks alone.
std::optional<std::string> system_on_other_ranks(const ResultTree& tree) {
  const std::filesystem::path systems = tree.results().parent_path().parent_path();
  if (!std::filesystem::is_directory(systems)) return std::nullopt;
  for (const auto& other : list_directory(systems)) {
    const std::string system = other.filename().string();
    if (!differ_in_ranks_only(system, tree.system)) continue;
    if (!compliance::result_logs(other / tree.results().filename()).empty()) return system;
  }
  return std::nullopt;
}

void say_set_aside(const Benchmark& b, int experiment) {
  const auto aside = set_aside(b.tree, experiment);
  b.say(fmt::format("result_{}: its run was interrupted; the log is now {}", experiment,
                    aside.string()));
}

// Makes the result tree, takes hold of it, and finds what is there; on the first rank.
void open_results(Benchmark& b, ExistingResults existing, const std::string& system_description) {
  std::optional<std::string> other;
  if (existing != ExistingResults::kRefuse &&
      find_results(b.tree, b.config.run.experiments, existing).empty()) {
    other = system_on_other_ranks(b.tree);
  }
  if (other && existing == ExistingResults::kKeep) {
    // That would begin a second system beside the first.
    fail(
        "{}: these are the results to continue, and the run would be of {}; continue on the same "
        "number of ranks, or choose another run.output",
        (b.tree.results().parent_path().parent_path() / *other).string(), b.tree.system);
  }
  if (other) b.tree.system = *other;
  prepare_result_tree(b.tree);
  b.lock.emplace(b.tree.results());
  FoundResults found = find_results(b.tree, b.config.run.experiments, existing);
  check_found(b.tree, found, b.config, system_description, other.has_value());
  for (const int experiment : found.interrupted) {
    if (existing == ExistingResults::kResume &&
        !checkpoint_steps(b.tree.checkpoints(experiment)).empty()) {
      b.interrupted.push_back(experiment);
    } else {
      say_set_aside(b, experiment);
    }
  }
  if (found.empty()) write_file_atomically(b.tree.system_description(), system_description);
  b.results = std::move(found.results);
}

void share(std::vector<int>& numbers, SystemUnderTest& system) {
  size_t count = numbers.size();
  system.broadcast(&count, sizeof count);
  numbers.resize(count);
  system.broadcast(numbers.data(), count * sizeof(int));
}

void share(std::string& text, SystemUnderTest& system) {
  size_t size = text.size();
  system.broadcast(&size, sizeof size);
  text.resize(size);
  system.broadcast(text.data(), size);
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
                  ExistingResults existing, LogKeeper* keeper) {
  const SystemFacts facts = system.system_facts();
  const Machine machine = inspect_machine();
  Benchmark b{
      .config = config,
      .system = system,
      .tree = {config.run.output, config.run.organization, system_name(config, machine, facts)},
      .keeper = keeper};
  if (b.first()) {
    open_results(b, existing, system_description_json(config, machine, facts));
  }
  share(b.results, system);
  share(b.interrupted, system);
  share(b.tree.system, system);
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

// Each node clears its own page cache. Whether all of them did, on all ranks.
bool clear_caches(const Benchmark& b, const Say& say) {
  CacheClearing mine{.cleared = true, .what = {}};
  if (b.system.first_of_node()) {
    mine = clear_page_cache(b.system.data_files(), b.config.initialization.clear_whole_cache);
    if (!mine.cleared) {
      std::fprintf(stderr, "rank %d: the page cache was not cleared: %s\n", b.system.rank(),
                   mine.what.c_str());
    }
  }
  const int64_t failed = b.system.sum(mine.cleared ? 0 : 1);
  if (failed == 0) {
    say(fmt::format("cleared on every node: {}", mine.what));
    return true;
  }
  if (b.config.run.division == config::Division::kClosed) {
    fail(
        "the page cache was not cleared on {} of the nodes, as MLPerf's rules want it before a "
        "run; mend what stands above, or run in division open",
        failed);
  }
  return false;
}

RunFiles files_of(const Benchmark& b, int experiment, bool resumed) {
  RunFiles files{.resumed = resumed};
  if (b.config.log.step_trace) files.step_trace = b.tree.step_trace(experiment);
  if (b.config.log.timeline_steps > 0) files.timeline = b.tree.timeline(experiment);
  if (b.config.log.save_checkpoint) files.checkpoint = b.tree.checkpoint(experiment);
  return files;
}

// Whether the experiment's log begins as it was at `point`, on all ranks.
bool log_is_of(const Benchmark& b, int experiment, const ResumePoint& point) {
  bool same = true;
  if (b.first()) {
    same = begins_as_at(b.tree.log(experiment), point);
    if (!same) {
      b.say(fmt::format("{}: is not the log that the checkpoint after step {} belongs to",
                        b.tree.log(experiment).string(), point.step));
    }
  }
  b.system.broadcast(&same, sizeof same);
  return same;
}

// Of an interrupted experiment: the last checkpoint that is whole. Where there is none the
// experiment begins anew.
std::optional<ResumePoint> find_resume_point(const Benchmark& b, int experiment) {
  if (std::find(b.interrupted.begin(), b.interrupted.end(), experiment) == b.interrupted.end()) {
    return std::nullopt;
  }
  const std::filesystem::path checkpoints = b.tree.checkpoints(experiment);
  std::vector<int64_t> steps;
  if (b.first()) steps = checkpoint_steps(checkpoints);
  size_t count = steps.size();
  b.system.broadcast(&count, sizeof count);
  steps.resize(count);
  b.system.broadcast(steps.data(), count * sizeof(int64_t));
  bool is_of_this_log = true;
  for (const int64_t step : steps) {
    const std::filesystem::path folder = checkpoint_folder(checkpoints, step);
    const auto note =
        b.system.checkpoint_note(folder, [&](const std::string& line) { b.say(line); });
    if (!note) continue;
    const ResumePoint point = parse_note(*note, folder);
    if (log_is_of(b, experiment, point)) return point;
    is_of_this_log = false;
  }
  if (!is_of_this_log) {
    fail(
        "{}: is not the log that the checkpoints in {} belong to; move these away, and run again "
        "with --continue",
        b.tree.log(experiment).string(), checkpoints.string());
  }
  if (b.first()) say_set_aside(b, experiment);
  return std::nullopt;
}

// The log of an experiment that begins, or goes on at `point`; on the first rank.
void open_log(std::optional<ExperimentLog>& log, const Benchmark& b, int experiment,
              const std::optional<ResumePoint>& point) {
  const std::filesystem::path path = b.tree.log(experiment);
  if (!point) {
    log.emplace(path, b.keeper);
    return;
  }
  const auto aside = rewind_log(b.tree, experiment, *point);
  b.say(
      fmt::format("result_{}: goes on after step {}, its last checkpoint; the log until the "
                  "interruption is {}",
                  experiment, point->step, aside.string()));
  log.emplace(path, b.keeper, LogBegin::kResumed);
}

void log_initialization(const Benchmark& b, EventLog& events, uint64_t seed, bool cleared) {
  events.event(log_keys::kCacheClear, cleared);
  events.start(log_keys::kInitStart);
  log_run_description(events, b.config,
                      {.ranks = b.system.ranks(), .seed = seed, .platform = b.tree.system});
  if (b.config.run.division == config::Division::kClosed) {
    log_weights_initialization(events, b.system.tensors());
  }
}

void say_cost(const Checkpoints& checkpoints, const ExperimentResult& result, const Say& say) {
  if (checkpoints.taken() == 0) return;
  say(fmt::format("checkpoints: {} taken, for which training waited {:.3f} s, {:.2f} % of the run",
                  checkpoints.taken(), checkpoints.seconds(),
                  100 * checkpoints.seconds() / result.seconds));
}

ExperimentResult run_experiment(const Benchmark& b, int experiment) {
  const std::optional<ResumePoint> point = find_resume_point(b, experiment);
  const uint64_t seed = point ? point->seed : agreed_seed(b, experiment);
  std::optional<ExperimentLog> owned;
  if (b.first()) {
    open_log(owned, b, experiment, point);
  } else {
    owned.emplace();
  }
  ExperimentLog& log = *owned;
  const std::filesystem::path folder = b.tree.checkpoints(experiment);
  Checkpoints checkpoints(b.config.checkpoint, b.system, folder, point ? point->step : 0);

  TimedRun run(b.config, b.system, log, checkpoints, seed, point);
  const Say say = [&](const std::string& line) { run.say(line); };
  say(fmt::format("experiment {}: seed {}", experiment, seed));
  run.show("clearing the page cache");
  const bool cleared = clear_caches(b, say);
  if (!point) {
    log.write([&](EventLog& events) { log_initialization(b, events, seed, cleared); });
  }
  run.show("reading weights");
  b.system.prepare(seed, files_of(b, experiment, point.has_value()), say);
  run.show("warm-up");
  b.system.warm_up(say);
  if (point) {
    run.show("reading the checkpoint");
    b.system.restore(checkpoint_folder(folder, point->step));
  } else {
    // Last of the initialisation: what fails before leaves no result behind.
    if (b.first()) write_file_atomically(b.tree.config(experiment), to_yaml(b.config));
    log.write([&](EventLog& events) { events.end(log_keys::kInitStop); });
  }

  ExperimentResult result;
  try {
    result = run.run();
  } catch (const Error&) {
    // Data that cannot be used shows when the clock runs; it is no run that ended.
    if (!run.began() && b.first()) {
      std::filesystem::remove(b.tree.config(experiment));
      log.discard();
    }
    throw;
  }
  result.experiment = experiment;
  result.log = b.tree.log(experiment);
  checkpoints.finish();
  say_cost(checkpoints, result, say);
  b.system.save();
  checkpoints.remove();
  return result;
}

}  // namespace

std::vector<ExperimentResult> time_to_train(const config::RunConfig& config,
                                            SystemUnderTest& system, ExistingResults existing,
                                            LogKeeper* keeper) {
  const Benchmark benchmark = prepare(config, system, existing, keeper);
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
