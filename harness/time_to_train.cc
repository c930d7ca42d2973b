#include "harness/time_to_train.h"

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
  std::optional<OutputLock> lock;         // of the first rank
  std::vector<ExperimentResult> results;  // that were there already

  bool first() const { return system.rank() == 0; }
  // Lines for people, from the first rank only.
  void say(const std::string& line) const {
    if (first()) std::fprintf(stderr, "%s\n", line.c_str());
  }
};

// Results that lie together are of one configuration on one system.
void check_found(const ResultTree& tree, const FoundResults& found, const config::RunConfig& config,
                 const std::string& system_description) {
  if (found.empty()) return;
  if (!describe_same_system(read_file(tree.system_description()), system_description)) {
    fail(
        "{}: describes another system, or this one otherwise, than the results would be of; "
        "continue on the same ranks and machines, or choose another run.output",
        tree.system_description().string());
  }
  for (const ExperimentResult& result : found.results) {
    config::RunConfig theirs = config::load_run_config(tree.config(result.experiment));
    theirs.run.experiments = config.run.experiments;
    theirs.run.stall_seconds = config.run.stall_seconds;
    if (to_yaml(theirs) == to_yaml(config)) continue;
    fail(
        "{}: is another configuration than is to be continued with; give the same one, or choose "
        "another run.output",
        tree.config(result.experiment).string());
  }
}

// To continue on another number of ranks would begin a second system beside the first.
void check_ranks(const ResultTree& tree) {
  for (const auto& other : list_directory(tree.results().parent_path().parent_path())) {
    const std::string system = other.filename().string();
    if (!differ_in_ranks_only(system, tree.system)) continue;
    if (compliance::result_logs(other / tree.results().filename()).empty()) continue;
    fail(
        "{}: these are the results to continue, and the run would be of {}; continue on the same "
        "number of ranks, or choose another run.output",
        other.string(), tree.system);
  }
}

// Makes the result tree, takes hold of it, and finds what is there; on the first rank.
void open_results(Benchmark& b, ExistingResults existing, const std::string& system_description) {
  prepare_result_tree(b.tree);
  b.lock.emplace(b.tree.results());
  FoundResults found = find_results(b.tree, b.config.run.experiments, existing);
  if (existing == ExistingResults::kKeep && found.empty()) check_ranks(b.tree);
  check_found(b.tree, found, b.config, system_description);
  for (const int experiment : found.interrupted) {
    const auto aside = set_aside(b.tree, experiment);
    b.say(fmt::format("result_{}: its run was interrupted; the log is now {}", experiment,
                      aside.string()));
  }
  if (found.empty()) write_file_atomically(b.tree.system_description(), system_description);
  b.results = std::move(found.results);
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
    owned.emplace(b.tree.log(experiment), b.keeper);
  } else {
    owned.emplace();
  }
  ExperimentLog& log = *owned;
  const uint64_t seed = agreed_seed(b, experiment);

  TimedRun run(b.config, b.system, log);
  const Say say = [&](const std::string& line) { run.say(line); };
  say(fmt::format("experiment {}: seed {}", experiment, seed));
  run.show("clearing the page cache");
  const bool cleared = clear_caches(b, say);
  log.write([&](EventLog& events) {
    events.event(log_keys::kCacheClear, cleared);
    events.start(log_keys::kInitStart);
    log_run_description(events, b.config,
                        {.ranks = b.system.ranks(), .seed = seed, .platform = b.tree.system});
    if (b.config.run.division == config::Division::kClosed) {
      log_weights_initialization(events, b.system.tensors());
    }
  });
  run.show("reading weights");
  b.system.prepare(seed, files_of(b, experiment), say);
  run.show("warm-up");
  b.system.warm_up(say);
  // Last of the initialisation: what fails before leaves no result behind.
  if (b.first()) write_file_atomically(b.tree.config(experiment), to_yaml(b.config));
  log.write([&](EventLog& events) { events.end(log_keys::kInitStop); });

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
  result.seed = seed;
  result.log = b.tree.log(experiment);
  b.system.save();
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
