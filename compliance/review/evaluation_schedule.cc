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
constexpr double kBatchesLate = 2;  // lateness allowed for an evaluation
constexpr double kDistanceOff = 3;  // batches that a distance may deviate by

// How a log counts the reference's data.
enum class Counted {
  kNothing,  // logs have the number of trained samples, or an iteration limit
  kSamples,
  kWholeBatches,      // samples; the last batch is left out or filled up
  kSamplesOrBatches,  // batches of the global batch size, the last one unchanged
};

struct Size {
  Counted counted = Counted::kNothing;
  double samples = 0;
  double most = samples;  // if logs have between `samples` and this number
};

// The numbers in the logs of the given rounds. maskrcnn logs an iteration limit, as its reference
// does. There were no logs of ssd 2.1 and later.
struct ReferenceData {
  std::string_view benchmark;
  std::string_view last_round;
  Size train, eval;
};
constexpr ReferenceData kReferenceData[] = {
    {"bert", "5.0.0", {}, {Counted::kSamples, 10'000}},
    {"dlrm", "2.1.0", {}, {Counted::kSamples, 89'137'319}},
    {"resnet", "4.0.0", {Counted::kSamples, 1'281'167}, {Counted::kSamples, 50'000}},
    // LibriSpeech without long utterances. Logs have the whole batches of 512 to 6144.
    {"rnnt", "3.1.0", {Counted::kWholeBatches, 278'528, 279'039}, {Counted::kSamples, 2703}},
    {"ssd", "1.1.0", {Counted::kSamples, 117'266}, {Counted::kSamples, 5000}},
    {"ssd", "2.0.0", {Counted::kSamplesOrBatches, 1'170'301}, {Counted::kSamplesOrBatches, 24'781}},
    {"unet3d", "4.0.0", {Counted::kSamples, 168}, {Counted::kSamples, 42}},
};

// Epochs up to the first evaluation, and between two. Counts begin at 0 or 1.
struct EpochSchedule {
  double first;
  double distance;
  double samples = 0;  // per epoch, if the batch decides; `first` is then exact
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
  if (benchmark == "unet3d" && within("1.1.0", "4.0.0") && is_batch_size(batch)) {
    constexpr double kCases = 168, kFirst = 1000, kEvery = 20;
    const double samples =
        std::ceil(kCases / *batch) * *batch;  // an epoch's, the last batch padded
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
  // Counts that begin at 0 have one epoch less.
  if (first > schedule.first || (schedule.samples > 0 && first < schedule.first - 1)) {
    doubts.push_back(
        {"review/evaluation/first",
         fmt::format("the first evaluation is after {}; the round's rules require one after {}{}",
                     counted(first, "epoch"), count_text(schedule.first),
                     schedule.samples > 0
                         ? fmt::format(", because an epoch of whole batches has {} samples",
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
       fmt::format("{} of {} {} off schedule: the round's rules require {} between "
                   "evaluations; the evaluation of this line is {} after the previous one",
                   off_schedule, counted(evaluations.size(), "evaluation"),
                   off_schedule == 1 ? "is" : "are", counted(schedule.distance, "epoch"),
                   counted(worst_distance, "epoch")),
       worst->offset});
}

const ReferenceData* reference_data(std::string_view benchmark, std::string_view ruleset) {
  for (const ReferenceData& data : kReferenceData) {
    if (data.benchmark == benchmark && compare_versions(ruleset, data.last_round) <= 0)
      return &data;
  }
  return nullptr;
}

bool agrees(double found, const Size& size, double batch) {
  switch (size.counted) {
    case Counted::kNothing:
      return true;
    case Counted::kSamples:
      return found == size.samples;
    case Counted::kWholeBatches:
      return found > size.samples - batch && found < size.most + batch;
    case Counted::kSamplesOrBatches:
      return found == size.samples || found == std::ceil(size.samples / batch);
  }
  return true;
}

void compare_size(const RunRecord& record, const char* key, const char* id, const Size& size,
                  std::vector<Doubt>& doubts) {
  const auto found = record.numbers.find(key);
  if (found == record.numbers.end()) return;
  const bool by_batch =
      size.counted == Counted::kWholeBatches || size.counted == Counted::kSamplesOrBatches;
  const auto batch = record.number("global_batch_size");
  if (by_batch && !is_batch_size(batch)) return;
  if (agrees(found->second.value, size, by_batch ? *batch : 0)) return;
  std::string wanted = count_text(size.samples);
  if (size.counted == Counted::kWholeBatches) {
    wanted = fmt::format("{} to {}, in whole batches of {}", wanted, count_text(size.most),
                         count_text(*batch));
  } else if (size.counted == Counted::kSamplesOrBatches) {
    wanted += fmt::format(" or {} of {}", counted(std::ceil(size.samples / *batch), "batch"),
                          count_text(*batch));
  }
  doubts.push_back({fmt::format("review/data/{}", id),
                    fmt::format("{} is {}, but the reference data have {}", key,
                                count_text(found->second.value), wanted),
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
      if (off >= -batch_ && off <= kBatchesLate * batch_) return;
      doubts_.push_back(
          {"review/evaluation/first",
           fmt::format("the first evaluation is after {} samples, {} batches {}; the round's "
                       "formula requires one after {}",
                       count_text(*evaluation.count), rounded_text(std::fabs(off) / batch_),
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
      // Nothing precedes sample 0, and several processes may log the same evaluation.
      if (*evaluations[i - 1].count == 0 || distance == 0) continue;
      const double off = std::fabs(distance - interval_);
      if (off <= kDistanceOff * batch_) continue;
      ++off_schedule;
      if (off <= worst) continue;
      worst = off;
      worst_distance = distance;
      offset = evaluations[i].offset;
    }
    if (off_schedule == 0) return;
    doubts_.push_back(
        {"review/evaluation/interval",
         fmt::format("{} of {} {} off schedule: the interval must be {}, with a tolerance of three "
                     "batches; the evaluation of this line is {} samples after the previous one, "
                     "the largest deviation",
                     off_schedule, counted(evaluations.size(), "evaluation"),
                     off_schedule == 1 ? "is" : "are", wanted(), count_text(worst_distance)),
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
         fmt::format("train_samples is {}; it must be the reference's {}, or the number of samples "
                     "that this run trained on (its last evaluation is after {})",
                     count_text(said), count_text(kBertTrainSamples), count_text(last)),
         found->second.offset});
  }

  // Without counts, the interval follows from the run's samples, divided evenly among its
  // evaluations.
  void review_by_train_samples() {
    const auto found = record_.numbers.find("train_samples");
    const auto evaluations = static_cast<double>(record_.evaluations.size());
    const Evaluation& first = record_.evaluations.front();
    const auto without = static_cast<double>(std::ranges::count_if(
        record_.evaluations, [](const Evaluation& one) { return !one.count.has_value(); }));
    if (without == 0 && !is_constant()) return;  // the counts are no samples
    const std::string constant =
        without == 0
            ? fmt::format("epoch_num of all evaluations is {}", count_text(*first.count))
            : fmt::format("{} of {} {} no epoch_num", count_text(without),
                          counted(evaluations, "evaluation"), without == 1 ? "has" : "have");
    if (found == record_.numbers.end() || found->second.value == kBertTrainSamples) {
      doubts_.push_back(
          {"review/evaluation/count",
           fmt::format("{}, but in BERT's logs it counts training samples: the evaluation "
                       "schedule cannot be judged, and convergence only by "
                       "--rcp-bert-train-samples, if evaluations log train_samples",
                       constant),
           first.offset});
      return;
    }
    const double each = found->second.value / evaluations;
    if (std::fabs(each - interval_) <= kBatchesLate * batch_) return;
    doubts_.push_back(
        {"review/evaluation/interval",
         fmt::format("{} over {} train_samples {} one per {} samples; the round's formula requires "
                     "one per {}",
                     counted(evaluations, "evaluation"), count_text(found->second.value),
                     evaluations == 1 ? "is" : "are", count_text(each), wanted()),
         found->second.offset});
  }

  bool is_constant() const {
    return std::ranges::all_of(record_.evaluations, [&](const Evaluation& one) {
      return one.count == record_.evaluations.front().count;
    });
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
  compare_size(record, "train_samples", "train-samples", data->train, doubts);
  compare_size(record, "eval_samples", "eval-samples", data->eval, doubts);
  const auto batch = record.number("global_batch_size");
  // In round 0.7 BERT was evaluated from 3,000,000 samples on, every 500,000.
  if (benchmark == "bert" && compare_versions(ruleset, "1.0.0") >= 0 && is_batch_size(batch) &&
      !record.evaluations.empty()) {
    BertSchedule(record, std::floor(*batch), doubts).review();
  }
  return doubts;
}

}  // namespace strata::compliance
