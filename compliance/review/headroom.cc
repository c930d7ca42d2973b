#include "compliance/review/headroom.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "compliance/checks/evaluation_interval.h"
#include "compliance/checks/rounds.h"

namespace strata::compliance {
namespace {

std::string evaluations_text(double number) {
  const std::string text = rounded_text(number, 2);
  return text + (text == "1" ? " evaluation" : " evaluations");
}

// Returns the number of runs in the olympic mean.
size_t counted_runs(const FolderConvergence& folder) {
  const auto dropped = 2 * static_cast<size_t>(dropped_runs(folder.benchmark));
  return folder.epochs.size() > dropped ? folder.epochs.size() - dropped : 0;
}

std::string describe_missing_point(const FolderConvergence& folder, const ReferencePoints& points) {
  const double batch = *folder.batch_size;
  const ReferencePoint *low = nullptr, *high = nullptr;
  for (const ReferencePoint& point : points.pruned()) {
    if (point.batch_size < batch) low = &point;
    if (point.batch_size > batch && high == nullptr) high = &point;
  }
  const auto describe = [](const ReferencePoint& point) {
    return fmt::format("{} (mean {}, at least {} required)", count_text(point.batch_size),
                       count_text(point.mean), count_text(point.mean / point.max_speedup));
  };
  std::string text = "no reference point covers this batch size; the nearest";
  if (low != nullptr) text += fmt::format(" below is {}", describe(*low));
  if (low != nullptr && high != nullptr) text += ",";
  if (high != nullptr) text += fmt::format(" above is {}", describe(*high));
  return text + ". To pass, use such a batch size, or ask the working group for a reference point";
}

}  // namespace

std::optional<double> evaluation_distance(const std::vector<RunRecord>& runs) {
  std::vector<double> distances;
  for (const RunRecord& run : runs) {
    for (size_t i = 1; i < run.evaluations.size(); ++i) {
      const auto &before = run.evaluations[i - 1].count, &now = run.evaluations[i].count;
      if (before && now && *now > *before) distances.push_back(*now - *before);
    }
  }
  if (distances.empty()) return std::nullopt;
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::ranges::nth_element(distances, middle);
  return std::isfinite(*middle) ? std::optional(*middle) : std::nullopt;
}

std::optional<Headroom> headroom_of(const RcpVerdict& verdict, size_t counted,
                                    std::optional<double> distance) {
  if (!verdict.judged || !verdict.submission_mean || !verdict.least_mean || !distance ||
      counted == 0) {
    return std::nullopt;
  }
  Headroom headroom;
  headroom.evaluations = (*verdict.submission_mean - *verdict.least_mean) / *distance;
  if (!std::isfinite(headroom.evaluations)) return std::nullopt;
  if (headroom.evaluations < 0) {
    // A tiny excess over a whole number is rounding.
    constexpr double kHair = 1e-9;
    headroom.missing =
        std::ceil(-headroom.evaluations * static_cast<double>(counted) * (1 - kHair));
  }
  return headroom;
}

std::vector<std::string> describe_headroom(const RcpVerdict& verdict,
                                           const FolderConvergence& folder,
                                           const std::vector<RunRecord>& runs,
                                           const ReferencePoints* points,
                                           const std::string& nearest) {
  const std::string also = nearest.empty() ? "" : "; " + nearest;
  std::vector<std::string> texts;
  if (!verdict.judged || !verdict.readable || verdict.two_sided) return texts;
  if (!verdict.submission_mean) {
    if (folder.batch_size && folder.enough && points != nullptr)
      texts.push_back(describe_missing_point(folder, *points) + also);
    return texts;
  }
  constexpr double kFewestSamples = 1000;  // no evaluation interval is as short
  const bool bert = folder.benchmark == "bert";
  const bool no_samples = bert && *verdict.submission_mean < kFewestSamples;
  if (no_samples) {
    texts.push_back(
        verdict.by_train_samples
            ? "the headroom is unknown: train_samples does not count samples either"
            : "the headroom is unknown: epoch_num of the evaluations does not count samples, so "
              "the convergence check compared something else with the reference; if train_samples "
              "counts samples, use --rcp-bert-train-samples");
    return texts;
  }
  const size_t counting = counted_runs(folder);
  auto distance = evaluation_distance(runs);
  if (!distance && bert && is_batch_size(folder.batch_size)) {
    distance =
        static_cast<double>(mlperf_evaluation_interval(static_cast<int64_t>(*folder.batch_size)));
  }
  const auto headroom = headroom_of(verdict, counting, distance);
  if (!headroom) return texts;
  if (verdict.passed) {
    texts.push_back(fmt::format(
        "passes the convergence check by {}, averaged over {}; an evaluation follows every {} {}{}",
        evaluations_text(headroom->evaluations), counted(counting, "run"), count_text(*distance),
        convergence_unit(folder.benchmark), also));
    return texts;
  }
  std::string text = fmt::format(
      "fails the convergence check by {}, averaged over {}; an evaluation follows every {} {}; it "
      "would pass if these runs took {} in total",
      evaluations_text(-headroom->evaluations), counted(counting, "run"), count_text(*distance),
      convergence_unit(folder.benchmark), counted(headroom->missing, "more evaluation"));
  if (verdict.scaling > 1) {
    text += fmt::format(
        ", or if the working group agrees to multiply the score by {:.4f} (scaling.json)",
        verdict.scaling);
  }
  texts.push_back(text + also);
  return texts;
}

std::string describe_nearest(double batch_size, const std::string& own,
                             const std::vector<PublishedConvergence>& published) {
  if (!(batch_size > 0)) return {};
  constexpr size_t kShown = 2;
  std::vector<const PublishedConvergence*> nearest;
  for (const PublishedConvergence& one : published) {
    if (one.name != own && one.batch_size > 0) nearest.push_back(&one);
  }
  std::ranges::stable_sort(nearest, {}, [&](const PublishedConvergence* one) {
    return std::fabs(std::log(one->batch_size / batch_size));
  });
  if (nearest.size() > kShown) nearest.resize(kShown);
  std::string text;
  for (const PublishedConvergence* one : nearest) {
    text +=
        fmt::format("{}{} (batch size {}, mean {})", text.empty() ? "" : ", ",
                    printable_text(one->name), count_text(one->batch_size), count_text(one->mean));
  }
  return text.empty() ? text : "results with the nearest batch sizes: " + text;
}

}  // namespace strata::compliance
