#include "report/runs/report_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "base/threads/parallel.h"
#include "compliance/checks/rounds.h"
#include "compliance/review/described_system.h"
#include "compliance/review/folder_review.h"
#include "compliance/review/review.h"
#include "compliance/review/run_windows.h"
#include "scoring/system_names.h"

namespace strata::report {
namespace {

namespace fs = std::filesystem;
using mllog::LogReader;

// Collects the review of a folder whose runs may be read in any order.
struct FolderReview {
  compliance::ReviewedFolder folder;
  compliance::DescribedSystem system;
  std::vector<compliance::RunRecord> runs;
  std::vector<std::vector<compliance::ReviewFinding>> findings;  // findings about each run

  explicit FolderReview(const scoring::Score& score)
      : folder{score.usage, score.ruleset, score.folder.benchmark, score.folder.weak_scaling},
        runs(score.runs.size()),
        findings(score.runs.size()) {
    const fs::path& submitter = score.folder.submitter_path;
    if (submitter.empty()) return;
    system = compliance::described_system(submitter / "systems" / (score.folder.system + ".json"));
  }

  void read(size_t i, const LogReader& log) {
    compliance::ReviewedRun run = compliance::review_run(log, folder, system);
    runs[i] = std::move(run.record);
    findings[i] = std::move(run.findings);
  }

  std::vector<compliance::ReviewFinding> end() {
    return compliance::review_folder(folder, std::move(findings), runs).findings;
  }
};

// Reads the data of one run. Whatever cannot be read is a problem, not the end.
class FolderReader {
 public:
  FolderReader(ReportedFolder& folder, FolderReview& review, std::mutex& mutex,
               std::vector<std::string>& problems)
      : folder_(folder), review_(review), mutex_(mutex), problems_(problems) {}

  void read_run(size_t i) {
    const fs::path& log = folder_.score.runs[i].log;
    ReportedRun& run = folder_.runs[i];
    run.curve.log = log;
    Settings settings;
    guarded([&] { read_log(i, log, run, settings); });
    guarded([&] { add_configuration(log, settings); });
    guarded([&] {
      StepTrace trace = read_step_trace_of(log);
      run.steps = std::move(trace.steps);
      // One unfinished line is no problem: a run may be writing it.
      if (trace.other_lines > 1) {
        note(fmt::format("{}: {} of its step trace are not steps", log.string(),
                         counted(trace.other_lines, "line")));
      }
    });
    const std::lock_guard lock(mutex_);
    for (const auto& [name, value] : settings) add_setting(folder_.settings, name, value);
  }

  void read_system() {
    const compliance::ResultFolder& folder = folder_.score.folder;
    if (folder.submitter_path.empty()) return;
    guarded([&] {
      add_system_description(folder.submitter_path / "systems" / (folder.system + ".json"),
                             folder_.settings);
    });
  }

 private:
  void read_log(size_t i, const fs::path& path, ReportedRun& run, Settings& settings) {
    const auto format =
        folder_.score.ruleset == "0.6.0" ? mllog::LogFormat::kMll : mllog::LogFormat::kMllog;
    const LogReader log(path, format);
    run.curve = scoring::read_curve(log, folder_.score.folder.benchmark);
    run.phases = compare::read_phases(log);
    run.has_ended = scoring::find_run_times(log).stop_ms.has_value();
    add_log_settings(log, settings);
    if (!folder_.beside) review_.read(i, log);
  }

  void note(std::string problem) {
    const std::lock_guard lock(mutex_);
    problems_.push_back(std::move(problem));
  }
  template <typename Work>
  void guarded(const Work& work) {
    try {
      work();
    } catch (const Error& error) {
      note(error.what());
    }
  }

  ReportedFolder& folder_;
  FolderReview& review_;
  std::mutex& mutex_;
  std::vector<std::string>& problems_;
};

void add_folders(const fs::path& directory, bool beside, const ReportInput& input,
                 std::set<fs::path>& seen, ReportData& data) {
  scoring::ScoreOptions options = input.score;
  options.problems = &data.problems;
  options.progress = input.progress;
  for (scoring::Score& score : scoring::score_directory(directory, options)) {
    if (!seen.insert(fs::weakly_canonical(score.folder.path)).second) continue;
    ReportedFolder folder;
    folder.benchmark = scoring::benchmark_of(score);
    folder.beside = beside;
    folder.runs.resize(score.runs.size());
    folder.score = std::move(score);
    if (input.benchmark.empty() || folder.benchmark == input.benchmark) {
      data.folders.push_back(std::move(folder));
    }
  }
}

// Times to one target are not compared with times to another. A folder that names no target is
// grouped with the others if these share one.
void group_by_target(ReportData& data) {
  std::map<std::string, std::set<double>> targets;
  for (const ReportedFolder& folder : data.folders) {
    if (folder.score.target) targets[folder.benchmark].insert(*folder.score.target);
  }
  for (ReportedFolder& folder : data.folders) {
    folder.group = folder.benchmark;
    if (targets[folder.benchmark].size() < 2) continue;
    const std::optional<double>& target = folder.score.target;
    folder.group += target ? fmt::format(", target {:.6g}", *target) : ", target unknown";
  }
}

void read_runs(ReportData& data, unsigned threads) {
  std::vector<std::pair<ReportedFolder*, size_t>> jobs;
  for (ReportedFolder& folder : data.folders) {
    for (size_t i = 0; i < folder.runs.size(); ++i) jobs.emplace_back(&folder, i);
  }
  std::mutex mutex;
  std::map<const ReportedFolder*, FolderReview> reviews;
  for (const ReportedFolder& folder : data.folders) reviews.try_emplace(&folder, folder.score);
  parallel_for(jobs.size(), threads, [&](size_t job) {
    auto& [folder, run] = jobs[job];
    FolderReader(*folder, reviews.at(folder), mutex, data.problems).read_run(run);
  });
  for (ReportedFolder& folder : data.folders) {
    FolderReview& review = reviews.at(&folder);
    FolderReader(folder, review, mutex, data.problems).read_system();
    if (!folder.beside) folder.review = review.end();
  }
}

std::vector<std::string> names_of(const ReportData& data) {
  std::vector<const compliance::ResultFolder*> folders;
  for (const ReportedFolder& folder : data.folders) folders.push_back(&folder.score.folder);
  const std::vector<std::string> places = scoring::distinguishing_places(folders);
  std::vector<std::string> names;
  for (size_t i = 0; i < folders.size(); ++i) {
    names.push_back(scoring::name_with_place(*folders[i], places[i]));
  }
  return names;
}

// Returns the minutes at which the median run was last evaluated, or infinity without evaluations.
double median_end_of(const ReportedFolder& folder) {
  std::vector<const scoring::Curve*> runs;
  for (const ReportedRun& run : folder.runs) {
    if (!run.curve.evaluations.empty()) runs.push_back(&run.curve);
  }
  if (runs.empty()) return std::numeric_limits<double>::infinity();
  return runs[scoring::median_run(runs)]->evaluations.back().minutes;
}

// Returns the colours that `strata plot curves` would give to the systems, except those shown
// beside. With several benchmarks a system's first one decides.
std::map<std::string, int> colours_of(const ReportData& data,
                                      const std::vector<std::string>& names) {
  std::vector<std::tuple<std::string, double, size_t>> order;
  for (size_t i = 0; i < names.size(); ++i) {
    const ReportedFolder& folder = data.folders[i];
    if (!folder.beside) order.emplace_back(folder.group, median_end_of(folder), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<drawing::NamedSystem> systems;
  std::set<std::string> seen;
  for (const auto& [benchmark, end, i] : order) {
    if (seen.insert(names[i]).second) {
      systems.push_back({names[i], data.folders[i].score.folder.submitter});
    }
  }
  const std::vector<int> colours = drawing::colours_for(systems);
  std::map<std::string, int> colour_of;
  for (size_t i = 0; i < systems.size(); ++i) colour_of[systems[i].name] = colours[i];
  return colour_of;
}

void name_systems(ReportData& data) {
  const std::vector<std::string> names = names_of(data);
  const std::map<std::string, int> colours = colours_of(data, names);
  std::map<std::string, int> number_of;
  for (size_t i = 0; i < data.folders.size(); ++i) {
    ReportedFolder& folder = data.folders[i];
    const auto [number, first] = number_of.emplace(names[i], static_cast<int>(data.systems.size()));
    if (first) data.systems.push_back(names[i]);
    folder.owner = {number->second, folder.beside ? -1 : colours.at(names[i]), names[i]};
  }
}

}  // namespace

ReportData read_report_data(const ReportInput& input) {
  ReportData data;
  std::set<fs::path> seen;
  for (const fs::path& directory : input.directories) {
    add_folders(directory, false, input, seen, data);
  }
  for (const fs::path& directory : input.beside) add_folders(directory, true, input, seen, data);
  if (data.folders.empty()) {
    fail("{}: there are no runs{} to report", input.directories.front().string(),
         input.benchmark.empty() ? "" : fmt::format(" of the benchmark '{}'", input.benchmark));
  }
  group_by_target(data);
  read_runs(data, input.score.threads);
  const auto order = [](const ReportedFolder& folder) {
    const auto& time = folder.score.time_to_train_ms;
    return std::make_tuple(std::cref(folder.group), !time.has_value(), time.value_or(0));
  };
  std::stable_sort(
      data.folders.begin(), data.folders.end(),
      [&](const ReportedFolder& a, const ReportedFolder& b) { return order(a) < order(b); });
  name_systems(data);
  std::set<std::string> groups;
  for (const ReportedFolder& folder : data.folders) groups.insert(folder.group);
  data.groups.assign(groups.begin(), groups.end());
  std::sort(data.problems.begin(), data.problems.end());
  data.problems.erase(std::unique(data.problems.begin(), data.problems.end()), data.problems.end());
  return data;
}

}  // namespace strata::report
