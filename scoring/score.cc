#include "scoring/score.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "base/files/files.h"
#include "base/numbers/statistics.h"
#include "base/text/counts.h"
#include "base/threads/parallel.h"
#include "compliance/checks/published_target.h"
#include "compliance/checks/rounds.h"
#include "compliance/checks/workload_points.h"
#include "compliance/review/clock.h"
#include "compliance/sources/installed.h"
#include "mllog/python_digits.h"
#include "scoring/energy.h"
#include "scoring/weak_score.h"

namespace strata::scoring {
namespace {

namespace fs = std::filesystem;
using mllog::LogReader;
using nlohmann::json;

constexpr uint64_t kMostJsonBytes = 1 << 20;

// Returns Python's int() of a field, since descriptions give numbers as numbers or strings. Empty
// if int() refuses it, or beyond 64 bits.
std::optional<int64_t> integer_field(const json& fields, const char* name) {
  const auto found = fields.find(name);
  if (found == fields.end()) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>() ? 1 : 0;
  if (found->is_number_unsigned() && found->get<uint64_t>() > INT64_MAX) return std::nullopt;
  if (found->is_number_integer()) return found->get<int64_t>();
  if (found->is_number_float()) {
    constexpr double kBeyond = 9.2e18;
    const double number = found->get<double>();
    if (!(std::fabs(number) < kBeyond)) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (!found->is_string()) return std::nullopt;
  const auto digits = mllog::python_int(found->get<std::string>());
  int64_t number = 0;
  if (!digits ||
      std::from_chars(digits->data(), digits->data() + digits->size(), number).ec != std::errc()) {
    return std::nullopt;
  }
  return number;
}

// Keeps the message of an I/O error.
void note_unread(const std::exception& error, std::string& unread) {
  if (dynamic_cast<const ReadError*>(&error) != nullptr) unread = error.what();
}

// Reads a small JSON file. Returns a discarded value, with the reason, if it cannot be read or is
// not JSON.
json read_json(const fs::path& path, std::string& problem, std::string& unread) {
  json fields(json::value_t::discarded);
  try {
    fields = json::parse(read_file(path, kMostJsonBytes), nullptr, false);
    if (fields.is_discarded()) problem = fmt::format("{}: is not JSON", path.string());
  } catch (const Error& error) {
    problem = error.what();
    note_unread(error, unread);
  }
  return fields;
}

std::string text_field(const json& fields, const char* name) {
  const auto found = fields.find(name);
  return found != fields.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Returns the factor in the folder's scaling.json, or 1 without this file. Also returns 1, with the
// reason, if the file has no factor.
double committee_scaling(const fs::path& folder, std::string& problem, std::string& unread) {
  const fs::path path = folder / "scaling.json";
  if (is_missing(path)) return 1;
  const json fields = read_json(path, problem, unread);
  if (!problem.empty()) return 1;
  const auto factor = fields.is_object() ? fields.find("scaling_factor") : fields.end();
  if (!fields.is_object() || factor == fields.end()) {
    problem = fmt::format("{}: has no \"scaling_factor\"", path.string());
    return 1;
  }
  const double number =
      factor->is_number() ? factor->get<double>() : std::numeric_limits<double>::quiet_NaN();
  if (!std::isfinite(number) || number <= 0) {
    problem =
        fmt::format("{}: \"scaling_factor\" is {}, a number above 0 was expected", path.string(),
                    factor->dump(-1, ' ', true, json::error_handler_t::replace));
    return 1;
  }
  return number;
}

void read_energy(RunScore& run) {
  const fs::path power = run.log.parent_path() / "power" / run.log.stem();
  try {
    run.energy_joules = run_energy(power, run.time_to_train_ms);
    if (run.energy_joules && !std::isfinite(*run.energy_joules)) {
      run.energy_joules.reset();
      run.energy_problem =
          fmt::format("{}: the sum of the power readings is not finite", power.string());
    }
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    run.energy_problem = error.what();
    note_unread(error, run.unread);
  }
}

// Shortens a found text for a reason.
std::string cut(const std::string& found) {
  constexpr size_t kShown = 120;
  return found.size() <= kShown ? found : found.substr(0, kShown) + "...";
}

std::string broken_rule(const compliance::Finding& finding) {
  const std::string found = compliance::found_beyond_summary(finding);
  const std::string_view colon = finding.summary.ends_with(':') ? "" : ":";
  return finding.summary + (found.empty() ? "" : fmt::format("{} {}", colon, cut(found)));
}

bool is_weak(const Score& score) { return score.usage == "hpc" && score.folder.weak_scaling; }

void read_run(RunScore& run, const Score& score, compliance::RuleStore& rules) {
  const auto format = score.ruleset == "0.6.0" ? mllog::LogFormat::kMll : mllog::LogFormat::kMllog;
  const LogReader log(run.log, format);
  run.convergence = compliance::read_convergence(log, score.ruleset);
  run.settings = compliance::read_settings(log);
  const compliance::LogVerdict verdict =
      compliance::check_log(log, rules, score.usage, score.ruleset);
  const RunTimes times = find_run_times(log);
  run.not_judged = verdict.not_judged;
  run.start_ms = times.start_ms;
  if (times.start_ms) run.odd_time = compliance::odd_time_text(*times.start_ms);
  if (is_weak(score)) run.instance_scale = read_instance_scale(log);
  if (times.start_ms && times.stop_ms && std::isfinite(*times.stop_ms - *times.start_ms)) {
    run.duration_ms = *times.stop_ms - *times.start_ms;
  }
  run.rules = verdict.rules;
  if (verdict.outcome() == compliance::Outcome::kFailed) {
    for (const compliance::Finding& finding : verdict.errors) {
      if (run.broken_rules.size() < kMostBrokenRules) {
        run.broken_rules.push_back(broken_rule(finding));
      }
    }
    run.reason = log.event_count() == 0 && log.bad_line_count() == 0
                     ? log.why_no_token() + ", so it is not an MLPerf log"
                     : run.broken_rules.front();
  } else if (!times.start_ms) {
    run.reason = "run_start is not logged";
  } else if (!times.stop_ms) {
    run.reason = "run_stop is not logged";
  } else if (!compliance::says_success(log)) {
    run.reason = "run_stop does not say success";
  } else if (!run.duration_ms) {
    run.reason = "the time of run_start or run_stop is not a finite number";
  } else if (*run.duration_ms <= 0) {
    run.reason = "the time of run_stop is not later than that of run_start";
  } else {
    run.counts = true;
    run.time_to_train_ms = *run.duration_ms;
    read_energy(run);
  }
}

// Any problem with the log becomes the reason why it does not count.
RunScore score_run(const fs::path& path, const Score& score, compliance::RuleStore& rules) {
  RunScore run;
  run.log = path;
  try {
    read_run(run, score, rules);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    note_unread(error, run.unread);
    run.counts = false;
    run.reason = run.convergence.problem = error.what();
  }
  return run;
}

// Averages energy over the runs of the mean time, so it sorts runs by their times.
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

// Sets the factor on the score: the one in scaling.json, or with `scale` the convergence check's.
void set_scaling(Score& score, const ScoreOptions& options) {
  std::vector<compliance::RunConvergence> runs;
  for (const RunScore& run : score.runs) runs.push_back(run.convergence);
  const auto folder = compliance::combine(runs);
  score.batch_size = folder.batch_size;
  score.held_to_rcp =
      score.system.division == "closed" || compliance::find_workload_points(folder) != nullptr;
  if (score.held_to_rcp || options.scale) {
    score.rcp = compliance::check_rcp(folder, options.rcp, score.usage, score.ruleset,
                                      compliance::RcpPass::kPruned, options.other_rcp);
  } else {
    score.rcp.message = "Only the closed division is checked for reference convergence";
  }
  score.committee_scaling =
      committee_scaling(score.folder.path, score.scaling_problem, score.unread);
  if (options.scale && score.rcp.judged) {
    score.committee_scaling = score.rcp.passed ? score.rcp.scaling : 1;
    score.scaling_problem.clear();
  }
}

void set_target(Score& score) {
  std::vector<compliance::RunSettings> runs;
  for (const RunScore& run : score.runs) runs.push_back(run.settings);
  bool mixed = false;
  for (const auto& differing : compliance::differing_settings(runs)) {
    score.differing_settings.push_back(differing.describe());
    mixed = mixed || differing.kind == compliance::SettingKind::kTarget;
  }
  for (const auto& run : runs) {
    if (!mixed && run.target()) score.target = run.target();
  }
  if (mixed || score.target || score.usage != "training" || score.system.division == "open") return;
  score.target = compliance::published_target(benchmark_of(score), score.ruleset);
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
    score.unscaled_ms = mean(times);
    score.mean = Mean::kPlain;
  }
  std::sort(epochs.begin(), epochs.end());
  if (!epochs.empty()) {
    const bool olympic = enough && epochs.size() > 2 * static_cast<size_t>(dropped);
    score.samples_to_converge = olympic ? compliance::olympic_mean(epochs, dropped) : mean(epochs);
  }
  score.energy_joules = mean_energy(score.runs, failed, dropped, score.mean);
}

void set_rates(Score& score) {
  if (score.unscaled_ms) {
    score.time_to_train_ms = *score.unscaled_ms * score.committee_scaling;
    const bool scales = score.rcp.passed && score.rcp.scaling > 1;
    if (score.rcp.judged)
      score.rcp_scaled_ms = *score.unscaled_ms * (scales ? score.rcp.scaling : 1);
  }
  if (score.energy_joules) score.energy_joules = *score.energy_joules * score.committee_scaling;
  if (score.folder.benchmark != "bert" || !score.samples_to_converge || !score.unscaled_ms ||
      *score.unscaled_ms <= 0)
    return;
  // Some BERT logs count epochs instead of samples: those with fewer than a batch's samples.
  if (*score.samples_to_converge < score.batch_size.value_or(1)) return;
  score.sequences_per_second = *score.samples_to_converge / (*score.unscaled_ms / 1000);
  const auto accelerators = score.system.accelerators;
  if (accelerators && *accelerators > 0) {
    score.sequences_per_second_per_accelerator =
        *score.sequences_per_second / static_cast<double>(*accelerators);
  }
}

void add_unread(const Score& score, compliance::ListingProblems& problems) {
  if (!score.unread.empty()) problems.push_back(score.unread);
  for (const RunScore& run : score.runs) {
    if (!run.unread.empty()) problems.push_back(run.unread);
  }
}

// Returns what could not be read, as an addition to a message.
std::string unread(const compliance::ListingProblems* problems) {
  if (!problems || problems->empty()) return "";
  return fmt::format(" ({})", first_and_count(*problems, "problem"));
}

// Chooses the ruleset of a folder by the first of its logs that allows it. Returns the reason if
// there is none.
std::string choose_ruleset(const compliance::ResultFolder& folder, const ScoreOptions& options,
                           const compliance::RuleStore& rules, Score& score) {
  std::string problem;
  for (const fs::path& log : folder.logs) {
    try {
      const auto choice = compliance::infer_ruleset(LogReader(log, mllog::LogFormat::kMllog),
                                                    options.usage, options.ruleset);
      score.usage = choice.usage;
      score.ruleset = choice.ruleset;
      score.ground = choice.ground;
      problem.clear();
      break;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      if (problem.empty()) problem = error.what();
    }
  }
  if (!problem.empty()) return problem;
  try {
    compliance::require_round(rules, score.usage, score.ruleset);
  } catch (const Error& error) {
    problem = fmt::format("{}: {}", folder.path.string(), error.what());
  }
  return problem;
}

}  // namespace

size_t Score::counting_runs() const {
  return static_cast<size_t>(
      std::count_if(runs.begin(), runs.end(), [](const RunScore& run) { return run.counts; }));
}

std::vector<bool> runs_in_mean(const Score& score) {
  std::vector<bool> in_mean(score.runs.size(), false);
  std::vector<std::pair<double, size_t>> by_time;
  for (size_t i = 0; i < score.runs.size(); ++i) {
    if (score.runs[i].counts) by_time.emplace_back(score.runs[i].time_to_train_ms, i);
  }
  std::sort(by_time.begin(), by_time.end());
  size_t begin = 0, end = score.mean == Mean::kNone ? 0 : by_time.size();
  if (score.mean == Mean::kOlympic) {
    // Failed runs count as the slowest.
    const auto cut = static_cast<size_t>(compliance::dropped_runs(score.folder.benchmark));
    begin = cut;
    end -= cut - (score.runs.size() - by_time.size());
  }
  for (size_t i = begin; i < end; ++i) in_mean[by_time[i].second] = true;
  return in_mean;
}

compliance::RuleIdentity Score::rules() const {
  for (const RunScore& run : runs) {
    if (!run.rules.source.empty()) return run.rules;
  }
  return {};
}

std::string benchmark_of(const Score& score) {
  for (const RunScore& run : score.runs) {
    if (!run.convergence.benchmark.empty()) return run.convergence.benchmark;
  }
  return score.folder.benchmark;
}

RunTimes find_run_times(const LogReader& log) {
  RunTimes times;
  log.visit([&](const mllog::Event& event) {
    if (event.key == "run_start") times.start_ms = event.time_ms;
    if (event.key == "run_stop") times.stop_ms = event.time_ms;
    return !(times.start_ms && times.stop_ms);
  });
  return times;
}

SystemFacts read_system_facts(const fs::path& description, std::string& problem,
                              std::string& unread) {
  SystemFacts facts;
  const json fields = read_json(description, problem, unread);
  if (!fields.is_object()) {
    if (problem.empty()) problem = fmt::format("{}: is not a JSON object", description.string());
    return facts;
  }
  facts.division = text_field(fields, "division");
  facts.system_name = text_field(fields, "system_name");
  facts.accelerator = text_field(fields, "accelerator_model_name");
  facts.framework = text_field(fields, "framework");
  facts.nodes = integer_field(fields, "number_of_nodes");
  const auto in_all_nodes = [&](const char* name) -> std::optional<int64_t> {
    const auto per_node = integer_field(fields, name);
    int64_t all = 0;
    if (!facts.nodes || !per_node || __builtin_mul_overflow(*facts.nodes, *per_node, &all)) {
      return std::nullopt;
    }
    return all;
  };
  facts.accelerators = in_all_nodes("accelerators_per_node");
  facts.processor = text_field(fields, "host_processor_model_name");
  facts.processors = in_all_nodes("host_processors_per_node");
  facts.networking = text_field(fields, "host_networking");
  return facts;
}

SystemFacts read_system_facts(const compliance::ResultFolder& folder, std::string& unread) {
  if (folder.submitter_path.empty()) return {};
  const fs::path description = folder.submitter_path / "systems" / (folder.system + ".json");
  std::string problem;
  SystemFacts facts = read_system_facts(description, problem, unread);
  std::error_code absent;
  if (!problem.empty() && unread.empty() && fs::exists(description, absent)) {
    facts.problem = std::move(problem);
  }
  return facts;
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
  const auto rules = compliance::open_rules(options.rules.empty() && !options.find_installed
                                                ? compliance::kBuiltIn
                                                : options.rules.string());
  std::vector<Score> scores;
  struct Job {
    size_t score;
    size_t run;
  };
  std::vector<Job> jobs;
  std::string first_problem;
  for (auto& folder : compliance::find_result_folders(directory, options.problems)) {
    if (folder.path.parent_path().filename() == "power" || folder.path.filename() == "power")
      continue;
    Score score;
    const std::string problem = choose_ruleset(folder, options, *rules, score);
    if (first_problem.empty()) first_problem = problem;
    score.system = read_system_facts(folder, score.unread);
    score.runs.resize(folder.logs.size());
    for (size_t run = 0; run < folder.logs.size(); ++run) {
      score.runs[run].log = folder.logs[run];
      score.runs[run].reason = problem;
      if (problem.empty()) jobs.push_back({scores.size(), run});
    }
    score.folder = std::move(folder);
    scores.push_back(std::move(score));
  }
  if (scores.empty()) {
    fail("{}: no result_*.txt under it{}", directory.string(), unread(options.problems));
  }
  if (jobs.empty()) throw Error(first_problem);
  std::atomic<size_t> done{0};
  parallel_for(jobs.size(), options.threads, [&](size_t i) {
    Score& score = scores[jobs[i].score];
    score.runs[jobs[i].run] = score_run(score.folder.logs[jobs[i].run], score, *rules);
    if (options.progress) options.progress(++done, jobs.size());
  });
  for (Score& score : scores) {
    set_scaling(score, options);
    set_target(score);
    if (is_weak(score)) {
      set_weak_score(score);
    } else {
      set_mean(score);
      set_rates(score);
    }
    if (options.problems) add_unread(score, *options.problems);
  }
  return scores;
}

}  // namespace strata::scoring
