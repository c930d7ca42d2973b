// All that a report shows, read from result folders.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compare/run_phases.h"
#include "compliance/checks/remark.h"
#include "drawing/owner.h"
#include "report/runs/settings.h"
#include "report/runs/step_trace.h"
#include "results/curves.h"
#include "results/score.h"

namespace strata::report {

// What a run's log and its neighbours tell beyond its score.
struct ReportedRun {
  results::Curve curve;
  std::optional<compare::RunPhases> phases;
  bool has_ended = false;  // its log has a run_stop
  std::vector<TracedStep> steps;
};

// A result folder: one benchmark on one system.
struct ReportedFolder {
  drawing::Owner owner;  // of all folders of this system
  std::string benchmark;
  bool beside = false;  // shown beside the others, in grey
  results::Score score;
  std::vector<ReportedRun> runs;  // as in score.runs
  // Findings of the review, as `strata check package` prints them.
  std::vector<compliance::Remark> review;
  Settings settings;
};

struct ReportData {
  std::vector<ReportedFolder> folders;  // by benchmark, the fastest first, those without score last
  std::vector<std::string> systems;     // names by Owner::system
  std::vector<std::string> benchmarks;  // in order of name
  // What could not be read, a line each; the rest is shown.
  std::vector<std::string> problems;
};

struct ReportInput {
  std::vector<std::filesystem::path> directories;
  std::vector<std::filesystem::path> beside;  // rounds that the others are held against
  std::string benchmark;                      // empty: all
  results::ScoreOptions score;                // its problems and progress aside
  std::function<void(size_t done, size_t total)> progress;
};

// Throws Error where a directory is not there, holds no logs, or nothing is of the benchmark.
ReportData read_report_data(const ReportInput& input);

}  // namespace strata::report
