#include "harness/time_to_train.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/counts.h"
#include "harness/benchmark.h"
#include "harness/experiment.h"
#include "harness/host/system_description.h"
#include "harness/resume/lost_weights.h"
#include "harness/resume/opened_results.h"

namespace strata::harness {
namespace {

Benchmark prepare(const config::RunConfig& config, SystemUnderTest& system, Communicator& ranks,
                  ExistingResults existing, LogKeeper* keeper) {
  const SystemFacts facts = system.system_facts();
  const Machine machine = inspect_machine();
  const Say say = [first = ranks.first()](const std::string& line) {
    if (first) print_to_stderr("{}\n", line);
  };
  Benchmark b{
      .config = config,
      .system = system,
      .ranks = ranks,
      .keeper = keeper,
      .say = say,
      .results = open_results(
          config, {config.run.output, config.run.organization, system_name(config, machine, facts)},
          existing, ranks.first() ? system_description_json(config, machine, facts) : "", ranks,
          say)};
  if (!b.results.ended.empty()) {
    say(fmt::format("results: {} of {} exist and are kept, below {}", b.results.ended.size(),
                    config.run.experiments, b.tree().results().string()));
  }
  say(fmt::format("device: {}, {}", facts.device, counted(facts.ranks, "rank")));
  return b;
}

}  // namespace

std::vector<ExperimentResult> time_to_train(const config::RunConfig& config,
                                            SystemUnderTest& system, Communicator& ranks,
                                            ExistingResults existing, LogKeeper* keeper) {
  const Benchmark benchmark = prepare(config, system, ranks, existing, keeper);
  const OpenedResults& found = benchmark.results;
  std::vector<ExperimentResult> results;
  auto kept = found.ended.begin();
  for (int experiment = 0; experiment < config.run.experiments; ++experiment) {
    if (kept != found.ended.end() && kept->experiment == experiment) {
      if (std::ranges::count(found.lacking_weights, experiment) > 0) {
        write_lost_weights(benchmark, *kept);
      }
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
