// All data of a report, read from result folders.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compare/run_phases.h"
#include "compliance/checks/review_finding.h"
#include "drawing/owner.h"
#include "report/runs/settings.h"
#include "report/runs/step_trace.h"
#include "scoring/curves.h"
#include "scoring/score.h"

namespace strata::report {

// Data of a run beyond its score, from its log and the files beside it.
struct ReportedRun {
  scoring::Curve curve;
  std::optional<compare::RunPhases> phases;
  bool has_ended = false;  // its log has a run_stop
  std::vector<TracedStep> steps;
};

// A result folder: one benchmark on one system.
struct ReportedFolder {
  drawing::Owner owner;  // the same in all folders of the system
  std::string benchmark;
  // The group whose folders are compared: the benchmark, or "bert, target 0.72" if other folders of
  // the benchmark train to another target.
  std::string group;
  bool beside = false;  // shown beside the others, in grey
  scoring::Score score;
  std::vector<ReportedRun> runs;  // in the order of score.runs
  // Findings of the review, as `strata check package` prints them.
  std::vector<compliance::ReviewFinding> review;
  Settings settings;
};

struct ReportData {
  std::vector<ReportedFolder> folders;  // by group, fastest first, those without score last
  std::vector<std::string> systems;     // indexed by Owner::system
  std::vector<std::string> groups;      // in order of name
  // Files that could not be read, one line each; the report shows the rest.
  std::vector<std::string> problems;
};

struct ReportInput {
  std::vector<std::filesystem::path> directories;
  std::vector<std::filesystem::path> beside;  // rounds that the others are compared with
  std::string benchmark;                      // empty: all
  scoring::ScoreOptions score;                // its `problems` and `progress` are ignored
  std::function<void(size_t done, size_t total)> progress;
};

// Throws Error if a directory does not exist, holds no logs, or has none of the benchmark.
ReportData read_report_data(const ReportInput& input);

}  // namespace strata::report
