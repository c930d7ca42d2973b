#include "compliance/review/run_windows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>

namespace strata::compliance {
namespace {

constexpr double kFailed = std::numeric_limits<double>::infinity();
constexpr double kShortPause = 0.25;
constexpr size_t kFewestPauses = 3;

double time_of(const RunRecord& run) {
  const auto ms = run.run_ms();
  return run.success && ms && *ms > 0 ? *ms : kFailed;
}

double median_score(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  const double low = values[middle - 1], high = values[middle];
  return high == kFailed ? high : low + (high - low) / 2;
}

// Returns the runs with a launch time, sorted by it.
std::vector<size_t> by_launch(const std::vector<RunRecord>& runs) {
  std::vector<size_t> order;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].run_start) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](size_t i) { return runs[i].run_start->time_ms; });
  return order;
}

std::string name_of(const RunRecord& run) { return printable_path(run.path.stem()); }

std::string score_text(double ms) { return ms == kFailed ? "no score" : duration_text(ms); }

// Returns the number N of result_N.txt.
std::optional<uint64_t> number_of(const RunRecord& run) {
  const std::string stem = run.path.stem().string();
  constexpr std::string_view kBefore = "result_";
  if (!stem.starts_with(kBefore)) return std::nullopt;
  uint64_t number = 0;
  const char* end = stem.data() + stem.size();
  const auto [at, error] = std::from_chars(stem.data() + kBefore.size(), end, number);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

void review_numbering(const std::vector<RunRecord>& runs, std::vector<ReviewFinding>& findings) {
  std::set<uint64_t> numbers;
  for (const RunRecord& run : runs) {
    const auto number = number_of(run);
    if (!number) return;  // names of another kind
    numbers.insert(*number);
  }
  if (numbers.empty()) return;
  const uint64_t first = *numbers.begin(), last = *numbers.rbegin();
  std::vector<std::string> holes;
  for (auto at = numbers.begin(), next = std::next(at); next != numbers.end(); ++at, ++next) {
    if (*next - *at == 2) {
      holes.push_back(fmt::format("{}", *at + 1));
    } else if (*next - *at > 2) {
      holes.push_back(fmt::format("{} to {}", *at + 1, *next - 1));
    }
  }
  if (first <= 1 && holes.empty()) return;
  std::string text = fmt::format("the runs are numbered {} to {}", first, last);
  if (!holes.empty()) {
    constexpr size_t kShown = 12;
    const size_t more = holes.size() > kShown ? holes.size() - kShown : 0;
    holes.resize(holes.size() - more);
    text += fmt::format(", without {}{}", fmt::join(holes, ", "),
                        more > 0 ? " and " + counted(more, "more gap") : "");
  }
  if (first > 1) text += "; the first number is not 0 or 1";
  findings.push_back({"review/runs/numbering", text + ": were other runs left out?",
                      runs.front().path.parent_path(), 0});
}

// The time from cache_clear, init_start or run_start to run_stop.
struct Span {
  double begin, end;
  const RunRecord* run;
};

std::vector<Span> spans_of(const std::vector<RunRecord>& runs) {
  std::vector<Span> spans;
  for (const size_t i : by_launch(runs)) {
    const RunRecord& run = runs[i];
    if (!run.run_stop || run.run_stop->time_ms < run.run_start->time_ms) continue;
    double begin = run.run_start->time_ms;
    for (const auto& moment : {run.init_start, run.cache_clear}) {
      if (moment) begin = std::min(begin, moment->time_ms);
    }
    spans.push_back({begin, run.run_stop->time_ms, &run});
  }
  return spans;
}

// Returns the largest number of simultaneous runs.
size_t most_at_once(const std::vector<Span>& spans) {
  std::vector<std::pair<double, int>> changes;  // an end before a start at the same time
  for (const Span& span : spans) {
    changes.emplace_back(span.run->run_start->time_ms, 1);
    changes.emplace_back(span.end, -1);
  }
  std::ranges::sort(changes);
  int now = 0, most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, now += change);
  return static_cast<size_t>(most);
}

void review_times(const std::vector<RunRecord>& runs, RunsReview& review) {
  const std::vector<Span> spans = spans_of(runs);
  if (const size_t most = most_at_once(spans); most > 1) {
    review.notes.push_back(
        fmt::format("up to {} runs ran at the same time, which is allowed if each had its own "
                    "system like the one described",
                    most));
    return;  // pauses then tell nothing
  }
  std::vector<double> pauses, times;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (i > 0) pauses.push_back(spans[i].begin - spans[i - 1].end);
    times.push_back(spans[i].end - spans[i].begin);
  }
  if (pauses.size() < kFewestPauses) return;
  const double pause = median_score(pauses), longest = *std::ranges::max_element(times);
  if (!(pause <= kShortPause * median_score(times))) return;
  std::vector<size_t> holes;
  for (size_t i = 0; i < pauses.size(); ++i) {
    if (pauses[i] >= 2 * std::max(pause, 0.0) + longest) holes.push_back(i);
  }
  if (holes.empty() || 3 * holes.size() > pauses.size()) return;
  const size_t worst = *std::ranges::max_element(holes, {}, [&](size_t i) { return pauses[i]; });
  const double room =
      std::floor((pauses[worst] - std::max(pause, 0.0)) / (longest + std::max(pause, 0.0)));
  review.findings.push_back(
      {"review/runs/gap",
       fmt::format("{} follows {} after a pause of {}, but the median pause is {}; {} would fit "
                   "into this pause{}: what ran in it?",
                   name_of(*spans[worst + 1].run), name_of(*spans[worst].run),
                   duration_text(pauses[worst]), duration_text(pause), counted(room, "more run"),
                   holes.size() > 1 ? fmt::format(" ({} such pauses)", holes.size()) : ""),
       spans[worst + 1].run->path, 0});
}

bool same_evaluations(const RunRecord& a, const RunRecord& b) {
  return std::ranges::equal(a.evaluations, b.evaluations, {}, &Evaluation::time_ms,
                            &Evaluation::time_ms);
}

// Compares the submitted window with those of all runs.
void review_window(const std::vector<RunRecord>& submitted, const std::vector<RunRecord>& others,
                   size_t wanted, int dropped, RunsReview& review) {
  if (wanted == 0 || submitted.size() < wanted || submitted.size() + others.size() <= wanted)
    return;
  std::vector<RunRecord> all = submitted;
  all.insert(all.end(), others.begin(), others.end());
  const RunWindows windows = score_windows(all, wanted, dropped);
  if (windows.scores.empty()) return;
  // Takes the first N runs of the folder, by their numbers.
  std::vector<double> times;
  for (size_t i = 0; i < wanted; ++i) times.push_back(time_of(submitted[i]));
  const double score = window_score(times, dropped);
  std::set<size_t> places;
  for (size_t place = 0; place < windows.order.size(); ++place) {
    if (windows.order[place] < wanted) places.insert(place);
  }
  const bool consecutive =
      places.size() == wanted && *places.rbegin() - *places.begin() == wanted - 1;
  if (!consecutive) {
    review.findings.push_back(
        {"review/runs/not-consecutive",
         fmt::format(
             "other runs were launched between the {} submitted ones; only consecutive runs count",
             wanted),
         submitted.front().path.parent_path(), 0});
  }
  const auto as_fast = static_cast<size_t>(
      std::ranges::count_if(windows.scores, [&](double other) { return other <= score; }));
  const double chance = chance_of_score(all, wanted, dropped, score);
  const std::string closest =
      fmt::format("{} to {}", name_of(all[windows.order[windows.closest]]),
                  name_of(all[windows.order[windows.closest + wanted - 1]]));
  const std::string numbers = fmt::format(
      "the submitted {} of {} runs score {}; the median score of all {} windows of consecutive "
      "runs is {}; {} windows are as fast or faster; {} runs drawn at random are as fast or faster "
      "with a probability of {:.3g} %; the window closest to the median is {}",
      wanted, all.size(), score_text(score), windows.scores.size(), score_text(windows.median),
      as_fast, wanted, 100 * chance, closest);
  const double nearest = windows.scores[windows.closest];
  const bool better =
      score < windows.median && !(windows.median - score <= std::fabs(nearest - windows.median));
  if (better) {
    review.findings.push_back(
        {"review/runs/window", numbers, submitted.front().path.parent_path(), 0});
  } else {
    review.notes.push_back(numbers);
  }
}

}  // namespace

double window_score(std::span<const double> times, int dropped) {
  std::vector<double> sorted(times.begin(), times.end());
  std::ranges::sort(sorted);
  const auto cut = static_cast<size_t>(std::max(dropped, 0));
  if (sorted.size() <= 2 * cut) return kFailed;
  double sum = 0;
  for (size_t i = cut; i < sorted.size() - cut; ++i) sum += sorted[i];
  return sum / static_cast<double>(sorted.size() - 2 * cut);
}

RunWindows score_windows(const std::vector<RunRecord>& runs, size_t wanted, int dropped) {
  RunWindows windows;
  windows.order = by_launch(runs);
  if (wanted == 0 || windows.order.size() < wanted) return windows;
  std::vector<double> times;
  for (const size_t i : windows.order) times.push_back(time_of(runs[i]));
  for (size_t i = 0; i + wanted <= times.size(); ++i)
    windows.scores.push_back(window_score(std::span(times).subspan(i, wanted), dropped));
  windows.median = median_score(windows.scores);
  const auto distance = [&](double score) {
    return score == windows.median ? 0 : std::fabs(score - windows.median);
  };
  windows.closest = static_cast<size_t>(std::ranges::min_element(windows.scores, {}, distance) -
                                        windows.scores.begin());
  return windows;
}

double chance_of_score(const std::vector<RunRecord>& runs, size_t wanted, int dropped,
                       double score) {
  if (wanted == 0 || runs.size() < wanted) return 0;
  constexpr int kDraws = 10'000;
  std::vector<double> times;
  for (const RunRecord& run : runs) times.push_back(time_of(run));
  std::mt19937_64 random(1);
  int as_fast = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    // Runs the first steps of a Fisher-Yates shuffle.
    for (size_t i = 0; i < wanted; ++i)
      std::swap(times[i], times[i + random() % (times.size() - i)]);
    as_fast += window_score(std::span(times).first(wanted), dropped) <= score ? 1 : 0;
  }
  return static_cast<double>(as_fast) / kDraws;
}

RunsReview review_runs(const std::vector<RunRecord>& submitted,
                       const std::vector<RunRecord>& others, size_t wanted, int dropped,
                       bool weak_scaling) {
  RunsReview review;
  if (submitted.empty()) return review;
  // Weak scaling trains many models at once, and runs may be pruned.
  if (weak_scaling) return review;
  review_window(submitted, others, wanted, dropped, review);
  review_numbering(submitted, review.findings);
  review_times(submitted, review);
  return review;
}

std::vector<ReviewFinding> find_same_runs(const std::vector<const RunRecord*>& runs) {
  std::vector<ReviewFinding> findings;
  std::map<std::pair<double, double>, const RunRecord*> known;
  for (const RunRecord* run : runs) {
    const auto ms = run->run_ms();
    if (!ms || *ms <= 0) continue;
    const auto [other, is_new] =
        known.try_emplace({run->run_start->time_ms, run->run_stop->time_ms}, run);
    if (is_new) continue;
    if (!same_evaluations(*other->second, *run)) continue;  // both began and ended together
    const auto& first = other->second->path;
    findings.push_back(
        {"review/runs/same-run",
         fmt::format(
             "is the same run as {}: run_start, run_stop and all evaluations have the same "
             "times",
             printable_path(first.parent_path() == run->path.parent_path() ? first.filename()
                                                                           : first)),
         run->path, 0});
  }
  return findings;
}

}  // namespace strata::compliance
