#include "plan/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "base/text/counts.h"
#include "base/text/json.h"
#include "base/text/json_version.h"

namespace strata::plan {
namespace {

using nlohmann::ordered_json;
using Cells = std::vector<std::string>;

// Aligns the first column left, the others right. The first row is the heading.
std::string markdown(const std::vector<Cells>& rows) {
  std::vector<size_t> widths(rows.front().size(), 3);
  for (const Cells& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const auto line = [&](const Cells& row) {
    std::string text = fmt::format("| {:<{}} |", row.front(), widths.front());
    for (size_t i = 1; i < row.size(); ++i) text += fmt::format(" {:>{}} |", row[i], widths[i]);
    return text + '\n';
  };
  std::string text = line(rows.front()) + fmt::format("| {:-<{}} |", "", widths.front());
  for (size_t i = 1; i < widths.size(); ++i) text += fmt::format(" {:->{}} |", ":", widths[i]);
  text += '\n';
  for (size_t i = 1; i < rows.size(); ++i) text += line(rows[i]);
  return text;
}

std::string milliseconds(double seconds) { return fmt::format("{:.2f}", seconds * 1e3); }

// A column has one unit, MLPerf's.
std::string minutes(double seconds) {
  const double minutes = seconds / 60;
  return rounded_text(minutes < 1000 ? minutes : std::round(minutes), 4);
}

std::string layout_text(const Layout& layout) {
  std::string text = layout.stages == 1 ? ""
                                        : fmt::format("{} stages {}, ", layout.stages,
                                                      layout.modular ? "modular" : "contiguous");
  text += counted(layout.micro_batches, "micro-batch");
  if (layout.stages == 1 && layout.micro_batches > 1) {
    text += fmt::format(" in {} order", name_of(layout.order));
  }
  if (layout.recompute) text += ", recompute";
  if (layout.split_tied_embedding) text += ", tied-embedding split";
  if (layout.bucket_bytes > 0) {
    text += fmt::format(", buckets of {} MB", count_text(layout.bucket_bytes / 1e6));
  }
  if (layout.clip != Layout{}.clip) text += fmt::format(", clip {}", name_of(layout.clip));
  if (layout.sharding != Sharding::kNone) {
    text += fmt::format(", sharded: {}", name_of(layout.sharding));
  }
  return text;
}

Cells heading(const Rates& rates) {
  Cells cells = {"ranks",    "batch",  "layout",     "step ms", "compute",   "imbalance",
                 "constant", "bubble", "exposed",    "binds",   "samples M", "minutes to train",
                 "from",     "to",     "GB per rank"};
  if (rates.price > 0) cells.emplace_back("price");
  if (rates.watts > 0) cells.emplace_back("kWh");
  return cells;
}

double price_of(const Prediction& prediction, const Rates& rates) {
  return rates.price * prediction.rank_seconds() / 3600;
}

double kilowatt_hours(const Prediction& prediction, const Rates& rates) {
  return rates.watts / 1000 * prediction.rank_seconds() / 3600;
}

Cells row_of(const Prediction& prediction, const Rates& rates) {
  const StepInput& input = prediction.input;
  const StepTime& step = prediction.step;
  Cells cells = {fmt::format("{}", input.ranks),
                 fmt::format("{:.0f}", input.batch),
                 layout_text(input.layout),
                 milliseconds(step.total()),
                 milliseconds(step.compute),
                 milliseconds(step.imbalance),
                 milliseconds(step.constant),
                 milliseconds(step.bubble),
                 milliseconds(step.exposed),
                 std::string(step.binding()),
                 fmt::format("{:.3f}", prediction.samples.mean / 1e6),
                 minutes(prediction.run.total),
                 minutes(prediction.run.low),
                 minutes(prediction.run.high),
                 fmt::format("{:.1f}", prediction.memory / 1e9)};
  if (rates.price > 0) cells.push_back(fmt::format("{:.2f}", price_of(prediction, rates)));
  if (rates.watts > 0) cells.push_back(fmt::format("{:.2f}", kilowatt_hours(prediction, rates)));
  return cells;
}

std::string run_text(const Prediction& prediction, const Rates& rates) {
  std::string text =
      fmt::format("{}, batch {:.0f}: {} min ({} to {})", counted(prediction.input.ranks, "rank"),
                  prediction.input.batch, minutes(prediction.run.total),
                  minutes(prediction.run.low), minutes(prediction.run.high));
  if (rates.price > 0) text += fmt::format(", price {:.2f}", price_of(prediction, rates));
  if (rates.watts > 0) text += fmt::format(", {:.2f} kWh", kilowatt_hours(prediction, rates));
  return text;
}

// Returns the prediction with the fewest rank-seconds that is at most 10 % slower than the fastest.
const Prediction& cheapest_of(const std::vector<Prediction>& predictions) {
  const auto total = [](const Prediction& prediction) { return prediction.run.total; };
  constexpr double kHardlySlower = 1.1;
  const double most = kHardlySlower * total(*std::ranges::min_element(predictions, {}, total));
  return *std::ranges::min_element(predictions, {}, [&](const Prediction& prediction) {
    return std::pair(total(prediction) > most, prediction.rank_seconds());
  });
}

std::string percent(double share) { return fmt::format("{:+.1f}", 100 * share); }

Cells row_of(const CheckedSystem& checked) {
  const PublishedSystem& system = checked.system;
  const auto reference = checked.reference_error();
  return {system.name,
          fmt::format("{}", system.step.ranks),
          fmt::format("{:.0f}", system.step.batch),
          fmt::format("{}", system.step.micro_batches),
          milliseconds(system.step.seconds),
          milliseconds(checked.between_evaluations),
          percent(checked.step_error()),
          fmt::format("{:.1f}", system.time_to_train),
          fmt::format("{:.1f}", checked.prediction.run.total),
          percent(checked.run_error()),
          reference ? percent(*reference) : "-",
          std::string(checked.prediction.step.binding()),
          checked.calibrated              ? "calibrated from"
          : checked.extrapolation.empty() ? ""
                                          : "extrapolation: " + checked.extrapolation};
}

std::string deviations(const char* name, const Deviation& deviation) {
  return fmt::format("{}: median {:.1f} %, worst {:.1f} %\n", name, 100 * deviation.median,
                     100 * deviation.worst);
}

// ---- JSON

ordered_json to_json(const Calibration& calibration, const StartCosts& start) {
  return {{"seconds_a_sample", calibration.costs.per_sample},
          {"seconds_a_step", calibration.costs.per_step},
          {"seconds_between_nodes", calibration.costs.between_nodes},
          {"repeated_share", calibration.costs.repeated},
          {"evaluation_constant_seconds", calibration.evaluation_constant},
          {"start_seconds", start.base},
          {"start_steps", start.steps},
          {"step_error", calibration.step_error},
          {"step_error_ground", calibration.step_error_ground},
          {"residuals", calibration.residuals},
          {"notes", calibration.notes}};
}

ordered_json to_json(const Network& network) {
  const auto to_json = [](const Link& link) {
    return ordered_json{{"seconds", link.latency},
                        {"bytes_per_second", std::isfinite(link.bytes_per_second)
                                                 ? ordered_json(link.bytes_per_second)
                                                 : ordered_json()}};
  };
  return {{"domain", network.domain},
          {"inside", to_json(network.inside)},
          {"cards", network.cards},
          {"card", to_json(network.card)}};
}

ordered_json to_json(const MeasuredStep& step) {
  return {{"name", step.name},
          {"ranks", step.ranks},
          {"nodes", step.nodes},
          {"batch", step.batch},
          {"micro_batches", step.micro_batches},
          {"imbalance", step.imbalance},
          {"seconds", step.seconds},
          {"steps_per_evaluation", step.steps_per_evaluation}};
}

ordered_json to_json(const RunTime& run) {
  return {{"start_seconds", run.start},
          {"steps", run.steps},
          {"training_seconds", run.training},
          {"evaluations", run.evaluations},
          {"evaluating_seconds", run.evaluating},
          {"seconds", run.total},
          {"low_seconds", run.low},
          {"high_seconds", run.high}};
}

ordered_json to_json(const Prediction& prediction, const Rates& rates) {
  const auto& [ranks, nodes, batch, imbalance, network, layout] = prediction.input;
  const StepTime& step = prediction.step;
  ordered_json result = {{"ranks", ranks},
                         {"nodes", nodes},
                         {"batch", batch},
                         {"layout",
                          {{"stages", layout.stages},
                           {"modular", layout.modular},
                           {"micro_batches", layout.micro_batches},
                           {"order", name_of(layout.order)},
                           {"sharding", name_of(layout.sharding)},
                           {"clip", name_of(layout.clip)},
                           {"recompute", layout.recompute},
                           {"split_tied_embedding", layout.split_tied_embedding},
                           {"bucket_bytes", layout.bucket_bytes}}},
                         {"imbalance", imbalance},
                         {"step_seconds",
                          {{"total", step.total()},
                           {"compute", step.compute},
                           {"imbalance", step.imbalance},
                           {"constant", step.constant},
                           {"bubble", step.bubble},
                           {"exposed", step.exposed},
                           {"error", step.error}}},
                         {"binds", step.binding()},
                         {"samples",
                          {{"mean", prediction.samples.mean},
                           {"error", prediction.samples.error},
                           {"ground", prediction.samples.ground}}},
                         {"run", to_json(prediction.run)},
                         {"memory_bytes", prediction.memory},
                         {"extrapolation", prediction.extrapolation},
                         {"rank_seconds", prediction.rank_seconds()}};
  if (rates.price > 0) result["price"] = price_of(prediction, rates);
  if (rates.watts > 0) result["kilowatt_hours"] = kilowatt_hours(prediction, rates);
  return result;
}

ordered_json to_json(const CheckedSystem& checked) {
  const PublishedSystem& system = checked.system;
  const auto reference = checked.reference_error();
  return {{"name", system.name},
          {"round", system.round},
          {"accelerator", system.accelerator},
          {"calibrated", checked.calibrated},
          {"extrapolation", checked.extrapolation},
          {"prediction", to_json(checked.prediction, Rates{})},
          {"published_seconds_between_evaluations_a_step", system.step.seconds},
          {"predicted_seconds_between_evaluations_a_step", checked.between_evaluations},
          {"published_seconds", system.time_to_train},
          {"step_error", checked.step_error()},
          {"run_error", checked.run_error()},
          {"reference_error", reference ? ordered_json(*reference) : ordered_json()}};
}

template <typename Items>
ordered_json list_of(const Items& items) {
  ordered_json list = ordered_json::array();
  for (const auto& item : items) list.push_back(to_json(item));
  return list;
}

ordered_json to_json(const CheckSummary& summary) {
  const auto both = [](const Deviation& deviation) {
    return ordered_json{{"median", deviation.median}, {"worst", deviation.worst}};
  };
  return {{"systems", summary.systems},
          {"held", summary.held},
          {"step", both(summary.step)},
          {"run", both(summary.run)},
          {"reference", both(summary.reference)}};
}

}  // namespace

std::string calibration_text(const PlanReport& report) {
  const Calibration& calibration = report.planner.calibration;
  std::string text = "calibrated from:";
  for (const MeasuredStep& step : report.planner.measured) {
    text += fmt::format("\n  {}: {}, {} per rank, {} ms per step", step.name,
                        counted(step.ranks, "rank"), counted(step.samples_per_rank(), "sample"),
                        milliseconds(step.seconds));
  }
  const StepCosts& costs = calibration.costs;
  text += fmt::format(
      "\ntime per sample {} ms, per step {} ms, on several nodes {} ms more; an evaluation adds {} "
      "ms to the time of its samples; the start takes {:.1f} s plus the time of {}\n"
      "uncertainty of a calibrated step: {:.1f} % (one standard deviation: {})\n",
      milliseconds(costs.per_sample), milliseconds(costs.per_step),
      milliseconds(costs.between_nodes), milliseconds(calibration.evaluation_constant),
      report.planner.start.base, counted(std::llround(report.planner.start.steps), "step"),
      100 * calibration.step_error, calibration.step_error_ground);
  for (const std::string& note : calibration.notes) text += "note: " + note + '\n';
  return text;
}

std::string prediction_table(const PlanReport& report) {
  const Rates& rates = report.rates;
  std::vector<Cells> rows = {heading(rates)};
  for (const Prediction& prediction : report.predictions) {
    rows.push_back(row_of(prediction, rates));
  }
  std::string text = rows.size() > 1 ? markdown(rows) : "";
  if (!report.search) return text;
  const SearchResult& search = *report.search;
  rows = {heading(rates), row_of(search.fastest, rates), row_of(search.cheapest, rates)};
  rows[0].insert(rows[0].begin(), fmt::format("of {}, {} fit", counted(search.tried, "layout"),
                                              count_text(search.fitting)));
  rows[1].insert(rows[1].begin(), "fastest");
  rows[2].insert(rows[2].begin(), "cheapest within 10 % of the fastest");
  return text + (text.empty() ? "" : "\n") + markdown(rows);
}

std::string decision_text(const PlanReport& report) {
  std::string text;
  const Rates& rates = report.rates;
  if (report.under) {
    const auto line = [&](const char* name, const std::optional<Prediction>& found) {
      text += fmt::format("fewest ranks {} {} min: {}\n", name, minutes(report.under->seconds),
                          found ? run_text(*found, rates)
                                : fmt::format("none; tried up to {} times the calibrated ranks, "
                                              "with at least one sample per rank",
                                              count_text(kMostTimesMeasured)));
    };
    line("under", report.under->expected);
    line("whose interval is under", report.under->sure);
  }
  if ((rates.price > 0 || rates.watts > 0) && report.predictions.size() > 1) {
    text += fmt::format("{} within 10 % of the fastest: {}\n",
                        rates.watts > 0
                            ? rates.price > 0 ? "cheapest, with the least energy," : "least energy"
                            : "cheapest",
                        run_text(cheapest_of(report.predictions), rates));
  }
  return text;
}

std::string check_table(const PlanReport& report) {
  std::vector<Cells> rows = {{"system", "ranks", "batch", "micro-batches", "step ms", "predicted",
                              "error %", "time to train s", "predicted", "error %",
                              "error % with reference samples", "binds", ""}};
  for (const CheckedSystem& checked : report.checked) rows.push_back(row_of(checked));
  return markdown(rows);
}

std::string summary_text(std::span<const CheckedSystem> checked) {
  const CheckSummary summary = summarise(checked);
  if (summary.systems == 0) {
    return "no summary of errors: every system is used for calibration or extrapolated\n";
  }
  return counted(summary.systems, "system") + " neither used for calibration nor extrapolated\n" +
         fmt::format(
             "the published time to train is within the predicted interval for {} of them\n",
             summary.held) +
         deviations("step", summary.step) +
         deviations("time to train, published samples", summary.run) +
         deviations("time to train, reference samples", summary.reference);
}

std::string plan_json(std::span<const PlanReport> reports) {
  ordered_json plans = ordered_json::array();
  std::vector<CheckedSystem> all;
  for (const PlanReport& report : reports) {
    all.insert(all.end(), report.checked.begin(), report.checked.end());
    ordered_json plan = {{"calibration", to_json(report.planner.calibration, report.planner.start)},
                         {"measured", list_of(report.planner.measured)},
                         {"strategy", report.planner.strategy},
                         {"predictions", ordered_json::array()}};
    for (const Prediction& prediction : report.predictions) {
      plan["predictions"].push_back(to_json(prediction, report.rates));
    }
    if (report.planner.network) plan["network"] = to_json(*report.planner.network);
    if (report.search) {
      plan["search"] = {{"tried", report.search->tried},
                        {"fitting", report.search->fitting},
                        {"fastest", to_json(report.search->fastest, report.rates)},
                        {"cheapest", to_json(report.search->cheapest, report.rates)}};
    }
    if (report.under) {
      const auto found = [&](const std::optional<Prediction>& prediction) {
        return prediction ? to_json(*prediction, report.rates) : ordered_json();
      };
      plan["under"] = {{"seconds", report.under->seconds},
                       {"expected", found(report.under->expected)},
                       {"sure", found(report.under->sure)}};
    }
    plan["checked"] = list_of(report.checked);
    plan["left_out"] = report.left_out;
    plans.push_back(std::move(plan));
  }
  ordered_json result = {{"version", kJsonVersion}, {"plans", plans}};
  if (!all.empty()) result["summary"] = to_json(summarise(all));
  return json_text(result, 2) + '\n';
}

}  // namespace strata::plan
