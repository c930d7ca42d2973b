#include "compare/result_side.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text/counts.h"
#include "compliance/checks/rounds.h"
#include "scoring/minutes.h"

namespace strata::compare {
namespace {

namespace fs = std::filesystem;
using scoring::RunScore;
using scoring::Score;

constexpr size_t kEnoughRuns = 9;

std::vector<std::optional<RunPhases>> phases_of(const Score& score) {
  const auto format = score.ruleset == "0.6.0" ? mllog::LogFormat::kMll : mllog::LogFormat::kMllog;
  std::vector<std::optional<RunPhases>> phases;
  for (const RunScore& run : score.runs) {
    phases.emplace_back();
    if (run.counts) phases.back() = read_phases(mllog::LogReader(run.log, format));
  }
  return phases;
}

// A run that counts, with known phases and samples.
struct KnownRun {
  RunPhases phases;
  double samples;
};
std::vector<KnownRun> known_runs(const MeasuredFolder& folder) {
  std::vector<KnownRun> runs;
  for (size_t i = 0; i < folder.phases.size(); ++i) {
    const compliance::RunConvergence& convergence = folder.score.runs[i].convergence;
    if (!folder.phases[i] || !convergence.converged || !convergence.problem.empty()) continue;
    if (convergence.epochs > 0) runs.push_back({*folder.phases[i], convergence.epochs});
  }
  return runs;
}

template <typename Value>
Sample sample_of(const std::vector<KnownRun>& runs, const Value& value) {
  Sample sample;
  for (const KnownRun& run : runs) sample.values.push_back(value(run));
  return sample;
}

// Returns minutes times the factor on the score; their center is the score. Empty without a score.
Sample times_to_train(const Score& score) {
  Sample sample;
  if (score.mean == scoring::Mean::kNone) return sample;
  for (const RunScore& run : score.runs) {
    if (!run.counts) continue;
    sample.values.push_back(run.time_to_train_ms * score.committee_scaling / scoring::kMsPerMinute);
  }
  if (score.mean != scoring::Mean::kOlympic) return sample;
  const auto dropped = static_cast<size_t>(compliance::dropped_runs(score.folder.benchmark));
  sample.smallest_left_out = dropped;
  sample.largest_left_out = dropped - (score.runs.size() - sample.values.size());  // failed ones
  return sample;
}

// If one side does not log evaluations, their time stays in the steps on both sides.
bool tell_evaluations(const std::vector<KnownRun>& base, const std::vector<KnownRun>& other) {
  const auto tells = [](const KnownRun& run) { return run.phases.evaluation.has_value(); };
  return std::ranges::all_of(base, tells) && std::ranges::all_of(other, tells);
}
double seconds_of_steps(const KnownRun& run, bool evaluations_apart) {
  return run.phases.training() + (evaluations_apart ? 0 : run.phases.evaluation.value_or(0));
}

std::string unit_of_samples(const std::string& benchmark) {
  return benchmark == "bert" ? "samples" : "epochs";
}

// Returns the parts of the difference of mean times. Time in steps is samples x seconds per sample:
// the difference in samples counts at the mean speed of both sides, the difference in speed at
// their mean number of samples.
std::vector<Part> parts_of(const std::vector<KnownRun>& base, const std::vector<KnownRun>& other,
                           const std::string& benchmark, bool evaluations) {
  const auto center = [](const std::vector<KnownRun>& runs, auto value) {
    return *sample_of(runs, value).center();
  };
  const auto change = [&](auto value) { return center(other, value) - center(base, value); };
  const auto training = [&](const KnownRun& run) { return seconds_of_steps(run, evaluations); };
  const auto samples = [](const KnownRun& run) { return run.samples; };
  const double samples_base = center(base, samples), samples_other = center(other, samples);
  const double speed_base = center(base, training) / samples_base;
  const double speed_other = center(other, training) / samples_other;

  std::vector<Part> parts = {
      {"start", change([](const KnownRun& run) { return run.phases.start; })}};
  if (evaluations) {
    parts.push_back(
        {"evaluation", change([](const KnownRun& run) { return *run.phases.evaluation; })});
  }
  parts.push_back({unit_of_samples(benchmark) + " to converge",
                   (samples_other - samples_base) * (speed_base + speed_other) / 2});
  parts.push_back({evaluations ? "speed of steps" : "speed of steps and evaluations",
                   (speed_other - speed_base) * (samples_base + samples_other) / 2});
  return parts;
}

void add_phases(Comparison& comparison, const MeasuredFolder& base, const MeasuredFolder& other) {
  const std::vector<KnownRun> base_runs = known_runs(base), other_runs = known_runs(other);
  const std::string& benchmark = comparison.what;
  const auto add = [&](const std::string& name, const char* unit, auto value) {
    comparison.quantities.push_back(make_quantity(
        name, unit, Better::kLower, sample_of(base_runs, value), sample_of(other_runs, value)));
  };
  if (base_runs.empty() || other_runs.empty()) {
    comparison.notes.push_back(
        "the cause of the difference is unknown: no run that counts says when it began, ended and "
        "converged");
    return;
  }
  const bool evaluations = tell_evaluations(base_runs, other_runs);
  comparison.parts = parts_of(base_runs, other_runs, benchmark, evaluations);
  add(unit_of_samples(benchmark) + " to converge", "",
      [](const KnownRun& run) { return run.samples; });
  // A BERT step has as many samples as the batch.
  const auto batch = base.score.batch_size;
  const bool steps = benchmark == "bert" && batch && batch == other.score.batch_size;
  const std::string a_step = steps ? "a step" : benchmark == "bert" ? "a sample" : "an epoch";
  const double unit = benchmark == "bert" ? 1e3 : 1;
  add("time of " + a_step + (evaluations ? "" : ", with evaluations"), unit == 1 ? "s" : "ms",
      [&](const KnownRun& run) {
        return unit * seconds_of_steps(run, evaluations) / run.samples * (steps ? *batch : 1);
      });
  if (evaluations) {
    add("evaluation", "s", [](const KnownRun& run) { return *run.phases.evaluation; });
  }
  add("start", "s", [](const KnownRun& run) { return run.phases.start; });
}

void note_side(const Score& score, const std::string& name, std::vector<std::string>& notes) {
  const size_t counting = score.counting_runs();
  if (counting < kEnoughRuns) {
    notes.push_back(fmt::format("{}: {} of {} {}; fewer than {} say little about a difference",
                                name, counting, counted(score.runs.size(), "run"),
                                counting == 1 ? "counts" : "count", kEnoughRuns));
  }
  if (score.mean == scoring::Mean::kPlain) {
    notes.push_back(fmt::format("{}: a plain mean, not an olympic one", name));
  }
  if (score.mean == scoring::Mean::kNone) {
    notes.push_back(fmt::format("{}: no score, because too few runs count", name));
  }
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const RunScore& run : score.runs) {
    if (!run.counts) by_reason[run.reason].push_back(run.log.filename().string());
  }
  for (const auto& [reason, logs] : by_reason) {
    notes.push_back(fmt::format("{}: {} not counted: {}", name, fmt::join(logs, ", "), reason));
  }
  if (!score.scaling_problem.empty()) {
    notes.push_back(fmt::format("{}: scaling.json not applied: {}", name, score.scaling_problem));
  }
}

void note_differences(const Score& base, const Score& other, std::vector<std::string>& notes) {
  const auto note = [&](const char* what, const std::string& from, const std::string& to) {
    if (from != to)
      notes.push_back(fmt::format("the sides differ in {}: {} and {}", what, from, to));
  };
  const auto text = [](const auto& value) {
    return value ? fmt::format("{}", *value) : std::string("unknown");
  };
  note("ruleset", base.ruleset, other.ruleset);
  note("accelerators", text(base.system.accelerators), text(other.system.accelerators));
  note("global batch size", text(base.batch_size), text(other.batch_size));
}

void refuse_unlike(const ResultSide& base, const ResultSide& other, const std::string& benchmark) {
  const std::optional<double> from = base.folders.at(benchmark).score.target;
  const std::optional<double> to = other.folders.at(benchmark).score.target;
  if (from && to && *from != *to) {
    fail(
        "{} is trained to {} in {} and to {} in {}, so the times cannot be compared; compare runs "
        "with the same target",
        benchmark, *from, base.name, *to, other.name);
  }
}

Comparison compare_folders(const ResultSide& base, const ResultSide& other,
                           const std::string& benchmark) {
  refuse_unlike(base, other, benchmark);
  const MeasuredFolder &from = base.folders.at(benchmark), &to = other.folders.at(benchmark);
  Comparison comparison{
      .what = benchmark, .base = base.name, .other = other.name, .judged_first = true};
  comparison.quantities.push_back(make_quantity("time to train", "min", Better::kLower,
                                                times_to_train(from.score),
                                                times_to_train(to.score)));
  add_phases(comparison, from, to);
  note_side(from.score, base.name, comparison.notes);
  note_side(to.score, other.name, comparison.notes);
  note_differences(from.score, to.score, comparison.notes);
  return comparison;
}

std::vector<std::string> benchmarks_of(const ResultSide& side) {
  std::vector<std::string> names;
  for (const auto& [benchmark, folder] : side.folders) names.push_back(benchmark);
  return names;
}

}  // namespace

ResultSide read_result_side(const fs::path& directory, const scoring::ScoreOptions& options) {
  ResultSide side{.name = directory.string()};
  for (Score& score : scoring::score_directory(directory, options)) {
    const std::string benchmark = scoring::benchmark_of(score);
    const auto known = side.folders.find(benchmark);
    if (known != side.folders.end()) {
      fail("{}: holds several results of {}: {} and {}; name one system", directory.string(),
           benchmark, known->second.score.folder.path.string(), score.folder.path.string());
    }
    std::vector<std::optional<RunPhases>> phases = phases_of(score);
    side.folders.emplace(benchmark, MeasuredFolder{std::move(score), std::move(phases)});
  }
  return side;
}

std::vector<Comparison> compare_results(const ResultSide& base, const ResultSide& other) {
  std::vector<Comparison> comparisons;
  for (const auto& [benchmark, folder] : base.folders) {
    if (other.folders.contains(benchmark)) {
      comparisons.push_back(compare_folders(base, other, benchmark));
    }
  }
  if (comparisons.empty()) {
    fail("{} and {} have no benchmark in common: {} against {}", base.name, other.name,
         fmt::join(benchmarks_of(base), ", "), fmt::join(benchmarks_of(other), ", "));
  }
  return comparisons;
}

}  // namespace strata::compare
