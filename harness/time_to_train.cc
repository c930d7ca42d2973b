#include "harness/time_to_train.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "compliance/package/submission_tree.h"
#include "harness/host/page_cache.h"
#include "harness/record/event_log.h"
#include "harness/record/experiment_log.h"
#include "harness/record/output_lock.h"
#include "harness/record/run_description_events.h"
#include "harness/resume/checkpoints.h"
#include "harness/resume/lost_weights.h"
#include "harness/resume/resume_point.h"
#include "harness/resume/same_configuration.h"
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
  std::vector<int> lacking_weights = {};       // experiments whose weights a checkpoint can give
  bool on_other_ranks = false;                 // than those that began them; of the first rank

  bool first() const { return system.rank() == 0; }
  // Lines for people, from the first rank only.
  void say(const std::string& line) const {
    if (first()) std::fprintf(stderr, "%s\n", line.c_str());
  }
};

bool can_be_resumed(const ResultTree& tree, int experiment) {
  return !checkpoint_steps(tree.checkpoints(experiment)).empty();
}

// Whether a run that ended could not write its weights, and may still be able to.
bool lacks_weights(const ResultTree& tree, const config::RunConfig& config, int experiment) {
  return config.log.save_checkpoint && !exists_or_is_link(tree.checkpoint(experiment)) &&
         can_be_resumed(tree, experiment);
}

// Whether something of the experiments that were found goes on from a checkpoint with --resume.
bool any_goes_on(const ResultTree& tree, const FoundResults& found,
                 const config::RunConfig& config) {
  return std::ranges::any_of(found.interrupted,
                             [&](int experiment) { return can_be_resumed(tree, experiment); }) ||
         std::ranges::any_of(found.results, [&](const ExperimentResult& result) {
           return lacks_weights(tree, config, result.experiment);
         });
}

// Results that lie together are of one configuration on one system.
void check_found(const ResultTree& tree, const FoundResults& found, const config::RunConfig& config,
                 ExistingResults existing, const std::string& system_description,
                 bool on_other_ranks) {
  const std::string described = read_file(tree.system_description());
  if (on_other_ranks ? !describe_other_ranks(described, system_description)
                     : !describe_same_system(described, system_description)) {
    fail(
        "{}: describes another system, or this one otherwise, than the results would be of ({}); "
        "continue on the same ranks and machines, or choose another run.output",
        tree.system_description().string(),
        fmt::join(differing_fields(described, system_description), ", "));
  }
  std::vector<int> experiments;  // what is set aside may be of any configuration
  if (existing == ExistingResults::kResume) experiments = found.interrupted;
  for (const ExperimentResult& result : found.results) experiments.push_back(result.experiment);
  for (const int experiment : experiments) {
    const std::filesystem::path theirs = tree.config(experiment);
    if (!std::filesystem::exists(theirs)) continue;
    const bool by_checkpoint = existing == ExistingResults::kResume &&
                               (std::ranges::count(found.interrupted, experiment) > 0
                                    ? can_be_resumed(tree, experiment)
                                    : lacks_weights(tree, config, experiment));
    const std::vector<std::string> differing = configuration_differences(
        config::load_resolved_config(theirs), config, {on_other_ranks, by_checkpoint});
    if (differing.empty()) continue;
    fail(
        "{}: is another configuration than is to be continued with ({}); give the same one, or "
        "choose another run.output",
        theirs.string(), fmt::join(differing, "; "));
  }
}

// A run that is resumed may go on on other ranks, one that begins may not: its result would be of
// another system than those it lies beside.
void check_none_begins(const ResultTree& tree, const FoundResults& found, int experiments) {
  for (int experiment = 0; experiment < experiments; ++experiment) {
    const bool ended = std::ranges::any_of(
        found.results, [&](const auto& result) { return result.experiment == experiment; });
    if (ended || can_be_resumed(tree, experiment)) continue;
    fail(
        "{}: result_{} has no checkpoint, so its run would start anew, but on another number of "
        "ranks than the other runs; give fewer --experiments, or start as many ranks as they had",
        tree.results().string(), experiment);
  }
}

// The system with results whose name differs from this one's in the number of ranks alone; to be
// resumed only if one of its runs, or one's lost weights, can be.
std::optional<std::string> system_on_other_ranks(const ResultTree& tree,
                                                 const config::RunConfig& config,
                                                 ExistingResults existing) {
  const std::filesystem::path systems = tree.results().parent_path().parent_path();
  if (!std::filesystem::is_directory(systems)) return std::nullopt;
  for (const auto& other : list_directory(systems)) {
    const ResultTree theirs{tree.output, tree.organization, other.filename().string()};
    if (!differ_in_ranks_only(theirs.system, tree.system)) continue;
    const FoundResults found = find_results(theirs, config.run.experiments, existing);
    if (existing == ExistingResults::kKeep ? !found.empty() : any_goes_on(theirs, found, config)) {
      return theirs.system;
    }
  }
  return std::nullopt;
}

// A run that had ended was stopped before its last files were written.
void tidy_ended(Benchmark& b, int experiment, ExistingResults existing) {
  std::error_code ignored;
  if (!std::filesystem::exists(b.tree.checkpoints(experiment), ignored)) return;
  if (lacks_weights(b.tree, b.config, experiment)) {
    if (existing == ExistingResults::kResume) {
      b.lacking_weights.push_back(experiment);
    } else {
      b.say(
          fmt::format("result_{}: its weights are missing; --resume writes them from its last "
                      "checkpoint, which stays",
                      experiment));
    }
    return;
  }
  b.say(fmt::format("result_{}: was stopped after its run had ended; its checkpoints are removed",
                    experiment));
  std::filesystem::remove_all(b.tree.checkpoints(experiment), ignored);
}

// The description that lies there stays if it is of this system: somebody may have added to it.
void write_system_description(const Benchmark& b, const std::string& description) {
  const std::filesystem::path path = b.tree.system_description();
  if (!exists_or_is_link(path)) return write_file_atomically(path, description);
  const std::string theirs = read_file(path);
  if (describe_same_system(theirs, description)) return;
  fail(
      "{}: describes another system, as these fields differ: {}; move the file away, or choose "
      "another run.output",
      path.string(), fmt::join(differing_fields(theirs, description), ", "));
}

void say_set_aside(const Benchmark& b, int experiment) {
  const auto aside = set_aside(b.tree, experiment);
  b.say(fmt::format("result_{}: its run was interrupted; the log is now {}", experiment,
                    aside.string()));
}

// Makes the result tree, takes hold of it, and finds what is there; on the first rank.
void open_results(Benchmark& b, ExistingResults existing, const std::string& system_description) {
  const int experiments = b.config.run.experiments;
  std::optional<std::string> other;
  if (existing != ExistingResults::kRefuse && find_results(b.tree, experiments, existing).empty()) {
    other = system_on_other_ranks(b.tree, b.config, existing);
  }
  if (other && existing == ExistingResults::kKeep) {
    // That would begin a second system beside the first.
    fail(
        "{}: holds the results to continue, but this run's system is {}; continue on the same "
        "number "
        "of ranks, or choose another run.output",
        (b.tree.results().parent_path().parent_path() / *other).string(), b.tree.system);
  }
  if (other) b.tree.system = *other;
  prepare_result_tree(b.tree);
  b.lock.emplace(b.tree.results());
  remove_leftovers(b.tree.results());
  remove_leftovers(b.tree.system_description().parent_path());
  FoundResults found = find_results(b.tree, experiments, existing);
  if (!found.empty()) {
    b.on_other_ranks =
        existing == ExistingResults::kResume &&
        describe_other_ranks(read_file(b.tree.system_description()), system_description);
    check_found(b.tree, found, b.config, existing, system_description, b.on_other_ranks);
    if (b.on_other_ranks) check_none_begins(b.tree, found, experiments);
  }
  for (const ExperimentResult& result : found.results) tidy_ended(b, result.experiment, existing);
  for (const int experiment : found.not_begun) {
    const auto aside = set_aside(b.tree, experiment);
    b.say(
        fmt::format("result_{}: its run was killed before it began; it begins anew, and the log "
                    "is now {}",
                    experiment, aside.string()));
  }
  for (const int experiment : found.without_log) {
    const auto aside = set_aside(b.tree, experiment);
    b.say(fmt::format(
        "result_{}: its log is missing; its other files are archived (a log would be {})",
        experiment, aside.string()));
  }
  for (const int experiment : found.interrupted) {
    if (existing == ExistingResults::kResume && can_be_resumed(b.tree, experiment)) {
      refuse_links(b.tree, experiment);
      b.interrupted.push_back(experiment);
    } else {
      say_set_aside(b, experiment);
    }
  }
  if (found.empty()) write_system_description(b, system_description);
  b.results = std::move(found.results);
}

// The first rank's numbers or letters, on all ranks.
template <typename Values>
void share_values(Values& values, SystemUnderTest& system) {
  size_t count = values.size();
  system.broadcast(&count, sizeof count);
  values.resize(count);
  system.broadcast(values.data(), count * sizeof(typename Values::value_type));
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
  share_values(b.interrupted, system);
  share_values(b.lacking_weights, system);
  share_values(b.tree.system, system);
  if (!b.results.empty()) {
    b.say(fmt::format("results: {} of {} are there and kept, below {}", b.results.size(),
                      config.run.experiments, b.tree.results().string()));
  }
  b.say(fmt::format("device: {}, {}", facts.device, counted(facts.ranks, "rank")));
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
  if (b.config.log.tensorboard) files.tensorboard = b.tree.tensorboard(experiment);
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

// The steps of an experiment's checkpoints, the last first, on all ranks.
std::vector<int64_t> shared_checkpoint_steps(const Benchmark& b, int experiment) {
  std::vector<int64_t> steps;
  if (b.first()) steps = checkpoint_steps(b.tree.checkpoints(experiment));
  share_values(steps, b.system);
  return steps;
}

// The last checkpoint that is whole and of the experiment's log, if there is one.
std::optional<ResumePoint> last_whole_checkpoint(const Benchmark& b, int experiment,
                                                 const std::vector<int64_t>& steps) {
  for (const int64_t step : steps) {
    const std::filesystem::path folder = checkpoint_folder(b.tree.checkpoints(experiment), step);
    const auto facts =
        b.system.checkpoint_facts(folder, [&](const std::string& line) { b.say(line); });
    if (!facts) continue;
    const std::optional<ResumePoint> point = parse_note(facts->note);
    if (!point || facts->step != step || point->step != step) {
      b.say(fmt::format("{}: is not of this step", folder.string()));
    } else if (log_is_of(b, experiment, *point)) {
      return point;
    }
  }
  return std::nullopt;
}

// Where an interrupted experiment continues. If its first checkpoint was never finished, the
// experiment starts again, on as many ranks as before. Throws Error if a finished checkpoint is
// unusable, because the user must decide whether to lose the trained steps.
std::optional<ResumePoint> find_resume_point(const Benchmark& b, int experiment) {
  if (std::ranges::find(b.interrupted, experiment) == b.interrupted.end()) return std::nullopt;
  const std::filesystem::path checkpoints = b.tree.checkpoints(experiment);
  const std::vector<int64_t> steps = shared_checkpoint_steps(b, experiment);
  if (const auto point = last_whole_checkpoint(b, experiment, steps)) return point;
  bool lost = std::ranges::any_of(
      steps, [&](int64_t step) { return is_marked_whole(checkpoint_folder(checkpoints, step)); });
  b.system.broadcast(&lost, sizeof lost);
  bool elsewhere = b.on_other_ranks;
  b.system.broadcast(&elsewhere, sizeof elsewhere);
  if (!lost && elsewhere) {
    fail(
        "{}: holds no whole checkpoint to go on from, and on another number of ranks the run would "
        "be of another system; give the ranks that began it, or another run.output",
        checkpoints.string());
  }
  if (!lost) {
    if (b.first()) say_set_aside(b, experiment);
    return std::nullopt;
  }
  fail(
      "{}: from none of the checkpoints the run can go on, for the reasons above; --continue sets "
      "it aside and runs it again",
      checkpoints.string());
}

// The latest time, in milliseconds since 1970, that an interrupted run has logged. The log may have
// been cut back to `point` before by a job that was interrupted at once; its copy has the rest.
int64_t latest_logged_ms(const ResultTree& tree, int experiment, const ResumePoint& point) {
  const std::filesystem::path log = tree.log(experiment);
  int64_t latest = latest_time_ms(log);
  for (const std::filesystem::path& path : list_directory(log.parent_path())) {
    if (path.filename().string().starts_with(log.filename().string() + ".interrupted.") &&
        begins_as_at(path, point)) {
      latest = std::max(latest, latest_time_ms(path));
    }
  }
  return latest;
}

// The log of an experiment that begins, or goes on at `point`; on the first rank.
void open_log(std::optional<ExperimentLog>& log, const Benchmark& b, int experiment,
              const std::optional<ResumePoint>& point) {
  const std::filesystem::path path = b.tree.log(experiment);
  if (!point) {
    log.emplace(path, b.keeper);
    return;
  }
  const int64_t earliest_ms = latest_logged_ms(b.tree, experiment, *point);
  const auto aside = rewind_log(b.tree, experiment, *point);
  b.say(
      fmt::format("result_{}: goes on after step {}, its last checkpoint; the log until the "
                  "interruption is {}",
                  experiment, point->step, aside.string()));
  log.emplace(path, b.keeper, LogBegin::kResumed, earliest_ms);
  if (const double behind_by = log->clock_behind_by(); behind_by > 0) {
    b.say(
        fmt::format("result_{}: warning: the machine's clock is {:.1f} s behind the last event of "
                    "the interrupted log; the log goes on from that event, and the time in which "
                    "nothing ran is not in the result",
                    experiment, behind_by));
  }
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

void say_cost(const Checkpoints& checkpoints, const TimedRun& run, const Say& say) {
  if (checkpoints.taken() == 0) return;
  say(fmt::format("checkpoints: {} taken, for which training waited {:.3f} s, {:.2f} % of {:.1f} s",
                  checkpoints.taken(), checkpoints.seconds(),
                  100 * checkpoints.seconds() / run.seconds(), run.seconds()));
}

// Writes the files that the system holds back until the run has ended.
void save(const Benchmark& b, int experiment) {
  try {
    b.system.save();
  } catch (const Error& error) {
    if (!b.first() || !can_be_resumed(b.tree, experiment)) throw;
    fail("{}; the run has ended and its log is whole: free space, and --resume writes the weights",
         error.what());
  }
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
    if (!run.began() && b.first()) log.discard();
    throw;
  }
  result.experiment = experiment;
  result.log = b.tree.log(experiment);
  say_cost(checkpoints, run, say);
  save(b, experiment);
  checkpoints.remove_all();
  return result;
}

// Writes the weights of a run that ended and could not.
void write_weights_of(const Benchmark& b, const ExperimentResult& result) {
  const int experiment = result.experiment;
  const Say say = [&](const std::string& line) { b.say(line); };
  int64_t samples = result.samples;  // the first rank's
  b.system.broadcast(&samples, sizeof samples);
  const auto point = last_whole_checkpoint(b, experiment, shared_checkpoint_steps(b, experiment));
  if (!point) {
    say(
        fmt::format("result_{}: its weights are missing, and no checkpoint in {} is usable; see "
                    "the reasons above",
                    experiment, b.tree.checkpoints(experiment).string()));
    return;
  }
  say(
      fmt::format("result_{}: its weights are missing; they are made from the checkpoint after "
                  "{} of its {}",
                  experiment, count_text(point->samples), counted(samples, "sample")));
  const auto folder = checkpoint_folder(b.tree.checkpoints(experiment), point->step);
  write_lost_weights(b.system, folder, *point, samples, b.tree.checkpoint(experiment), say);
  b.system.barrier();
  if (!b.first()) return;
  std::error_code ignored;
  std::filesystem::remove_all(b.tree.checkpoints(experiment), ignored);
  say(fmt::format("result_{}: its weights are {}", experiment,
                  b.tree.checkpoint(experiment).string()));
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
      if (std::ranges::count(benchmark.lacking_weights, experiment) > 0)
        write_weights_of(benchmark, *kept);
      results.push_back(*kept++);
      continue;
    }
    results.push_back(run_experiment(benchmark, experiment));
    const ExperimentResult& r = results.back();
    benchmark.say(fmt::format(
        "result_{}: {} with accuracy {:.4f} (target {:.4f}) after {} in {:.1f} s: {}", r.experiment,
        r.reached_target ? "success" : "aborted", r.accuracy, config.target.masked_lm_accuracy,
        counted(r.samples, "sample"), r.seconds, r.log.string()));
  }
  return results;
}

}  // namespace strata::harness
