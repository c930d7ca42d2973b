#include "plan/published/published_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/counts.h"
#include "compliance/checks/evaluation_interval.h"
#include "scoring/event_json.h"

namespace strata::plan {
namespace {

using mllog::Event;
using nlohmann::json;
using scoring::metadata_of;
using scoring::number_in;
using scoring::parsed;

// Fewer evaluations give no reliable time between them.
constexpr size_t kFewestEvaluations = 3;
constexpr double kMostBatch = 1e9;

// Reads the events of a log in order. If a run began anew, the last one counts.
class RunReader {
 public:
  void take(const Event& event) {
    if (event.key == "global_batch_size") batch_ = number_in(parsed(event.value));
    if (event.key == "gradient_accumulation_steps") micro_batches_ = number_in(parsed(event.value));
    if (event.key == "train_samples") train_samples_ = number_in(parsed(event.value));
    if (event.key == "submission_division") {
      const json name = parsed(event.value);
      if (name.is_string()) run_.division = name;
    }
    if (event.key == "run_start") begin(event.time_ms);
    if (!start_ms_) return;
    const double seconds = (event.time_ms - *start_ms_) / 1000;
    if (!std::isfinite(seconds)) return;
    if (event.key == "eval_accuracy") {
      ends_.push_back({seconds, number_in(metadata_of(event, "epoch_num"))});
    }
    if (event.key == "block_stop") block_stop_ = seconds;
    if (event.key == "block_start" && block_stop_) {
      gaps_.push_back(seconds - *block_stop_);
      block_stop_.reset();
    }
    if (event.key == "run_stop") {
      run_.seconds = seconds;
      converged_ = metadata_of(event, "status") == "success";
    }
  }

  PublishedRun finish() {
    run_.problem = problem();
    if (!run_.problem.empty()) return std::move(run_);
    run_.batch = *batch_;
    run_.micro_batches = static_cast<int64_t>(micro_batches_.value_or(1));
    std::ranges::stable_sort(ends_, {}, &End::seconds);
    place_samples();
    if (gaps_.size() >= kFewestEvaluations - 1) {
      std::ranges::sort(gaps_);
      run_.evaluation_seconds = std::max(0.0, gaps_[gaps_.size() / 2]);
    }
    run_.problem = problem_of_evaluations();
    return std::move(run_);
  }

 private:
  struct End {
    double seconds = 0;
    std::optional<double> samples;
  };

  void begin(double time_ms) {
    start_ms_ = time_ms;
    ends_.clear();
    gaps_.clear();
    block_stop_.reset();
    converged_ = false;
  }

  std::string problem() const {
    if (!start_ms_) return "run_start is not logged";
    if (!converged_) return "run_stop does not say success";
    if (run_.seconds <= 0) return "run_stop is not after run_start";
    if (!batch_) return "global_batch_size is not logged as a number";
    if (*batch_ < 1 || *batch_ > kMostBatch) {
      return fmt::format("global_batch_size is {}", count_text(*batch_));
    }
    const double micro_batches = micro_batches_.value_or(1);
    if (micro_batches < 1 || micro_batches > *batch_) {
      return fmt::format("gradient_accumulation_steps is {}, not from 1 to the batch size, {}",
                         count_text(micro_batches), count_text(*batch_));
    }
    if (ends_.size() < kFewestEvaluations) {
      return fmt::format("{}, but {} are needed to time the steps between them",
                         counted(ends_.size(), "evaluation"), kFewestEvaluations);
    }
    return "";
  }

  // Rounds up to whole batches.
  double whole(double samples) const { return std::ceil(samples / *batch_ - 1e-9) * *batch_; }

  // Returns whether the numbers are samples, not epochs: they rise, to more than a few batches.
  bool counts_samples() const {
    double before = 0;
    for (const End& end : ends_) {
      if (!end.samples || *end.samples <= before) return false;
      before = *end.samples;
    }
    return before > static_cast<double>(ends_.size()) && before > *batch_;
  }

  void place_samples() {
    const auto count = static_cast<double>(ends_.size());
    const auto interval =
        static_cast<double>(compliance::mlperf_evaluation_interval(static_cast<int64_t>(*batch_)));
    const bool counted = counts_samples();
    // Logs may lack the first evaluations.
    double left_out = 0;
    bool by_rule = true;
    if (train_samples_ && !counted) {
      left_out = std::max(0.0, std::floor(*train_samples_ / interval + 0.5) - count);
      by_rule = std::fabs(whole((left_out + count) * interval) - *train_samples_) <= 2 * *batch_;
    }
    for (size_t i = 0; i < ends_.size(); ++i) {
      const double number = static_cast<double>(i) + 1;
      const double samples = counted   ? *ends_[i].samples
                             : by_rule ? (left_out + number) * interval
                                       : *train_samples_ * number / count;
      run_.evaluations.push_back({ends_[i].seconds, whole(samples)});
    }
  }

  std::string problem_of_evaluations() const {
    const EvaluationTime& first = run_.evaluations.front();
    const EvaluationTime& last = run_.evaluations.back();
    const bool in_order = first.seconds > 0 && last.seconds > first.seconds && first.samples > 0 &&
                          last.samples > first.samples && std::isfinite(last.samples);
    return in_order ? "" : "the evaluations are not in order";
  }

  PublishedRun run_;
  std::optional<double> start_ms_, batch_, micro_batches_, train_samples_, block_stop_;
  std::vector<End> ends_;
  std::vector<double> gaps_;
  bool converged_ = false;
};

}  // namespace

PublishedRun read_published_run(const mllog::LogReader& log) {
  RunReader reader;
  log.visit([&](const Event& event) {
    reader.take(event);
    return true;
  });
  PublishedRun run = reader.finish();
  run.log = log.path();
  return run;
}

PublishedRun read_published_run(const std::filesystem::path& log) {
  try {
    return read_published_run(mllog::LogReader(log, mllog::LogFormat::kMllog));
  } catch (const Error& error) {
    PublishedRun run;
    run.log = log;
    run.problem = error.what();
    return run;
  }
}

}  // namespace strata::plan
