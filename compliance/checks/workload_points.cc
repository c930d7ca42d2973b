#include "compliance/checks/workload_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/numbers/statistics.h"
#include "base/numbers/students_t.h"
#include "base/text/counts.h"
#include "compliance/checks/rounds.h"
#include "compliance/sources/rule_store.h"
#include "compliance/sources/sha256.h"

namespace strata::compliance {
namespace {

using nlohmann::json;

constexpr int kDigits = 4;
constexpr char kQualityTarget[] = "Quality target";
constexpr char kEvaluationSamples[] = "Evaluation samples";
constexpr char kFirstEvaluation[] = "First evaluation";
constexpr char kEvaluationInterval[] = "Evaluation interval";

constexpr const char* kOwnFields[] = {kQualityTarget, kEvaluationSamples, kFirstEvaluation,
                                      kEvaluationInterval};

constexpr double kLargest = 1e8;  // below the count of runs that did not converge
constexpr size_t kMostBytes = 1 << 20;

double number_in(const json& record, const char* key, const std::string& where) {
  const auto found = record.find(key);
  const double number = found != record.end() && found->is_number() ? found->get<double>() : 0;
  if (!(number > 0 && number <= kLargest)) {
    fail("{} needs \"{}\", a number above 0 and at most {:g}", where, key, kLargest);
  }
  return number;
}

// Refuses names that an object has twice, of which the parser would keep one.
json parse_without_repetition(std::string_view text, std::string_view source) {
  std::vector<std::set<std::string>> names;  // of the objects that are open
  try {
    return json::parse(text, [&](int, json::parse_event_t event, json& value) {
      if (event == json::parse_event_t::object_start) names.emplace_back();
      if (event == json::parse_event_t::object_end) names.pop_back();
      if (event == json::parse_event_t::key &&
          !names.back().insert(value.get<std::string>()).second)
        fail("{}: \"{}\" occurs twice in an object", source, value.get<std::string>());
      return true;
    });
  } catch (const json::exception& error) {
    fail("{}: {}", source, error.what());
  }
}

WorkloadPoint read_point(const json& record, const std::string& where) {
  WorkloadPoint point;
  point.batch_size = number_in(record, "BS", where);
  point.from = {point.batch_size};
  point.first_evaluation = number_in(record, kFirstEvaluation, where);
  point.evaluation_interval = number_in(record, kEvaluationInterval, where);
  constexpr size_t kFewestRuns = 5;
  const json counts = record.value("Epochs to converge", json());
  std::vector<double> runs;
  for (const json& count : counts) {
    if (!count.is_number()) continue;
    const auto samples = count.get<double>();
    if (samples >= 1 && samples <= kLargest) runs.push_back(samples);
  }
  if (!counts.is_array() || runs.size() < kFewestRuns || runs.size() != counts.size()) {
    fail("{} needs a list \"Epochs to converge\" of at least {} numbers from 1 to {:g}", where,
         kFewestRuns, kLargest);
  }
  point.runs = runs.size();
  point.mean = mean(runs);
  point.deviation = sample_deviation(runs);
  return point;
}

double between(double from, double to, double share) { return from + share * (to - from); }

// Returns the first number of samples, not below `samples`, at which a batch ends.
double end_of_batch(double samples, double batch_size) {
  return std::ceil(samples / batch_size) * batch_size;
}

// Returns why the runs were evaluated too rarely for the point, or nothing.
std::string too_rarely(const EvaluationTimes& evaluated, const WorkloadPoint& point) {
  if (evaluated.first == kNeverConverged) return "a run logs no evaluation with epoch_num";
  const double first = end_of_batch(point.first_evaluation, point.batch_size);
  const double interval = end_of_batch(point.evaluation_interval, point.batch_size);
  if (evaluated.first <= first && evaluated.longest_interval <= interval) return {};
  std::string text = fmt::format(
      "the runs were evaluated too rarely to compare them with the reference: first after {} "
      "samples",
      count_text(evaluated.first));
  if (evaluated.longest_interval > 0)
    text += fmt::format(", then every {}", count_text(evaluated.longest_interval));
  return text + fmt::format("; needed: first after {} or earlier, then every {} or less",
                            count_text(first), count_text(interval));
}

std::string workload_text(const LoggedWorkload& workload) {
  const auto text = [](std::optional<double> number) {
    return number ? count_text(*number) : std::string("none");
  };
  return fmt::format("quality_target {} and eval_samples {}", text(workload.quality_target),
                     text(workload.eval_samples));
}

// Returns why the points are not those of the runs' workload, or nothing.
std::string of_another_workload(const FolderConvergence& folder, const WorkloadPoints& points) {
  if (folder.benchmark != points.benchmark()) {
    return fmt::format("the logs are of the benchmark '{}', but these points are of '{}'",
                       folder.benchmark, points.benchmark());
  }
  if (folder.workload == points.workload()) return {};
  if (folder.workload.contradicts_itself)
    return "the logs have several values of quality_target or eval_samples";
  return fmt::format("the logs have {}, but these points are for {}",
                     workload_text(folder.workload), workload_text(points.workload()));
}

// Compares the runs with the point of their batch size.
void judge(const FolderConvergence& folder, const WorkloadPoint& point, RcpVerdict& verdict) {
  std::vector<double> counts;
  for (const double count : folder.epochs) {
    if (count == kNeverConverged) continue;
    if (!(count > 0 && count <= kLargest)) {
      verdict.readable = false;
      verdict.message = fmt::format("a run logs success after {} samples", count);
      return;
    }
    counts.push_back(count);
  }
  verdict.reference_mean = point.mean;
  constexpr size_t kRunsPerMiss = 10;
  const size_t missed = folder.epochs.size() - counts.size();
  if (missed > folder.epochs.size() / kRunsPerMiss) {
    verdict.judged = true;
    verdict.message = fmt::format("{} of {} did not reach the target; only one in {} may miss it",
                                  missed, counted(folder.epochs.size(), "run"), kRunsPerMiss);
    return;
  }
  const MeanRange range = expected_mean(point, counts.size());
  if (range.least <= 0) {
    verdict.message = "the runs of the reference differ too much to judge others by them";
    return;
  }
  const double submitted = mean(counts);
  verdict.judged = true;
  verdict.submission_mean = submitted;
  verdict.least_mean = range.least;
  verdict.greatest_mean = range.greatest;
  verdict.passed = submitted >= range.least && submitted <= range.greatest;
  const std::string_view how = verdict.passed            ? "like"
                               : submitted < range.least ? "faster than"
                                                         : "slower than";
  verdict.message = fmt::format(
      "converges {} the reference: the mean of {} is {} samples; expected {} to {}, reference {}",
      how, counted(counts.size(), "run"), rounded_text(submitted, kDigits),
      rounded_text(range.least, kDigits), rounded_text(range.greatest, kDigits),
      rounded_text(point.mean, kDigits));
}

}  // namespace

MeanRange expected_mean(const WorkloadPoint& point, size_t runs) {
  constexpr double kUpperProbability = 0.99;
  const auto reference = static_cast<double>(point.runs);
  const double half = students_t_quantile(kUpperProbability, reference - 1) * point.deviation *
                      std::sqrt(1 / reference + 1 / static_cast<double>(runs));
  return {point.mean - half, point.mean + half};
}

bool WorkloadPoints::has_workload(std::string_view text) {
  return std::ranges::any_of(kOwnFields, [&](const char* field) {
    return text.find(fmt::format("\"{}\"", field)) != text.npos;
  });
}

WorkloadPoints::WorkloadPoints(std::string_view text, std::string_view source)
    : source_(source), sha256_(compliance::sha256(text)) {
  if (text.size() > kMostBytes)
    fail("{}: has more than {} bytes, too many for reference points", source, kMostBytes);
  const json records = parse_without_repetition(text, source);
  if (!records.is_object() || records.empty())
    fail("{}: expected a JSON object with one record per batch size", source);
  for (const auto& [name, record] : records.items()) {
    const std::string where = fmt::format("{}: record '{}'", source, name);
    if (!record.is_object()) fail("{} must be an object", where);
    const LoggedWorkload workload{number_in(record, kQualityTarget, where),
                                  number_in(record, kEvaluationSamples, where)};
    const auto benchmark = record.find("Benchmark");
    if (benchmark == record.end() || !benchmark->is_string())
      fail("{} needs a text \"Benchmark\"", where);
    if (points_.empty()) {
      workload_ = workload;
      benchmark_ = *benchmark;
    }
    if (workload != workload_ || *benchmark != benchmark_) {
      fail("{}: all records need the same \"Benchmark\", \"{}\" and \"{}\"", source, kQualityTarget,
           kEvaluationSamples);
    }
    points_.push_back(read_point(record, where));
  }
  std::ranges::sort(points_, {}, &WorkloadPoint::batch_size);
  const auto same = std::ranges::adjacent_find(points_, {}, &WorkloadPoint::batch_size);
  if (same != points_.end())
    fail("{}: two records have the batch size {}", source, count_text(same->batch_size));
}

std::optional<WorkloadPoint> WorkloadPoints::at(double batch_size) const {
  const auto high = std::ranges::lower_bound(points_, batch_size, {}, &WorkloadPoint::batch_size);
  if (high == points_.end()) return std::nullopt;
  if (high->batch_size == batch_size) return *high;
  if (high == points_.begin()) return std::nullopt;
  const auto low = std::prev(high);
  const double share = (batch_size - low->batch_size) / (high->batch_size - low->batch_size);
  WorkloadPoint point;
  point.batch_size = batch_size;
  point.from = {low->batch_size, high->batch_size};
  point.runs = std::min(low->runs, high->runs);
  point.mean = between(low->mean, high->mean, share);
  point.deviation = between(low->deviation, high->deviation, share);
  point.first_evaluation = std::min(low->first_evaluation, high->first_evaluation);
  point.evaluation_interval = std::min(low->evaluation_interval, high->evaluation_interval);
  return point;
}

const std::vector<WorkloadPoints>& built_in_workload_points() {
  static const std::vector<WorkloadPoints> all = [] {
    std::vector<WorkloadPoints> found;
    constexpr std::string_view kName = "rcp/quickstart/rcps_bert.json";
    if (const auto text = find_embedded(kName)) found.emplace_back(*text, kName);
    return found;
  }();
  return all;
}

const WorkloadPoints* find_workload_points(const FolderConvergence& folder) {
  const auto& all = built_in_workload_points();
  const auto points = std::ranges::find_if(all, [&](const WorkloadPoints& one) {
    return one.benchmark() == folder.benchmark && one.workload() == folder.workload;
  });
  return points == all.end() ? nullptr : &*points;
}

RcpVerdict check_workload(const FolderConvergence& folder, const WorkloadPoints& points) {
  RcpVerdict verdict(folder);
  verdict.two_sided = true;
  if (!verdict.readable) return verdict;
  verdict.message = of_another_workload(folder, points);
  if (!verdict.message.empty()) return verdict;
  verdict.points = points.source();
  verdict.points_sha256 = points.sha256();
  if (!folder.named || !folder.batch_size) {
    verdict.message = "a run logs no submission_benchmark or no global_batch_size";
    return verdict;
  }
  const auto point = points.at(*folder.batch_size);
  if (!point) {
    verdict.message =
        fmt::format("there is no reference point for batch size {}, only for {} to {}",
                    count_text(*folder.batch_size), count_text(points.points().front().batch_size),
                    count_text(points.points().back().batch_size));
    return verdict;
  }
  verdict.point_batch_sizes = point->from;
  verdict.message = too_rarely(folder.evaluated, *point);
  if (verdict.message.empty()) judge(folder, *point, verdict);
  return verdict;
}

}  // namespace strata::compliance
