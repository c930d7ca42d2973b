// Predictions for people and for programs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/published/series.h"
#include "plan/search.h"

namespace strata::plan {

// A planner and what it predicts.
struct PlanReport {
  Planner planner;
  std::vector<Prediction> predictions;  // that were asked for
  std::optional<SearchResult> search;   // where a search was
  std::vector<CheckedSystem> checked;   // published systems
  std::vector<std::string> left_out;    // what could not be used, and why
};

// Tables in Markdown, so that they can stand in a report as they are.
std::string calibration_text(const PlanReport& report);
std::string prediction_table(const PlanReport& report);
std::string check_table(const PlanReport& report);

// Of all series together: how far predictions are off.
std::string summary_text(std::span<const CheckedSystem> checked);

// docs/schemas/plan.json: "plans", one a report.
std::string plan_json(std::span<const PlanReport> reports);

}  // namespace strata::plan
