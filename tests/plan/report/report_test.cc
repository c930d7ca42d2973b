#include "plan/report/report.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/support/json_schema.h"
#include "tests/support/matchers.h"

namespace strata::plan {
namespace {

// Returns a report of a machine with 3 ms per sample and 20 per step. It has predictions, a search,
// and a published system that takes 1.1 times the predicted time.
PlanReport report_of_everything() {
  PlanReport report;
  Planner& planner = report.planner;
  planner.measured.push_back({.name = "made", .ranks = 8, .batch = 80, .seconds = 0.05});
  planner.calibration.costs = {.per_sample = 3e-3, .per_step = 20e-3};
  planner.calibration.residuals = {0};
  planner.network = flat_network({1e-6, 1e10});
  planner.samples = [](double) { return Samples{3e6, 0.02, "given"}; };
  report.predictions.push_back(planner.predict(8, 800, {.micro_batches = 2}));
  report.predictions.push_back(planner.predict(16, 800, {}));
  report.search = search(planner, {{8}, {800}, 1e12});
  report.under = fewest_ranks(planner, {800}, {}, 1800);
  report.rates = {.price = 2, .watts = 700};
  CheckedSystem checked;
  checked.system.name = "Acme n1";
  checked.system.round = "2.0.0";
  checked.prediction = report.predictions[0];
  checked.between_evaluations = 0.2;
  checked.system.step.seconds = 0.22;
  checked.system.step.ranks = 8;
  checked.system.time_to_train = 1.1 * checked.prediction.run.total;
  report.checked.push_back(checked);
  checked.by_reference = checked.prediction.run;
  checked.extrapolation = "older software";
  report.checked.push_back(checked);
  report.left_out = {"something"};
  return report;
}

TEST(PlanReport, FitsItsSchema) {
  testing_support::expect_schema("plan", plan_json(std::vector{report_of_everything()}));
}

TEST(PlanReport, TablesNameTheLargestTermAndPredictionErrors) {
  const PlanReport report = report_of_everything();
  const std::string calibration = calibration_text(report);
  EXPECT_THAT(calibration, HasSubstr("time per sample 3.00 ms, per step 20.00 ms"));
  const std::string predictions = prediction_table(report);
  EXPECT_THAT(predictions, HasSubstr("2 micro-batches in micro_batch order"));
  EXPECT_THAT(predictions, HasSubstr("| compute |"));
  EXPECT_THAT(predictions, HasSubstr("cheapest within 10 % of the fastest"));
  const Prediction& first = report.predictions[0];
  EXPECT_THAT(predictions,
              HasSubstr(fmt::format("{:.2f} | {:.2f} |", 8 * first.run.total / 3600 * 2,
                                    8 * first.run.total / 3600 * 0.7)));
  const std::string decisions = decision_text(report);
  EXPECT_THAT(decisions, HasSubstr(fmt::format("fewest ranks under 30 min: {} ranks",
                                               report.under->expected->input.ranks)));
  EXPECT_THAT(decisions,
              HasSubstr("cheapest, with the least energy, within 10 % of the fastest: 16 ranks"));
  EXPECT_THAT(predictions, HasSubstr("| minutes to train |"));
  EXPECT_EQ(predictions.find(" min |"), predictions.npos) << "the unit stands in the heading";
  EXPECT_EQ(predictions.find(" s |"), predictions.npos);
  const std::string checked = check_table(report);
  EXPECT_THAT(checked, HasSubstr("-9.1"));
  EXPECT_THAT(checked, HasSubstr("extrapolation: older software"));
  const std::string summary = summary_text(report.checked);
  EXPECT_THAT(summary, HasSubstr("1 system neither"));
  EXPECT_THAT(summary, HasSubstr("step: median 9.1 %, worst 9.1 %"));
}

}  // namespace
}  // namespace strata::plan
