#include "results/score.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/files.h"
#include "base/parallel.h"
#include "compliance/checks/rounds.h"
#include "results/energy.h"

namespace strata::results {
namespace {

namespace fs = std::filesystem;
using compliance::EventLog;
using nlohmann::json;

// Numbers stand in system descriptions as numbers or as strings.
std::optional<int64_t> integer_field(const json& fields, const char* name) {
  const auto found = fields.find(name);
  if (found == fields.end()) return std::nullopt;
  if (found->is_number_integer()) return found->get<int64_t>();
  if (!found->is_string()) return std::nullopt;
  try {
    return std::stoll(found->get<std::string>());
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string text_field(const json& fields, const char* name) {
  const auto found = fields.find(name);
  return found != fields.end() && found->is_string() ? found->get<std::string>() : std::string();
}

SystemFacts read_system(const compliance::ResultFolder& folder) {
  SystemFacts facts;
  const fs::path path = folder.submitter_path / "systems" / (folder.system + ".json");
  std::error_code error;
  if (folder.submitter_path.empty() || !fs::is_regular_file(path, error)) return facts;
  const json fields = json::parse(read_file(path), nullptr, false);
  if (!fields.is_object()) return facts;
  facts.division = text_field(fields, "division");
  facts.system_name = text_field(fields, "system_name");
  facts.accelerator = text_field(fields, "accelerator_model_name");
  facts.nodes = integer_field(fields, "number_of_nodes");
  const auto per_node = integer_field(fields, "accelerators_per_node");
  if (facts.nodes && per_node) facts.accelerators = *facts.nodes * *per_node;
  return facts;
}

// The factor a review committee left in the folder.
std::optional<double> committee_scaling(const fs::path& folder) {
  const fs::path path = folder / "scaling.json";
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  const json fields = json::parse(read_file(path), nullptr, false);
  const auto factor = fields.is_object() ? fields.find("scaling_factor") : fields.end();
  if (fields.is_discarded()) fail("{}: is not JSON; mend or remove it", path.string());
  if (!fields.is_object() || factor == fields.end()) {
    fail("{}: has no \"scaling_factor\"; mend or remove it", path.string());
  }
  if (!factor->is_number() || !std::isfinite(factor->get<double>())) {
    fail("{}: \"scaling_factor\" is not a number; mend or remove it", path.string());
  }
  return factor->get<double>();
}

RunScore score_run(const fs::path& path, const Score& score, compliance::RuleStore& rules) {
  RunScore run;
  run.log = path;
  const auto format =
      score.ruleset == "0.6.0" ? compliance::LogFormat::kMll : compliance::LogFormat::kMllog;
  const EventLog log(path, format);
  run.convergence = compliance::read_convergence(log, score.ruleset);
  const compliance::LogVerdict verdict =
      compliance::check_log(log, rules, score.usage, score.ruleset);
  const RunTimes times = find_run_times(log);
  run.judged = verdict.judged;
  if (!verdict.judged && !run.convergence.converged) {
    run.reason = "run_stop does not say success";
  } else if (verdict.judged && !verdict.passed()) {
    run.reason = verdict.errors.front().summary;
  } else if (!times.start_ms) {
    run.reason = "run_start is not logged";
  } else if (!times.stop_ms) {
    run.reason = "run_stop is not logged";
  } else if (!std::isfinite(*times.stop_ms - *times.start_ms)) {
    run.reason = "the time of run_start or run_stop is not a finite number";
  } else {
    run.counts = true;
    run.time_to_train_ms = *times.stop_ms - *times.start_ms;
    run.energy_joules =
        run_energy(path.parent_path() / "power" / path.stem(), run.time_to_train_ms);
  }
  return run;
}

double plain_mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Energy is averaged over the runs whose times are, so its runs are sorted by their times.
std::optional<double> mean_energy(const std::vector<RunScore>& runs, size_t failed, int dropped,
                                  Mean mean) {
  std::vector<std::pair<double, double>> by_time;
  for (const RunScore& run : runs) {
    if (!run.counts) continue;
    if (!run.energy_joules) return std::nullopt;
    by_time.emplace_back(run.time_to_train_ms, *run.energy_joules);
  }
  if (by_time.empty()) return std::nullopt;
  std::stable_sort(by_time.begin(), by_time.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto cut = mean == Mean::kOlympic ? static_cast<size_t>(dropped) : 0;
  const size_t cut_high = cut > failed ? cut - failed : 0;
  if (by_time.size() <= cut + cut_high) return std::nullopt;
  double sum = 0;
  for (size_t i = cut; i < by_time.size() - cut_high; ++i) sum += by_time[i].second;
  return sum / static_cast<double>(by_time.size() - cut - cut_high);
}

// The factor on the score: what a review committee decided, else what the convergence check asks
// for.
void set_scaling(Score& score, const fs::path& rcp_directory) {
  std::vector<compliance::RunConvergence> runs;
  for (const RunScore& run : score.runs) runs.push_back(run.convergence);
  const auto folder = compliance::combine(runs);
  score.batch_size = folder.batch_size;
  if (score.system.division == "closed") {
    score.rcp = compliance::check_rcp(folder, rcp_directory, score.usage, score.ruleset,
                                      compliance::RcpPass::kPruned);
  } else {
    score.rcp.message = "Only the closed division is held to reference convergence";
  }
  score.committee_scaling = committee_scaling(score.folder.path).value_or(1);
}

void set_mean(Score& score) {
  const int dropped = compliance::dropped_runs(score.folder.benchmark);
  std::vector<double> times;
  std::vector<double> epochs;
  for (const RunScore& run : score.runs) {
    if (run.counts) times.push_back(run.time_to_train_ms);
    if (run.convergence.converged && run.convergence.problem.empty())
      epochs.push_back(run.convergence.epochs);
  }
  const size_t failed = score.runs.size() - times.size();
  score.runs_needed = compliance::result_file_count(score.usage, score.folder.benchmark);
  const bool enough = score.runs_needed > 0
                          ? score.runs.size() >= static_cast<size_t>(score.runs_needed)
                          : score.runs.size() > 2 * static_cast<size_t>(dropped);
  if (enough) {
    score.unscaled_ms = olympic_score(times, failed, dropped);
    score.mean = score.unscaled_ms ? Mean::kOlympic : Mean::kNone;
  } else if (!times.empty()) {
    score.unscaled_ms = plain_mean(times);
    score.mean = Mean::kPlain;
  }
  std::sort(epochs.begin(), epochs.end());
  if (!epochs.empty()) {
    const bool olympic = enough && epochs.size() > 2 * static_cast<size_t>(dropped);
    score.samples_to_converge =
        olympic ? compliance::olympic_mean(epochs, dropped) : plain_mean(epochs);
  }
  score.energy_joules = mean_energy(score.runs, failed, dropped, score.mean);
}

void set_rates(Score& score) {
  if (score.unscaled_ms) {
    score.time_to_train_ms = *score.unscaled_ms * score.committee_scaling;
    const bool scales = score.rcp.judged && score.rcp.passed && score.rcp.scaling > 1;
    score.rcp_scaled_ms = *score.unscaled_ms * (scales ? score.rcp.scaling : 1);
  }
  if (score.energy_joules) score.energy_joules = *score.energy_joules * score.committee_scaling;
  if (score.folder.benchmark != "bert" || !score.samples_to_converge || !score.unscaled_ms ||
      *score.unscaled_ms <= 0)
    return;
  // Some logs count epochs where BERT's count samples; a run of less than one batch is such a log.
  if (*score.samples_to_converge < score.batch_size.value_or(1)) return;
  score.sequences_per_second = *score.samples_to_converge / (*score.unscaled_ms / 1000);
  const auto accelerators = score.system.accelerators;
  if (accelerators && *accelerators > 0) {
    score.sequences_per_second_per_accelerator =
        *score.sequences_per_second / static_cast<double>(*accelerators);
  }
}

}  // namespace

size_t Score::counting_runs() const {
  return static_cast<size_t>(
      std::count_if(runs.begin(), runs.end(), [](const RunScore& run) { return run.counts; }));
}

RunTimes find_run_times(const EventLog& log) {
  RunTimes times;
  log.visit([&](const compliance::Event& event) {
    if (event.key == "run_start") times.start_ms = event.time_ms;
    if (event.key == "run_stop") times.stop_ms = event.time_ms;
    return !(times.start_ms && times.stop_ms);
  });
  return times;
}

std::optional<double> olympic_score(std::vector<double> times, size_t failed, int dropped) {
  const auto cut = static_cast<size_t>(dropped);
  if (failed > cut || times.size() + failed <= 2 * cut) return std::nullopt;
  std::sort(times.begin(), times.end());
  double sum = 0;
  const size_t end = times.size() - (cut - failed);
  for (size_t i = cut; i < end; ++i) sum += times[i];
  return sum / static_cast<double>(end - cut);
}

std::vector<Score> score_directory(const fs::path& directory, const ScoreOptions& options) {
  const auto rules = options.rules.empty() ? std::make_unique<compliance::RuleStore>()
                                           : std::make_unique<compliance::RuleStore>(options.rules);
  std::vector<Score> scores;
  struct Job {
    size_t score;
    size_t run;
  };
  std::vector<Job> jobs;
  for (auto& folder : compliance::find_result_folders(directory)) {
    if (folder.path.parent_path().filename() == "power" || folder.path.filename() == "power")
      continue;
    Score score;
    const EventLog first(folder.logs.front(), compliance::LogFormat::kMllog);
    const auto choice = compliance::infer_ruleset(first, options.usage, options.ruleset);
    score.usage = choice.usage;
    score.ruleset = choice.ruleset;
    score.ground = choice.ground;
    if (!rules->has_ruleset(score.usage, score.ruleset)) {
      fail("{}: {} have no ruleset {} for {} (chosen: {}); there are: {}", folder.path.string(),
           rules->description(), score.ruleset, score.usage, score.ground,
           fmt::join(rules->rulesets(score.usage), ", "));
    }
    score.system = read_system(folder);
    score.runs.resize(folder.logs.size());
    for (size_t run = 0; run < folder.logs.size(); ++run) jobs.push_back({scores.size(), run});
    score.folder = std::move(folder);
    scores.push_back(std::move(score));
  }
  if (scores.empty()) fail("{}: no result_*.txt under it", directory.string());
  std::atomic<size_t> done{0};
  parallel_for(jobs.size(), options.threads, [&](size_t i) {
    Score& score = scores[jobs[i].score];
    score.runs[jobs[i].run] = score_run(score.folder.logs[jobs[i].run], score, *rules);
    if (options.progress) options.progress(++done, jobs.size());
  });
  for (Score& score : scores) {
    set_scaling(score, options.rcp);
    set_mean(score);
    set_rates(score);
  }
  return scores;
}

}  // namespace strata::results
