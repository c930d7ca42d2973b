#include "compliance/review/evaluation_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "compliance/checks/evaluation_interval.h"
#include "compliance/checks/rounds.h"

namespace strata::compliance {
namespace {

constexpr double kBertTrainSamples = 156'725'653;
constexpr double kLargestBatch = 1e12;  // beyond which nothing is a batch

// Where the reference's sizes are what its logs hold. Elsewhere (maskrcnn, ssd since 2.0, rnnt's
// training set) logs count batches or padded samples.
struct ReferenceData {
  std::string_view benchmark;
  std::string_view last_round;
  double train_samples;  // 0: logs hold what the run trained on
  double eval_samples;
};
constexpr ReferenceData kReferenceData[] = {
    {"bert", "5.0.0", 0, 10'000},           {"dlrm", "2.1.0", 0, 89'137'319},
    {"resnet", "4.0.0", 1'281'167, 50'000}, {"rnnt", "3.1.0", 0, 2703},
    {"ssd", "1.1.0", 117'266, 5000},        {"unet3d", "4.0.0", 168, 42},
};

// Epochs up to the first evaluation, and from one to the next. Counts begin at 0 or 1.
struct EpochSchedule {
  double first;
  double distance;
  double samples = 0;  // of an epoch, where the batch size decides; the first must then be exact
};

std::optional<EpochSchedule> epoch_schedule(const RunRecord& record, std::string_view benchmark,
                                            std::string_view ruleset) {
  const auto within = [&](std::string_view first, std::string_view last) {
    return compare_versions(ruleset, first) >= 0 && compare_versions(ruleset, last) <= 0;
  };
  if (benchmark == "resnet" && within("1.1.0", "4.0.0")) return EpochSchedule{4, 4};
  if (benchmark == "ssd" && within("1.1.0", "1.1.0")) return EpochSchedule{5, 5};
  if (benchmark == "ssd" && within("2.0.0", "5.1.0")) return EpochSchedule{1, 1};
  if ((benchmark == "maskrcnn" || benchmark == "rnnt") && within("1.1.0", "3.1.0"))
    return EpochSchedule{1, 1};
  const auto batch = record.number("global_batch_size");
  if (benchmark == "unet3d" && within("1.1.0", "4.0.0") && batch && *batch >= 1 &&
      *batch <= kLargestBatch) {
    constexpr double kCases = 168, kFirst = 1000, kEvery = 20;
    const double samples =
        std::ceil(kCases / *batch) * *batch;  // of an epoch, the last batch padded
    return EpochSchedule{std::ceil(kFirst * kCases / samples), std::ceil(kEvery * kCases / samples),
                         samples};
  }
  return std::nullopt;
}

void review_epochs(const RunRecord& record, const EpochSchedule& schedule,
                   std::vector<Doubt>& doubts) {
  const auto& evaluations = record.evaluations;
  for (const Evaluation& evaluation : evaluations) {
    if (!evaluation.count) return;
  }
  const double first = *evaluations.front().count;
  // An epoch less where counts begin at 0.
  if (first > schedule.first || (schedule.samples > 0 && first < schedule.first - 1)) {
    doubts.push_back(
        {"review/evaluation/first",
         fmt::format("the first evaluation is after {} epochs; the round's rules ask "
                     "for one after {}{}",
                     count_text(first), count_text(schedule.first),
                     schedule.samples > 0
                         ? fmt::format(", since an epoch has {} samples in whole batches",
                                       count_text(schedule.samples))
                         : " at most"),
         evaluations.front().offset});
  }
  size_t off_schedule = 0;
  const Evaluation* worst = nullptr;
  double worst_distance = 0;
  for (size_t i = 1; i < evaluations.size(); ++i) {
    const double distance = *evaluations[i].count - *evaluations[i - 1].count;
    if (distance == 0 || distance == schedule.distance) continue;
    ++off_schedule;
    if (worst != nullptr) continue;
    worst = &evaluations[i];
    worst_distance = distance;
  }
  if (worst == nullptr) return;
  doubts.push_back(
      {"review/evaluation/interval",
       fmt::format("{} of {} evaluations are not {} epoch{} after the one before, as the round's "
                   "rules ask; this one is {} after it",
                   off_schedule, evaluations.size(), count_text(schedule.distance),
                   schedule.distance == 1 ? "" : "s", count_text(worst_distance)),
       worst->offset});
}

const ReferenceData* reference_data(std::string_view benchmark, std::string_view ruleset) {
  for (const ReferenceData& data : kReferenceData) {
    if (data.benchmark == benchmark && compare_versions(ruleset, data.last_round) <= 0)
      return &data;
  }
  return nullptr;
}

void compare_size(const RunRecord& record, const char* key, const char* id, double wanted,
                  std::vector<Doubt>& doubts) {
  const auto found = record.numbers.find(key);
  if (found == record.numbers.end() || wanted == 0 || found->second.value == wanted) return;
  doubts.push_back({fmt::format("review/data/{}", id),
                    fmt::format("{} is {}; the reference's data have {}", key,
                                count_text(found->second.value), count_text(wanted)),
                    found->second.offset});
}

class BertSchedule {
 public:
  BertSchedule(const RunRecord& record, double batch, std::vector<Doubt>& doubts)
      : record_(record),
        batch_(batch),
        interval_(static_cast<double>(mlperf_evaluation_interval(static_cast<int64_t>(batch)))),
        doubts_(doubts) {}

  void review() {
    if (counts_samples(record_)) {
      review_first();
      review_intervals();
      review_train_samples();
    } else {
      review_by_train_samples();
    }
  }

 private:
  std::string wanted() const {
    return fmt::format("{} samples at global batch size {}", count_text(interval_),
                       count_text(batch_));
  }

  void review_first() {
    for (const Evaluation& evaluation : record_.evaluations) {
      if (*evaluation.count == 0) continue;  // before training
      const double off = *evaluation.count - interval_;
      if (std::fabs(off) <= batch_) return;
      doubts_.push_back(
          {"review/evaluation/first",
           fmt::format("the first evaluation is after {} samples, {:.3g} batches {}; the round's "
                       "formula asks for one after {}",
                       count_text(*evaluation.count), std::fabs(off) / batch_,
                       off < 0 ? "early" : "late", wanted()),
           evaluation.offset});
      return;
    }
  }

  void review_intervals() {
    size_t off_schedule = 0;
    double worst = 0, worst_distance = 0;
    uint64_t offset = 0;
    const auto& evaluations = record_.evaluations;
    for (size_t i = 1; i < evaluations.size(); ++i) {
      const double distance = *evaluations[i].count - *evaluations[i - 1].count;
      // Below sample 0 lies nothing, and several processes may log the same evaluation.
      if (*evaluations[i - 1].count == 0 || distance == 0) continue;
      const double off = std::fabs(distance - interval_);
      if (off <= 2 * batch_) continue;
      ++off_schedule;
      if (off <= worst) continue;
      worst = off;
      worst_distance = distance;
      offset = evaluations[i].offset;
    }
    if (off_schedule == 0) return;
    doubts_.push_back(
        {"review/evaluation/interval",
         fmt::format(
             "{} of {} evaluations are not after {}, two batches more or less; this one is {} "
             "samples after the one before",
             off_schedule, evaluations.size(), wanted(), count_text(worst_distance)),
         offset});
  }

  void review_train_samples() {
    const auto found = record_.numbers.find("train_samples");
    if (found == record_.numbers.end() || found->second.value == kBertTrainSamples) return;
    const double last = *record_.evaluations.back().count;
    const double said = found->second.value;
    if (said >= last - batch_ && said <= last + interval_) return;
    doubts_.push_back(
        {"review/data/train-samples",
         fmt::format("train_samples is {}, neither the reference's {} nor the samples of this run, "
                     "whose last evaluation is after {}",
                     count_text(said), count_text(kBertTrainSamples), count_text(last)),
         found->second.offset});
  }

  // Without counts the samples of the run, spread over its evaluations, tell the interval.
  void review_by_train_samples() {
    const auto found = record_.numbers.find("train_samples");
    const auto evaluations = static_cast<double>(record_.evaluations.size());
    const Evaluation& first = record_.evaluations.front();
    const std::string constant =
        first.count ? fmt::format("epoch_num of all evaluations is {}", count_text(*first.count))
                    : std::string("evaluations have no epoch_num");
    if (found == record_.numbers.end() || found->second.value == kBertTrainSamples) {
      doubts_.push_back({"review/evaluation/count",
                         fmt::format("{}, where BERT's counts training samples: neither the "
                                     "evaluation schedule nor convergence can be judged",
                                     constant),
                         first.offset});
      return;
    }
    const double each = found->second.value / evaluations;
    if (std::fabs(each - interval_) <= batch_) return;
    doubts_.push_back(
        {"review/evaluation/interval",
         fmt::format("{} evaluations over the {} samples of train_samples are one after {} each; "
                     "the round's formula asks for {}",
                     count_text(evaluations), count_text(found->second.value), count_text(each),
                     wanted()),
         found->second.offset});
  }

  const RunRecord& record_;
  double batch_, interval_;
  std::vector<Doubt>& doubts_;
};

}  // namespace

bool counts_samples(const RunRecord& record) {
  const auto& evaluations = record.evaluations;
  if (evaluations.empty()) return false;
  constexpr double kFewest = 1000;  // no evaluation interval is as short
  double before = -1;
  for (const Evaluation& evaluation : evaluations) {
    if (!evaluation.count || *evaluation.count < before) return false;
    before = *evaluation.count;
  }
  return before >= kFewest && (evaluations.size() == 1 || before > *evaluations.front().count);
}

std::vector<Doubt> review_evaluations(const RunRecord& record, std::string_view ruleset) {
  std::vector<Doubt> doubts;
  if (record.said("division") != "closed") return doubts;
  const std::string_view benchmark = record.said("benchmark");
  if (const auto schedule = epoch_schedule(record, benchmark, ruleset);
      schedule && !record.evaluations.empty()) {
    review_epochs(record, *schedule, doubts);
  }
  const ReferenceData* data = reference_data(benchmark, ruleset);
  if (data == nullptr) return doubts;
  compare_size(record, "train_samples", "train-samples", data->train_samples, doubts);
  compare_size(record, "eval_samples", "eval-samples", data->eval_samples, doubts);
  const auto batch = record.number("global_batch_size");
  if (benchmark == "bert" && batch && *batch >= 1 && *batch <= kLargestBatch &&
      !record.evaluations.empty()) {
    BertSchedule(record, std::floor(*batch), doubts).review();
  }
  return doubts;
}

}  // namespace strata::compliance
