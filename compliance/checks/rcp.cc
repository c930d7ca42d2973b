#include "compliance/checks/rcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/files/files.h"
#include "base/numbers/students_t.h"
#include "base/text/counts.h"
#include "compliance/checks/published_target.h"
#include "compliance/checks/rounds.h"
#include "compliance/checks/workload_points.h"
#include "compliance/language/values/rule_value.h"
#include "compliance/sources/rule_store.h"
#include "compliance/sources/sha256.h"
#include "mllog/json_scan.h"

namespace strata::compliance {
namespace {

constexpr uint64_t kMostFileBytes = 16 << 20;
constexpr double kAlpha = 0.05;
constexpr double kTolerance = 0.0001;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Returns the runs of a submission, or 0 for benchmarks for which the official checker has no
// number and stops.
int submission_runs(std::string_view usage, std::string_view benchmark) {
  for (const std::string_view unknown : {"dlrm", "minigo", "gnmt", "transformer", "ncf"}) {
    if (benchmark == unknown) return 0;
  }
  return result_file_count(usage, benchmark);
}

// Sums like NumPy, so that means agree to the last bit: eight interleaved partial sums for eight or
// more values.
double pairwise_sum(const double* values, size_t count) {
  if (count < 8) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += values[i];
    return sum;
  }
  if (count > 128) {
    size_t half = count / 2;
    half -= half % 8;
    return pairwise_sum(values, half) + pairwise_sum(values + half, count - half);
  }
  double part[8];
  std::copy(values, values + 8, part);
  size_t i = 8;
  for (; i + 8 <= count; i += 8) {
    for (size_t j = 0; j < 8; ++j) part[j] += values[i + j];
  }
  double sum =
      ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
  for (; i < count; ++i) sum += values[i];
  return sum;
}

double standard_deviation(const std::vector<double>& values) {
  if (values.empty()) return kNaN;
  const auto count = static_cast<double>(values.size());
  const double mean = pairwise_sum(values.data(), values.size()) / count;
  std::vector<double> squares;
  for (const double value : values) squares.push_back((value - mean) * (value - mean));
  return std::sqrt(pairwise_sum(squares.data(), squares.size()) / count);
}

// Finds by bisection the smallest mean that the t-test does not call faster than the reference.
double least_acceptable_mean(double mean, double stdev, double reference_count,
                             int submission_runs) {
  if (stdev == 0) return mean;
  const double submission_count = submission_runs - 2;
  double high = mean;
  double low = 0;
  double middle = (low + high) / 2;
  while (high - low > kTolerance) {
    const double p =
        one_sided_p_value(middle, stdev, reference_count, mean, stdev, submission_count);
    (p > kAlpha ? high : low) = middle;
    const double next = (low + high) / 2;
    if (next == middle) break;
    middle = next;
  }
  return middle;
}

const ReferencePoint* find_exact(const std::vector<ReferencePoint>& points, double batch_size) {
  const auto found = std::find_if(points.begin(), points.end(), [&](const ReferencePoint& point) {
    return point.batch_size == batch_size;
  });
  return found == points.end() ? nullptr : &*found;
}

const ReferencePoint* find_below(const std::vector<ReferencePoint>& points, double batch_size) {
  const ReferencePoint* best = nullptr;
  for (const ReferencePoint& point : points) {
    if (point.batch_size < batch_size && (best == nullptr || point.batch_size > best->batch_size))
      best = &point;
  }
  return best;
}

const ReferencePoint* find_above(const std::vector<ReferencePoint>& points, double batch_size) {
  const ReferencePoint* best = nullptr;
  for (const ReferencePoint& point : points) {
    if (point.batch_size > batch_size && (best == nullptr || point.batch_size < best->batch_size))
      best = &point;
  }
  return best;
}

// Compares the submission's mean with one point. Fills in everything but the message.
void judge(const ReferencePoint& point, const ReferencePoints& points, std::vector<double> epochs,
           RcpVerdict& verdict) {
  double max_speedup = point.max_speedup;
  if (points.benchmark() == "llama31_405b" && compare_versions(points.ruleset(), "5.0.0") >= 0) {
    // This benchmark may be faster by one evaluation interval.
    constexpr double kEvaluationInterval = 46080;
    max_speedup = point.mean / (point.mean / point.max_speedup - kEvaluationInterval);
  }
  std::sort(epochs.begin(), epochs.end());
  const double mean = olympic_mean(epochs, dropped_runs(points.benchmark()));
  const double factor = point.mean / mean;
  verdict.submission_mean = mean;
  verdict.reference_mean = point.mean;
  verdict.least_mean = point.mean / max_speedup;
  verdict.scaling = factor < 1 ? 1 : factor;
  verdict.passed = mean >= *verdict.least_mean;
}

// Returns a note if the runs have another target than the benchmark, to which the points belong.
std::string other_target(const FolderConvergence& folder, std::string_view ruleset) {
  if (folder.workload.contradicts_itself) {
    return "these runs log several values of quality_target or eval_samples, so the comparison "
           "says nothing about them";
  }
  const auto target = folder.workload.quality_target;
  const auto published = published_target(folder.benchmark, ruleset);
  if (!target || !published || *target == *published) return {};
  return fmt::format(
      "the target of these runs is {}; these points belong to MLPerf's target, {}, so the "
      "comparison says nothing about the runs",
      count_text(*target), count_text(*published));
}

// A round without its own file keeps the points of the round before.
std::optional<ReferencePoints> load_built_in(std::string_view usage, std::string_view ruleset,
                                             std::string_view benchmark) {
  const auto& rounds = round_benchmarks(usage, ruleset);
  if (std::find(rounds.begin(), rounds.end(), benchmark) == rounds.end()) return std::nullopt;
  std::optional<ReferencePoints> latest;
  for (const std::string_view round : known_rulesets(usage)) {
    if (compare_versions(round, ruleset) > 0) break;
    const std::string name = fmt::format("rcp/{}_{}/rcps_{}.json", usage, round, benchmark);
    if (const auto text = find_embedded(name))
      latest.emplace(*text, name, usage, ruleset, benchmark);
  }
  return latest;
}

ReferencePoints points_of(std::string_view text, const std::filesystem::path& file,
                          std::string_view usage, std::string_view ruleset,
                          std::string_view benchmark) {
  if (submission_runs(usage, benchmark) == 0) {
    fail(
        "benchmark '{}' of {}: the official convergence check has no number of runs for it, so its "
        "points are not used",
        benchmark, usage);
  }
  return ReferencePoints(text, file.string(), usage, ruleset, benchmark);
}

std::string format_batch_size(double batch_size) {
  return batch_size == std::floor(batch_size) ? fmt::format("{:.0f}", batch_size)
                                              : fmt::format("{}", batch_size);
}

}  // namespace

RcpVerdict::RcpVerdict(const FolderConvergence& folder)
    : readable(folder.problem.empty()),
      message(folder.problem),
      benchmark(folder.benchmark),
      batch_size(folder.batch_size),
      runs(folder.epochs),
      by_train_samples(folder.by_train_samples) {}

double olympic_mean(const std::vector<double>& sorted, int dropped) {
  const auto cut = static_cast<size_t>(dropped);
  if (sorted.size() <= 2 * cut) return kNaN;
  const size_t count = sorted.size() - 2 * cut;
  return pairwise_sum(sorted.data() + cut, count) / static_cast<double>(count);
}

double one_sided_p_value(double mean1, double stdev1, double count1, double mean2, double stdev2,
                         double count2) {
  const double freedom = count1 + count2 - 2;
  const double variance =
      ((count1 - 1) * stdev1 * stdev1 + (count2 - 1) * stdev2 * stdev2) / freedom;
  const double t = (mean1 - mean2) / std::sqrt(variance * (1 / count1 + 1 / count2));
  if (!(freedom > 0) || std::isnan(t)) return kNaN;
  if (std::isinf(t)) return t < 0 ? 0 : 1;
  return students_t_cdf(t, freedom);
}

ReferencePoints::ReferencePoints(std::string_view json, std::string_view source,
                                 std::string_view usage, std::string_view ruleset,
                                 std::string_view benchmark)
    : benchmark_(benchmark),
      ruleset_(ruleset),
      source_(source),
      sha256_(compliance::sha256(json)),
      submission_runs_(submission_runs(usage, benchmark)) {
  if (WorkloadPoints::has_workload(json)) {
    fail("{}: these are the points of a workload; only 'check rcp --custom-rcps FILE' reads them",
         source);
  }
  mllog::JsonScanner scanner(json);
  scanner.skip_space();
  if (!scanner.skip_value()) fail("{}: byte {}: {}", source, scanner.position(), scanner.error());
  scanner.skip_space();
  if (!scanner.at_end())
    fail("{}: byte {}: extra data after the JSON value", source, scanner.position());
  Heap heap;
  const size_t start = json.find_first_not_of(" \t\r\n");
  const Value records = [&] {
    try {
      return value_from_json(json.substr(start), heap);
    } catch (const RuleBudgetError&) {
      fail("{}: the file is too large for reference points", source);
    }
  }();
  if (records.kind() != Kind::kDict)
    fail("{}: expected a JSON object with one record per batch size", source);
  const int dropped = dropped_runs(benchmark);
  for (const auto& entry : records.dict().entries) {
    const Value& name = entry.first;
    const Value& record = entry.second;
    const auto field = [&](std::string_view key) -> const Value& {
      const Value* found = record.kind() == Kind::kDict ? record.dict().find(key) : nullptr;
      if (found == nullptr) fail("{}: record '{}' has no \"{}\"", source, to_str(name), key);
      return *found;
    };
    const bool samples = benchmark == "llama2_70b_lora" || benchmark == "flux1";
    const Value& counts = field(samples ? "samples to converge" : "Epochs to converge");
    if (counts.kind() != Kind::kList)
      fail("{}: record '{}': the runs must be a list", source, to_str(name));
    ReferencePoint point;
    try {
      point.batch_size = to_double(field("BS"), "BS");
      for (const Value& count : counts.items()) point.epochs.push_back(to_double(count, "epochs"));
    } catch (const RuleError& error) {
      fail("{}: record '{}': {}", source, to_str(name), error.what());
    }
    std::sort(point.epochs.begin(), point.epochs.end());
    point.mean = olympic_mean(point.epochs, dropped);
    point.stdev = standard_deviation(point.epochs);
    if (std::isnan(point.mean)) fail("{}: record '{}' has too few runs", source, to_str(name));
    const double count = static_cast<double>(point.epochs.size()) - 2.0 * dropped;
    point.least_mean = least_acceptable_mean(point.mean, point.stdev, count, submission_runs_);
    point.max_speedup = point.mean / point.least_mean;
    full_.push_back(std::move(point));
  }
  if (full_.empty()) fail("{}: holds no reference points", source);
  std::stable_sort(
      full_.begin(), full_.end(),
      [](const ReferencePoint& a, const ReferencePoint& b) { return a.batch_size < b.batch_size; });
  prune();
}

ReferencePoint ReferencePoints::interpolate(double batch_size, const ReferencePoint& low,
                                            const ReferencePoint& high) const {
  const auto at = [&](double from, double to) {
    return (to - from) / (high.batch_size - low.batch_size) * (batch_size - low.batch_size) + from;
  };
  ReferencePoint point;
  point.batch_size = batch_size;
  point.mean = at(low.mean, high.mean);
  point.stdev = at(low.stdev, high.stdev);
  point.least_mean =
      least_acceptable_mean(point.mean, point.stdev, submission_runs_ * 2.0, submission_runs_);
  point.max_speedup = point.mean / point.least_mean;
  return point;
}

// Removes all points with a batch smaller than that of the fastest, then every point slower than
// the line through its neighbours.
void ReferencePoints::prune() {
  const auto fastest = std::min_element(
      full_.begin(), full_.end(),
      [](const ReferencePoint& a, const ReferencePoint& b) { return a.mean < b.mean; });
  const double smallest = fastest->batch_size;
  std::copy_if(full_.begin(), full_.end(), std::back_inserter(pruned_),
               [&](const ReferencePoint& point) { return point.batch_size >= smallest; });
  for (size_t i = 1; i + 1 < pruned_.size();) {
    const ReferencePoint& low = pruned_[i - 1];
    const ReferencePoint& high = pruned_[i + 1];
    const double share =
        (pruned_[i].batch_size - low.batch_size) / (high.batch_size - low.batch_size);
    const double line = low.mean + share * (high.mean - low.mean);
    if (pruned_[i].mean > line) {
      pruned_.erase(pruned_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

std::optional<ReferencePoints> load_reference_points(const std::filesystem::path& directory,
                                                     std::string_view usage,
                                                     std::string_view ruleset,
                                                     std::string_view benchmark) {
  if (submission_runs(usage, benchmark) == 0) return std::nullopt;
  const std::string name = fmt::format("{}_{}/rcps_{}.json", usage, ruleset, benchmark);
  if (directory.empty()) {
    return load_built_in(usage, ruleset, benchmark);
  }
  std::error_code error;
  for (const char* inner : {"", "rcp_checker", "mlperf_logging/rcp_checker"}) {
    const auto path = directory / inner / name;
    if (!std::filesystem::is_regular_file(path, error)) continue;
    return ReferencePoints(read_file(path, kMostFileBytes), path.string(), usage, ruleset,
                           benchmark);
  }
  return std::nullopt;
}

RcpVerdict check_rcp(const FolderConvergence& folder, const std::filesystem::path& directory,
                     std::string_view usage, std::string_view ruleset, RcpPass pass,
                     const std::vector<std::filesystem::path>& others) {
  RcpVerdict verdict(folder);
  if (!verdict.readable) return verdict;
  if (const WorkloadPoints* own = find_workload_points(folder)) return check_workload(folder, *own);
  if (compare_versions(ruleset, "1.0.0") < 0) {
    verdict.message = fmt::format(
        "There are no reference convergence points before round 1.0 (ruleset {})", ruleset);
    return verdict;
  }
  if (submission_runs(usage, folder.benchmark) == 0) {
    verdict.message =
        fmt::format("The official convergence check has no number of runs for benchmark '{}'",
                    folder.benchmark);
    return verdict;
  }
  auto points = load_reference_points(directory, usage, ruleset, folder.benchmark);
  for (size_t i = 0; !points && i < others.size(); ++i)
    points = load_reference_points(others[i], usage, ruleset, folder.benchmark);
  if (!points) {
    verdict.message =
        fmt::format("There are no reference convergence points for benchmark '{}' in {} {}",
                    folder.benchmark, usage, ruleset);
    return verdict;
  }
  verdict = check_rcp(folder, *points, pass);
  verdict.note = other_target(folder, ruleset);
  return verdict;
}

ReferencePoints read_reference_points(const std::filesystem::path& file, std::string_view usage,
                                      std::string_view ruleset, std::string_view benchmark) {
  return points_of(read_file(file, kMostFileBytes), file, usage, ruleset, benchmark);
}

RcpVerdict check_rcp_by(const std::filesystem::path& file, const FolderConvergence& folder,
                        std::string_view usage, std::string_view ruleset, RcpPass pass) {
  const std::string text = read_file(file, kMostFileBytes);
  if (WorkloadPoints::has_workload(text))
    return check_workload(folder, WorkloadPoints(text, file.string()));
  if (!folder.problem.empty()) return RcpVerdict(folder);
  return check_rcp(folder, points_of(text, file, usage, ruleset, folder.benchmark), pass);
}

RcpVerdict check_rcp(const FolderConvergence& folder, const ReferencePoints& points, RcpPass pass) {
  RcpVerdict verdict(folder);
  if (!verdict.readable) return verdict;
  verdict.judged = true;
  verdict.points = points.source();
  verdict.points_sha256 = points.sha256();
  if (!folder.batch_size) {
    verdict.message = "Could not detect global_batch_size";
    return verdict;
  }
  if (!folder.enough) {
    verdict.message = "Insufficient convergence";
    return verdict;
  }
  verdict.may_be_reviewed = true;
  const auto& candidates = pass == RcpPass::kPruned ? points.pruned() : points.full();
  const double batch_size = *folder.batch_size;
  const std::string missing =
      fmt::format("Missing RCP, please submit RCP with BS = {}", format_batch_size(batch_size));
  if (const ReferencePoint* exact = find_exact(candidates, batch_size)) {
    verdict.message = "RCP found";
    verdict.point_batch_sizes = {batch_size};
    judge(*exact, points, folder.epochs, verdict);
    return verdict;
  }
  const ReferencePoint* low = find_below(candidates, batch_size);
  const ReferencePoint* high = find_above(candidates, batch_size);
  if (low != nullptr && high != nullptr) {
    verdict.message = "RCP Interpolation";
    verdict.point_batch_sizes = {low->batch_size, high->batch_size};
    judge(points.interpolate(batch_size, *low, *high), points, folder.epochs, verdict);
  } else if (high != nullptr) {
    verdict.point_batch_sizes = {high->batch_size};
    judge(*high, points, folder.epochs, verdict);
    verdict.message =
        verdict.passed ? "RCP not found but slower convergence on smaller batch size" : missing;
  } else {
    verdict.message = missing;
  }
  return verdict;
}

}  // namespace strata::compliance
