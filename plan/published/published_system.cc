#include "plan/published/published_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/numbers/statistics.h"
#include "base/text/counts.h"
#include "base/text/lower_case.h"
#include "base/timing.h"
#include "compliance/checks/rounds.h"
#include "plan/published/published_run.h"
#include "scoring/score.h"

namespace strata::plan {
namespace {

namespace fs = std::filesystem;
using compliance::ResultFolder;

// Returns the mean without the least and the most, if others are left.
double trimmed_mean(std::vector<double> values) {
  std::ranges::sort(values);
  if (values.size() > 2) values = {values.begin() + 1, values.end() - 1};
  return mean(values);
}

// ---- The description

void read_description(const ResultFolder& folder, PublishedSystem& system) {
  if (folder.submitter_path.empty()) {
    fail("{}: is not in SUBMITTER/results/SYSTEM/bert, so the number of accelerators is unknown",
         folder.path.string());
  }
  const fs::path path = folder.submitter_path / "systems" / (folder.system + ".json");
  std::string problem, unread;
  const scoring::SystemFacts facts = scoring::read_system_facts(path, problem, unread);
  if (!problem.empty()) fail("{}; it must say how many accelerators there are", problem);
  constexpr int64_t kMost = 1 << 20;
  // Without accelerators, processors train.
  const bool on_processors = facts.accelerators == 0;
  const auto ranks = on_processors ? facts.processors : facts.accelerators;
  if (!facts.nodes || !ranks || *facts.nodes < 1 || *ranks < 1 || *ranks > kMost) {
    fail(
        "{}: number_of_nodes and accelerators_per_node (if that is 0, host_processors_per_node) "
        "must be numbers above 0",
        path.string());
  }
  system.accelerator = on_processors ? facts.processor : facts.accelerator;
  system.network = facts.networking;
  system.framework = facts.framework;
  system.division = facts.division;
  system.step.nodes = *facts.nodes;
  system.step.ranks = *ranks;
}

// ---- The runs

std::vector<PublishedRun> usable_runs(const ResultFolder& folder, PublishedSystem& system) {
  std::vector<PublishedRun> runs;
  for (const fs::path& log : folder.logs) {
    PublishedRun run = read_published_run(log);
    if (run.problem.empty() && !runs.empty() && run.batch != runs.front().batch) {
      run.problem = fmt::format("global_batch_size is {}, but {} in other logs", run.batch,
                                runs.front().batch);
    }
    if (run.problem.empty()) {
      runs.push_back(std::move(run));
    } else {
      system.left_out.push_back(fmt::format("{}: {}", log.string(), run.problem));
    }
  }
  if (runs.empty()) {
    fail("{}: none of its logs can be used: {}; see 'strata check log'", folder.path.string(),
         first_and_count(system.left_out, "log"));
  }
  return runs;
}

// Sets the steps between evaluations and their mean seconds over all runs.
void set_steps(const std::vector<PublishedRun>& runs, MeasuredStep& step) {
  std::vector<double> seconds, steps;
  for (const PublishedRun& run : runs) {
    for (size_t i = 1; i < run.evaluations.size(); ++i) {
      const EvaluationTime &from = run.evaluations[i - 1], &to = run.evaluations[i];
      const double count = (to.samples - from.samples) / run.batch;
      if (count < 1 || to.seconds <= from.seconds) continue;
      steps.push_back(count);
      seconds.push_back((to.seconds - from.seconds) / count);
    }
  }
  if (seconds.empty()) fail("{}: there are no steps between any two evaluations", step.name);
  step.seconds = median(seconds);
  step.steps_per_evaluation = mean(steps);
}

void set_evaluation(const std::vector<PublishedRun>& runs, MeasuredStep& step) {
  std::vector<double> seconds;
  for (const PublishedRun& run : runs) {
    if (run.evaluation_seconds) seconds.push_back(*run.evaluation_seconds);
  }
  if (seconds.empty()) return;
  // Steps take most of the time between evaluations; otherwise the log's blocks are something else.
  constexpr double kMostShare = 0.5;
  const double evaluation = median(seconds);
  if (evaluation < kMostShare * step.seconds * step.steps_per_evaluation) {
    step.evaluation_seconds = evaluation;
  }
}

// Returns the first evaluation's time without its steps, which are assumed as fast as later ones.
double start_of(const PublishedRun& run) {
  const EvaluationTime &first = run.evaluations.front(), &last = run.evaluations.back();
  const double pace = (last.seconds - first.seconds) / (last.samples - first.samples);
  return first.seconds - pace * first.samples;
}

void set_totals(const std::vector<PublishedRun>& runs, size_t failed, PublishedSystem& system) {
  std::vector<double> starts, samples, seconds;
  for (const PublishedRun& run : runs) {
    starts.push_back(start_of(run));
    samples.push_back(run.samples());
    seconds.push_back(run.seconds);
  }
  system.runs = runs.size();
  system.start = std::max(0.0, median(starts));
  system.samples = trimmed_mean(samples);
  system.samples_stdev = samples.empty() ? 0 : sample_deviation(samples);
  constexpr int kDropped = 1;
  system.time_to_train =
      scoring::olympic_score(seconds, failed, kDropped).value_or(trimmed_mean(seconds));
}

// ---- Folders

bool is_bert(const ResultFolder& folder) { return folder.benchmark == "bert"; }

std::vector<ResultFolder> bert_folders_in(const fs::path& path) {
  std::vector<ResultFolder> folders = compliance::find_result_folders(path);
  std::erase_if(folders, std::not_fn(is_bert));
  return folders;
}

}  // namespace

// Returns the first word with a digit. Words end at blanks, hyphens and brackets.
std::string PublishedSystem::generation() const {
  std::string word;
  for (const char c : accelerator + ' ') {
    if (c != ' ' && c != '-' && c != '(' && c != '/' && c != '_') {
      word += c;
      continue;
    }
    const auto is_digit = [](unsigned char letter) { return std::isdigit(letter) != 0; };
    if (word.size() > 1 && std::ranges::any_of(word, is_digit)) return word;
    word.clear();
  }
  return accelerator;
}

std::string PublishedSystem::form_factor() const {
  const std::string model = lower_case(accelerator);
  for (const char* form : {"SXM", "PCIe", "OAM", "NVL"}) {
    if (model.find(lower_case(form)) != std::string::npos) return form;
  }
  return "";
}

PublishedSystem read_published_system(const ResultFolder& folder) {
  PublishedSystem system;
  system.name = folder.owner();
  system.submitter = folder.submitter;
  read_description(folder, system);
  const std::vector<PublishedRun> runs = usable_runs(folder, system);
  system.round = compliance::infer_ruleset(
                     mllog::LogReader(runs.front().log, mllog::LogFormat::kMllog), "training", "")
                     .ruleset;
  if (system.division.empty()) system.division = runs.front().division;
  system.step.name = system.name;
  system.step.batch = runs.front().batch;
  system.step.micro_batches = runs.front().micro_batches;
  set_steps(runs, system.step);
  set_evaluation(runs, system.step);
  set_totals(runs, folder.logs.size() - runs.size(), system);
  return system;
}

std::vector<ResultFolder> find_bert_folders(const fs::path& path) {
  std::error_code ignored;
  std::vector<ResultFolder> folders;
  if (fs::is_directory(path, ignored)) {
    folders = bert_folders_in(path);
  } else if (fs::is_directory(path.parent_path(), ignored)) {
    folders = bert_folders_in(path.parent_path());
    std::erase_if(folders,
                  [&](const ResultFolder& folder) { return folder.system != path.filename(); });
  } else {
    fail(
        "{}: is {}; name a round, a submitter, a system of a round (v2.0/dgxa100_n8) or a folder "
        "of result_N.txt",
        path.string(), what_is_at(path));
  }
  if (folders.empty()) fail("{}: holds no folder bert with result_N.txt", path.string());
  return folders;
}

}  // namespace strata::plan
