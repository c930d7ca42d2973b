#include "compliance/review/clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace strata::compliance {
namespace {

constexpr double kDayMs = 864e5;
constexpr double kPauseFactor = 2.5;
constexpr double kPauseShare = 0.01;
constexpr size_t kFewestTimes = 5;

// The rules of minigo and Stable Diffusion let them evaluate saved models after the run, the latter
// in any order.
bool evaluates_after_the_run(const RunRecord& record) {
  const std::string_view benchmark = record.said("benchmark");
  return benchmark == "minigo" || benchmark == "stable_diffusion";
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// The time from one evaluation to the next.
struct Stretch {
  double time_ms = 0;
  double progress = 0;
  uint64_t offset = 0;  // offset of the event that ends it
};

bool same_count(const Evaluation& a, const Evaluation& b) {
  return a.count && a.count == b.count && a.unit == b.unit;
}

// Returns whether all evaluations have the same count, as if it were a constant of the log.
bool is_constant(const std::vector<Evaluation>& evaluations) {
  return std::ranges::all_of(
      evaluations, [&](const Evaluation& one) { return same_count(one, evaluations.front()); });
}

// Returns the evaluations within the run that make progress. If counts are equal or missing, each
// is one step. Empty if counts fall.
std::vector<Stretch> stretches_of(const RunRecord& record) {
  std::vector<const Evaluation*> inside;
  const bool constant = is_constant(record.evaluations);
  bool counted = true;
  for (const Evaluation& evaluation : record.evaluations) {
    if (evaluation.time_ms < record.run_start->time_ms ||
        evaluation.time_ms > record.run_stop->time_ms) {
      continue;
    }
    // Several processes, or metrics, may log one evaluation.
    if (!inside.empty() && same_count(evaluation, *inside.back()) &&
        (!constant || evaluation.time_ms - inside.back()->time_ms < kSlackMs)) {
      continue;
    }
    if (!inside.empty() && evaluation.unit != inside.back()->unit) return {};
    if (!inside.empty() && evaluation.count < inside.back()->count) return {};
    counted &= evaluation.count.has_value();
    inside.push_back(&evaluation);
  }
  counted &= !constant;
  std::vector<Stretch> stretches;
  for (size_t i = 1; i < inside.size(); ++i) {
    stretches.push_back({inside[i]->time_ms - inside[i - 1]->time_ms,
                         counted ? *inside[i]->count - *inside[i - 1]->count : 1,
                         inside[i]->offset});
  }
  return stretches;
}

void review_pauses(const RunRecord& record, std::vector<Doubt>& doubts) {
  std::vector<Stretch> stretches = stretches_of(record);
  if (stretches.size() < kFewestTimes) return;
  std::vector<double> paces, times;
  for (const Stretch& stretch : stretches) {
    paces.push_back(stretch.time_ms / stretch.progress);
    times.push_back(stretch.time_ms);
  }
  const double pace = median_of(paces), time = median_of(times);
  if (!(pace > 0) || !std::isfinite(pace)) return;
  double last = record.run_start->time_ms;
  for (const Evaluation& evaluation : record.evaluations) {
    if (evaluation.time_ms <= record.run_stop->time_ms) last = std::max(last, evaluation.time_ms);
  }
  // Adds the stretch to the end of the run, which makes no progress of its own.
  stretches.push_back({record.run_stop->time_ms - last, time / pace, record.run_stop->offset});
  const double run = *record.run_ms();
  size_t pauses = 0;
  const Stretch* worst = nullptr;
  double worst_excess = 0;
  for (const Stretch& stretch : stretches) {
    const double expected = stretch.progress * pace;
    const double excess = stretch.time_ms - expected;
    if (stretch.time_ms <= kPauseFactor * expected || excess < kPauseShare * run) continue;
    ++pauses;
    if (excess <= worst_excess) continue;
    worst_excess = excess;
    worst = &stretch;
  }
  if (worst == nullptr) return;
  const bool end = worst->offset == record.run_stop->offset;
  doubts.push_back(
      {"review/clock/pause",
       fmt::format("{} passed {}, but {} would be normal{}; the longest time without an event is "
                   "{}. Did the run stop, or continue elsewhere? The clock must not be paused",
                   duration_text(worst->time_ms),
                   end ? "from the last evaluation to run_stop" : "before this evaluation",
                   duration_text(worst->progress * pace),
                   pauses > 1 ? fmt::format(" ({} such times)", pauses) : "",
                   duration_text(record.silence.time_ms)),
       worst->offset});
}

void review_steps_back(const RunRecord& record, std::vector<Doubt>& doubts) {
  if (evaluates_after_the_run(record)) return;
  const auto& evaluations = record.evaluations;
  for (size_t i = 1; i < evaluations.size(); ++i) {
    const auto &before = evaluations[i - 1].count, &now = evaluations[i].count;
    if (!before || !now || *now >= *before) continue;
    if (evaluations[i].unit != evaluations[i - 1].unit) continue;
    if (evaluations[i].time_ms - evaluations[i - 1].time_ms <= kSlackMs) continue;
    doubts.push_back({"review/clock/steps-back",
                      fmt::format("this evaluation logs {} (epochs, samples or steps), but the one "
                                  "before it {}: did the run go back to a checkpoint?",
                                  count_text(*now), count_text(*before)),
                      evaluations[i].offset});
    return;
  }
}

void review_outside(const RunRecord& record, std::vector<Doubt>& doubts) {
  if (evaluates_after_the_run(record)) return;
  size_t outside = 0;
  double worst = 0;
  uint64_t offset = 0;
  for (const Evaluation& evaluation : record.evaluations) {
    const double early = record.run_start->time_ms - evaluation.time_ms;
    const double late = evaluation.time_ms - record.run_stop->time_ms;
    const double by = std::max(early, late);
    if (by <= kSlackMs) continue;
    ++outside;
    if (by <= std::fabs(worst)) continue;
    worst = early > late ? -by : by;
    offset = evaluation.offset;
  }
  if (outside == 0) return;
  doubts.push_back({"review/clock/evaluation-outside",
                    fmt::format("this evaluation is reported {} {}{}; only evaluations between "
                                "run_start and run_stop count",
                                duration_text(std::fabs(worst)),
                                worst < 0 ? "before run_start" : "after run_stop",
                                outside > 1 ? fmt::format(" ({} such evaluations)", outside) : ""),
                    offset});
}

void review_order(const RunRecord& record, std::vector<Doubt>& doubts) {
  const auto in_order = [&](const std::optional<Moment>& a, const char* first,
                            const std::optional<Moment>& b, const char* second) {
    if (!a || !b || a->time_ms <= b->time_ms + kSlackMs) return;
    doubts.push_back({"review/clock/order",
                      fmt::format("the time of {} is {} later than that of {}", first,
                                  duration_text(a->time_ms - b->time_ms), second),
                      a->offset});
  };
  in_order(record.init_start, "init_start", record.init_stop, "init_stop");
  in_order(record.init_stop, "init_stop", record.run_start, "run_start");
  in_order(record.run_start, "run_start", record.run_stop, "run_stop");
  in_order(record.cache_clear, "cache_clear", record.run_start, "run_start");
  if (record.run_ms() == 0.0) {
    doubts.push_back({"review/clock/no-time", "run_stop has the same time as run_start",
                      record.run_stop->offset});
  }
  if (record.first_event && record.init_start &&
      record.init_start->time_ms - record.first_event->time_ms > kDayMs) {
    doubts.push_back(
        {"review/clock/apart",
         fmt::format("this event is {} before init_start: does it belong to this run, and are the "
                     "clocks of all nodes correct?",
                     duration_text(record.init_start->time_ms - record.first_event->time_ms)),
         record.first_event->offset});
  }
}

// Explains a time that is no date of this century.
std::string explain_time(double time_ms) {
  // The range is narrow, because a 32-bit counter that wrapped around shows dates from 1970 to
  // 2106.
  constexpr double kYear2010 = 1'262'304'000, kYear2040 = 2'208'988'800;
  const auto fits = [&](double seconds) { return seconds >= kYear2010 && seconds < kYear2040; };
  const std::string shown =
      std::isfinite(time_ms) ? "time_ms is " + count_text(time_ms) : "time_ms is not a number";
  struct Unit {
    const char* name;
    double in_second;
    const char* effect;
  };
  for (const Unit& unit : {Unit{"seconds", 1, "1,000 times too short"},
                           Unit{"microseconds", 1e6, "1,000 times too long"},
                           Unit{"nanoseconds", 1e9, "1,000,000 times too long"}}) {
    if (fits(time_ms / unit.in_second)) {
      return fmt::format("{}, which looks like {}: all durations become {}", shown, unit.name,
                         unit.effect);
    }
  }
  constexpr double kMsPerYear = 31'556'952'000;
  if (!std::isfinite(time_ms)) return shown;
  return fmt::format(
      "{}, which is {} 1970: the clock was not set, or its counter overflowed", shown,
      time_ms < 0            ? duration_text(-time_ms) + " before"
      : time_ms < kMsPerYear ? duration_text(time_ms) + " after"
                             : counted(std::floor(time_ms / kMsPerYear), "year") + " after");
}

void review_times(const RunRecord& record, std::vector<Doubt>& doubts) {
  // Some logs count from their start. That is correct if all events do.
  if (record.odd_times == 0 || record.relative_times == record.times) return;
  doubts.push_back(
      {"review/clock/unit",
       explain_time(record.odd_time.time_ms) +
           (record.odd_times > 1 ? fmt::format(" ({} such events)", count_text(record.odd_times))
                                 : ""),
       record.odd_time.offset});
}

void review_disorder(const RunRecord& record, std::vector<Doubt>& doubts) {
  const Disorder& disorder = record.disorder;
  if (disorder.count == 0 || evaluates_after_the_run(record)) return;
  doubts.push_back(
      {"review/clock/disorder",
       disorder.text + (disorder.count > 1 ? fmt::format(" ({} such events)", disorder.count) : ""),
       disorder.offset});
}

}  // namespace

std::string odd_time_text(double time_ms) {
  return is_date(time_ms) || may_count_from_start(time_ms) ? "" : explain_time(time_ms);
}

std::vector<Doubt> review_clock(const RunRecord& record) {
  std::vector<Doubt> doubts;
  for (const Resumption& resumption : record.resumptions) {
    doubts.push_back({"review/clock/resumed",
                      fmt::format("the run was interrupted and resumed after step {}, {} after the "
                                  "previous event; the clock kept running",
                                  resumption.step, duration_text(resumption.silent_ms)),
                      resumption.offset});
  }
  if (record.restarts > 0) {
    doubts.push_back(
        {"review/clock/restarted",
         fmt::format("this block starts again {} after its first start, without block_stop{}: did "
                     "the run resume from a checkpoint?",
                     duration_text(record.restarted.time_ms),
                     record.restarts > 1 ? fmt::format(" ({} such starts)", record.restarts) : ""),
         record.restarted.offset});
  }
  review_times(record, doubts);
  review_order(record, doubts);
  review_disorder(record, doubts);
  if (record.disorder.count == 0) review_steps_back(record, doubts);
  if (!record.run_start || !record.run_stop ||
      record.run_stop->time_ms < record.run_start->time_ms) {
    return doubts;
  }
  review_outside(record, doubts);
  review_pauses(record, doubts);
  return doubts;
}

}  // namespace strata::compliance
