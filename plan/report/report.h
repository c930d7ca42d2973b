// Predictions as tables and JSON.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/fewest_ranks.h"
#include "plan/published/series.h"
#include "plan/search.h"

namespace strata::plan {

// Rates of an accelerator; 0: not given.
struct Rates {
  double price = 0;  // per hour
  double watts = 0;
};

// A planner and its predictions.
struct PlanReport {
  Planner planner;
  std::vector<Prediction> predictions;  // the requested predictions
  std::optional<SearchResult> search;   // absent: there was no search
  std::optional<FewestRanks> under;     // absent: no time limit was given
  Rates rates;
  std::vector<CheckedSystem> checked;  // published systems
  std::vector<std::string> left_out;   // unusable systems, and why
};

// Return Markdown tables, for use in reports.
std::string calibration_text(const PlanReport& report);
std::string prediction_table(const PlanReport& report);
// Returns the fewest ranks that keep the time limit, and the cheapest prediction that is at most
// 10 % slower than the fastest. Returns an empty text if neither was asked for.
std::string decision_text(const PlanReport& report);
std::string check_table(const PlanReport& report);

// Returns the deviation of the predictions over all series.
std::string summary_text(std::span<const CheckedSystem> checked);

// Returns docs/schemas/plan.json: "plans" has one element per report.
std::string plan_json(std::span<const PlanReport> reports);

}  // namespace strata::plan
