#include <fmt/format.h>

#include <algorithm>

#include "report/sections/section.h"

namespace strata::report {
namespace {

// Returns the best accuracy so far.
std::optional<double> accuracy_of(const scoring::Curve& curve) {
  std::optional<double> best;
  for (const scoring::Evaluation& evaluation : curve.evaluations) {
    best = std::max(best.value_or(evaluation.accuracy), evaluation.accuracy);
  }
  return best;
}

}  // namespace

Section running_section(const ReportData& data) {
  Table table("running", "Runs that have not ended",
              {"Run", "Benchmark", "Step", "Masked-LM loss", "Step, ms", "Tokens/s", "Accuracy",
               "Target", "Evaluations"});
  for (const ReportedFolder& folder : data.folders) {
    for (size_t i = 0; i < folder.runs.size(); ++i) {
      const ReportedRun& run = folder.runs[i];
      if (run.has_ended) continue;
      const auto phases = phases_of(run.steps);
      std::optional<double> step, loss, milliseconds, rate;
      if (phases) {
        step = static_cast<double>(run.steps.back().step);
        loss = run.steps.back().loss;
        milliseconds = 1000 * phases->step;
        rate = phases->tokens_per_second;
      }
      table.add(
          {folder.owner.name + ' ' + folder.score.runs[i].log.stem().string(),
           benchmark_name(folder.group), Cell::of(step), Cell::of(loss), Cell::of(milliseconds),
           Cell::of(rate), Cell::of(accuracy_of(run.curve)), Cell::of(run.curve.target),
           Cell::of(static_cast<double>(run.curve.evaluations.size()))},
          folder.owner.system, folder.group);
    }
  }
  return {"running", "Running or interrupted", table.empty() ? "" : table.html()};
}

}  // namespace strata::report
