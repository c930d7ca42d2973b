#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/text/counts.h"
#include "plan/report/plan_file.h"
#include "report/sections/section.h"
#include "scoring/minutes.h"
#include "scoring/plots/plot_parts.h"

namespace strata::report {
namespace {

using plan::PlannedRun;

// The accelerators and submitters of the systems that a plan was calibrated from, as far as the
// report has them.
using Series = std::set<std::pair<std::string, std::string>>;

std::pair<std::string, std::string> series_of(const ReportedFolder& folder) {
  return {folder.score.folder.submitter,
          scoring::accelerators_in_short(1, folder.score.system.accelerator)};
}

Series calibrated_series(const ReportData& data, const PlannedRun& planned) {
  Series series;
  for (const ReportedFolder& folder : data.folders) {
    if (std::ranges::count(planned.calibrated_from, folder.owner.name) > 0) {
      series.insert(series_of(folder));
    }
  }
  return series;
}

// Returns the folders that a prediction is about: as many accelerators, the same batch, and the
// submitter and accelerator that it was calibrated from. If the report has none of these systems,
// the plan is of the reader's own, which are not shown beside.
std::vector<const ReportedFolder*> what_happened(const ReportData& data,
                                                 const PlannedRun& planned) {
  const Series series = calibrated_series(data, planned);
  std::vector<const ReportedFolder*> folders;
  for (const ReportedFolder& folder : data.folders) {
    const scoring::Score& score = folder.score;
    const bool is_same_system =
        series.empty() ? !folder.beside : series.contains(series_of(folder));
    if (folder.benchmark == "bert" && score.time_to_train_ms && is_same_system &&
        accelerators_of(score) == planned.ranks && score.batch_size == planned.batch) {
      folders.push_back(&folder);
    }
  }
  return folders;
}

// Returns the number of the published system that a prediction names, or -1.
int system_named(const ReportData& data, const std::string& name) {
  const auto found = std::ranges::find(data.systems, name);
  return found == data.systems.end() ? -1 : static_cast<int>(found - data.systems.begin());
}

std::string interval_of(const PlannedRun& planned) {
  return fmt::format("{} to {}", short_number(planned.low), short_number(planned.high));
}

double step_of(const PlannedRun& planned) {
  return std::accumulate(planned.milliseconds.begin(), planned.milliseconds.end(), 0.0);
}

void add_row(Table& table, const PlannedRun& planned, const std::string& what,
             std::optional<double> minutes, std::optional<double> milliseconds, int system) {
  const auto off = [](double predicted, const std::optional<double>& happened) {
    if (!happened || !(*happened > 0)) return Cell::of(std::nullopt);
    const double error = predicted / *happened - 1;
    return Cell::of(error, fmt::format("{:+.1f} %", 100 * error));
  };
  table.add(
      {what, Cell::count(planned.ranks), Cell::count(planned.batch), Cell::of(planned.minutes),
       interval_of(planned), Cell::of(minutes), off(planned.minutes, minutes),
       Cell::of(step_of(planned)), Cell::of(milliseconds), off(step_of(planned), milliseconds)},
      system);
}

Table predictions_table(const ReportData& data, const std::vector<PlannedRun>& runs) {
  Table table(
      "plan", "Predictions beside measurements",
      {"System", "Ranks", "Batch", "Predicted minutes", "Predicted range, two standard deviations",
       "Measured minutes", "Predicted / measured - 1", "Predicted step, ms", "Measured step, ms",
       "Step: predicted / measured - 1"});
  for (const PlannedRun& planned : runs) {
    if (planned.published_minutes) {
      add_row(table, planned, planned.name, planned.published_minutes,
              planned.published_milliseconds, system_named(data, planned.name));
      continue;
    }
    const auto happened = what_happened(data, planned);
    for (const ReportedFolder* folder : happened) {
      add_row(table, planned, folder->owner.name,
              *folder->score.time_to_train_ms / scoring::kMsPerMinute, std::nullopt,
              folder->owner.system);
    }
    if (happened.empty()) {
      add_row(table, planned, "no measured system of this size", std::nullopt, std::nullopt, -1);
    }
  }
  return table;
}

std::string steps_figure(const std::vector<PlannedRun>& runs) {
  std::vector<BarRow> rows;
  Data behind{"plan-steps", {"ranks", "batch"}, {}};
  const std::vector<std::string> terms(plan::kStepTerms.begin(), plan::kStepTerms.end());
  behind.columns.insert(behind.columns.end(), terms.begin(), terms.end());
  for (const PlannedRun& planned : runs) {
    Owner owner;
    owner.name = planned.name;
    owner.detail =
        fmt::format("{}, batch {}", counted(planned.ranks, "rank"), count_text(planned.batch));
    rows.push_back({owner,
                    {planned.milliseconds.begin(), planned.milliseconds.end()},
                    short_number(step_of(planned)) + " ms"});
    behind.rows.push_back({fmt::format("{}", planned.ranks), fmt::format("{}", planned.batch)});
    for (const double term : planned.milliseconds) {
      behind.rows.back().push_back(fmt::format("{:.6g}", term));
    }
  }
  return figure("", "The predicted step, term by term.",
                bar_chart(rows, terms, "milliseconds per step"),
                {"Predicted steps", counted(rows.size(), "layout")}, behind);
}

}  // namespace

Section plan_section(const ReportData& data, const std::vector<std::filesystem::path>& plans) {
  std::string html;
  for (const std::filesystem::path& path : plans) {
    const std::vector<PlannedRun> runs = plan::read_plan_file(path);
    html += heading(path.string()) + predictions_table(data, runs).html() + steps_figure(runs);
  }
  return {"plan", "Predictions and measurements", html};
}

}  // namespace strata::report
