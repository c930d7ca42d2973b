// The facts of a run from its log: who, on what, with how much data, evaluated when.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/counts.h"
#include "compliance/checks/review_finding.h"
#include "mllog/log_reader.h"

namespace strata::compliance {

// Times of processes that log together may be this far apart.
inline constexpr double kSlackMs = 10;

struct LoggedText {
  std::string text;
  uint64_t offset = 0;  // offset of its event in the log, in bytes
};

struct LoggedNumber {
  double value = 0;  // finite
  uint64_t offset = 0;
};

struct Moment {
  double time_ms = 0;
  uint64_t offset = 0;
};

struct Evaluation {
  double time_ms = 0;
  std::optional<double> count;  // epochs, samples or steps, from its metadata
  uint64_t offset = 0;
  int unit = 0;  // the same number for the same kind of count
};

// The place where Strata resumed an interrupted run.
struct Resumption {
  std::string step;
  double silent_ms = 0;  // time since the event before
  uint64_t offset = 0;
};

// Events whose times contradict their order.
struct Disorder {
  std::string text;  // the early event, by how much, and the event it precedes
  uint64_t offset = 0;
  size_t count = 0;  // number of such events; `text` is about the first
};

// If a key is repeated, its first event counts, but for init_start and init_stop the earliest, for
// run_stop the last. Ignores times that no clock shows (not finite, or beyond the year 33658).
struct RunRecord {
  std::filesystem::path path;
  std::map<std::string, LoggedText, std::less<>> submission;  // "org" for submission_org
  std::map<std::string, LoggedNumber, std::less<>> numbers;   // only the keys of kRecordedNumbers
  std::vector<Evaluation> evaluations;  // in order of their times, at most kMostEvaluations
  std::optional<Moment> first_event;    // the earliest
  std::optional<Moment> cache_clear;    // the last one
  std::optional<Moment> init_start, init_stop, run_start, run_stop;
  bool success = false;  // the last run_stop logs success
  std::vector<Resumption> resumptions;
  // Blocks that start again, a second or more after they started, without a stop in between: the
  // first, by its offset and the time since it started, and their number. None if logs have several
  // processes, no numbers of blocks, or blocks that mostly do not stop.
  Moment restarted;
  size_t restarts = 0;
  // The first time that is no date, the number of such times, and how many of them may count from
  // the start of something.
  Moment odd_time;
  size_t odd_times = 0, relative_times = 0, times = 0;
  // An end before its beginning, a block before the one above it, or evaluations whose counts rise
  // while their times fall. Only in logs of one process.
  Disorder disorder;
  // Offset and number of events whose value or metadata look like they hold another event.
  uint64_t first_nested_event = 0;
  size_t nested_events = 0;
  // The longest time without any event from run_start to run_stop, up to the event at `offset`.
  Moment silence;
  std::string problem;  // why the log could not be read to its end

  // Returns a submission_ value, or an empty text if there is none.
  std::string_view said(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<double> run_ms() const;  // run_stop - run_start, if both are there
};

inline constexpr std::string_view kRecordedNumbers[] = {"global_batch_size", "train_samples",
                                                        "eval_samples", "number_of_nodes",
                                                        "accelerators_per_node"};
inline constexpr size_t kMostEvaluations = 1 << 17;

RunRecord read_run_record(const mllog::LogReader& log);

inline constexpr double kYear2000Seconds = 946'684'800, kYear2100Seconds = 4'102'444'800;
// Returns whether a time is from 2000 to 2099.
inline bool is_date(double time_ms) {
  return time_ms >= 1e3 * kYear2000Seconds && time_ms < 1e3 * kYear2100Seconds;
}
// Returns whether a time may count from the start of something, and is no date in seconds.
inline bool may_count_from_start(double time_ms) {
  return time_ms >= 0 && time_ms < kYear2000Seconds;
}

// A finding whose line is not yet counted.
struct Doubt {
  std::string id;
  std::string text;
  std::optional<uint64_t> offset;  // offset in the log
};
std::vector<ReviewFinding> place(std::vector<Doubt> doubts, const mllog::LogReader& log);

// Returns a log's text in printable form: on one line, at most 80 bytes.
std::string printable_text(std::string_view text);
// Returns a whole path or name on one line.
std::string printable_path(const std::filesystem::path& path);
// Returns seconds, minutes, hours or days with three digits: "23.5 min".
std::string duration_text(double ms);

}  // namespace strata::compliance
