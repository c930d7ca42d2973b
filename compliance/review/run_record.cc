#include "compliance/review/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>

#include "base/error.h"
#include "base/text/printable.h"
#include "base/text/trim.h"
#include "mllog/json_scan.h"
#include "mllog/log_value.h"

namespace strata::compliance {
namespace {

constexpr size_t kMostTextBytes = 200;
constexpr double kLatestMs = 1e15;
constexpr std::string_view kSubmission = "submission_";

// Parses counts as logs write them: a JSON number, a text with one, or a list of one.
std::optional<double> number_of(std::string_view json) {
  constexpr std::string_view kAround = " \t[]\"";
  const std::string text(trimmed(json, kAround));
  if (text.empty()) return std::nullopt;
  constexpr size_t kLongest = 400;
  if (text.size() > kLongest || text.find_first_not_of("0123456789+-.eE") != text.npos) {
    return std::nullopt;
  }
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string text_of(std::string_view json) {
  if (json.size() < 2 || json.front() != '"') return std::string(json.substr(0, kMostTextBytes));
  json = json.substr(1, json.size() - 2);
  if (json.size() <= kMostTextBytes) return mllog::decode_json_text(json);
  size_t end = 0;  // end of the last whole character or escape
  while (end < kMostTextBytes) end += json[end] != '\\' ? 1 : json[end + 1] == 'u' ? 6 : 2;
  while (end < json.size() && (static_cast<unsigned char>(json[end]) & 0xc0) == 0x80) ++end;
  return mllog::decode_json_text(json.substr(0, end));
}

class RecordReader {
 public:
  explicit RecordReader(RunRecord& record) : record_(record) {}

  void read(const mllog::Event& event) {
    note_time(event);
    note_swallowing(event);
    if (!std::isfinite(event.time_ms) || std::fabs(event.time_ms) > kLatestMs) return;
    const Moment now{event.time_ms, event.offset};
    if (!record_.first_event || now.time_ms < record_.first_event->time_ms)
      record_.first_event = now;
    note_silence(event, now);
    const std::string_view key = event.key;
    note_order(key, now);
    if (key.starts_with(kSubmission)) {
      read_submission(event);
    } else if (key == "eval_accuracy" || key == "eval_error") {
      read_evaluation(event);
    } else if (key == "cache_clear") {
      if (!record_.cache_clear || now.time_ms > record_.cache_clear->time_ms)
        record_.cache_clear = now;
    } else if (key == "init_start") {
      if (!record_.init_start || now.time_ms < record_.init_start->time_ms)
        record_.init_start = now;
    } else if (key == "init_stop") {
      if (!record_.init_stop || now.time_ms < record_.init_stop->time_ms) record_.init_stop = now;
    } else if (key == "run_start") {
      if (!record_.run_start) record_.run_start = now;
      ++run_starts_;
    } else if (key == "run_stop") {
      record_.run_stop = now;
      const auto status = mllog::find_field(event.metadata, "status");
      record_.success = status && *status == "\"success\"";
    } else if (key == "block_start") {
      read_block(event, now);
    } else if (key == "block_stop") {
      open_block_.reset();
      ++block_stops_;
    } else if (key == "resumed") {
      constexpr size_t kMostResumptions = 100;
      if (record_.resumptions.size() < kMostResumptions) {
        record_.resumptions.push_back(
            {printable_text(event.value), before_ ? now.time_ms - *before_ : 0, event.offset});
      }
    } else if (std::ranges::find(kRecordedNumbers, key) != std::end(kRecordedNumbers)) {
      if (const auto value = number_of(event.value))
        record_.numbers.try_emplace(std::string(key), LoggedNumber{*value, event.offset});
    }
    before_ = now.time_ms;
  }

  // Call after the last event.
  void finish() {
    const bool stops = 2 * block_stops_ >= block_starts_;
    if (run_starts_ > 1 || (!blocks_differ_ && !stops)) {
      record_.restarts = 0;
      record_.restarted = {};
    }
    if (run_starts_ > 1) record_.disorder = {};
  }

 private:
  void note_time(const mllog::Event& event) {
    const double time = event.time_ms;
    ++record_.times;
    if (is_date(time)) return;
    if (may_count_from_start(time)) ++record_.relative_times;
    if (++record_.odd_times == 1) record_.odd_time = {time, event.offset};
  }

  void note_swallowing(const mllog::Event& event) {
    for (const std::string_view part : {event.value, event.metadata}) {
      if (part.find("\"time_ms") == part.npos || part.find("\"key") == part.npos) continue;
      if (++record_.nested_events == 1) record_.first_nested_event = event.offset;
      return;
    }
  }

  void note_disorder(std::string_view early, double by_ms, std::string_view before,
                     uint64_t offset) {
    if (++record_.disorder.count > 1) return;
    record_.disorder.text = fmt::format("the time of this {} is {} earlier than that of {}", early,
                                        duration_text(by_ms), before);
    record_.disorder.offset = offset;
  }

  void note_order(std::string_view key, const Moment& now) {
    constexpr double kApartMs = 1000;
    const size_t bar = key.rfind('_');
    const bool is_interval = key.starts_with("block_") || key.starts_with("epoch_") ||
                             (key.starts_with("eval_") && key.size() < 11);
    if (!is_interval) return;
    const std::string name(key.substr(0, bar));
    if (key.ends_with("_start")) {
      const auto known = open_intervals_.find(name);
      if (name == "block" && known != open_intervals_.end() &&
          known->second - now.time_ms > kApartMs) {
        note_disorder(key, known->second - now.time_ms, "the one above it", now.offset);
      }
      open_intervals_[name] = now.time_ms;
    } else if (key.ends_with("_stop")) {
      const auto known = open_intervals_.find(name);
      if (known == open_intervals_.end() || known->second - now.time_ms <= kSlackMs) return;
      note_disorder(key, known->second - now.time_ms, "its " + name + "_start", now.offset);
    }
  }

  void note_silence(const mllog::Event& event, const Moment& now) {
    if (record_.run_start && !record_.run_stop && latest_ &&
        now.time_ms - *latest_ > record_.silence.time_ms) {
      record_.silence = {now.time_ms - *latest_, event.offset};
    }
    latest_ = latest_ ? std::max(*latest_, now.time_ms) : now.time_ms;
  }

  void read_block(const mllog::Event& event, const Moment& now) {
    constexpr double kApartMs = 1000;  // processes log the same block at almost the same time
    ++block_starts_;
    std::string number;
    for (const std::string_view name :
         {"first_epoch_num", "samples_count", "first_step_num", "epoch_num", "step_num"}) {
      const auto field = mllog::find_field(event.metadata, name);
      if (field) number += std::string(name) + '=' + std::string(field->substr(0, kMostTextBytes));
    }
    if (number.empty()) {
      open_block_.reset();
      return;
    }
    if (first_block_.empty()) first_block_ = number;
    blocks_differ_ |= number != first_block_;
    if (open_block_ && open_block_->number == number &&
        now.time_ms - open_block_->time_ms >= kApartMs && ++record_.restarts == 1) {
      record_.restarted = {now.time_ms - open_block_->time_ms, event.offset};
    }
    open_block_ = Block{number, now.time_ms};
  }

  void read_submission(const mllog::Event& event) {
    constexpr size_t kMostKeys = 100;
    if (record_.submission.size() >= kMostKeys) return;
    const std::string_view name = event.key.substr(kSubmission.size(), kMostTextBytes);
    record_.submission.try_emplace(std::string(name),
                                   LoggedText{text_of(event.value), event.offset});
  }

  void read_evaluation(const mllog::Event& event) {
    if (record_.evaluations.size() >= kMostEvaluations) return;
    Evaluation evaluation{event.time_ms, std::nullopt, event.offset};
    for (const std::string_view name : {"epoch_num", "samples_count", "step_num"}) {
      if (const auto field = mllog::find_field(event.metadata, name)) {
        evaluation.count = number_of(*field);
        break;
      }
      ++evaluation.unit;
    }
    if (!record_.evaluations.empty()) {
      const Evaluation& above = record_.evaluations.back();
      if (above.unit == evaluation.unit && above.count < evaluation.count &&
          above.time_ms - evaluation.time_ms > kSlackMs) {
        note_disorder(event.key, above.time_ms - evaluation.time_ms,
                      "the one above it, although that one logs fewer epochs, samples or steps",
                      event.offset);
      }
    }
    record_.evaluations.push_back(evaluation);
  }

  struct Block {
    std::string number;
    double time_ms;
  };

  RunRecord& record_;
  std::optional<double> before_, latest_;
  std::optional<Block> open_block_;
  std::map<std::string, double, std::less<>> open_intervals_;  // when each last began
  std::string first_block_;
  bool blocks_differ_ = false;
  size_t run_starts_ = 0, block_starts_ = 0, block_stops_ = 0;
};

}  // namespace

std::string_view RunRecord::said(std::string_view key) const {
  const auto found = submission.find(key);
  return found == submission.end() ? std::string_view() : found->second.text;
}

std::optional<double> RunRecord::number(std::string_view key) const {
  const auto found = numbers.find(key);
  return found == numbers.end() ? std::nullopt : std::optional(found->second.value);
}

std::optional<double> RunRecord::run_ms() const {
  if (!run_start || !run_stop) return std::nullopt;
  return run_stop->time_ms - run_start->time_ms;
}

RunRecord read_run_record(const mllog::LogReader& log) {
  RunRecord record;
  record.path = log.path();
  RecordReader reader(record);
  try {
    log.visit([&](const mllog::Event& event) {
      if (!event.metadata.empty()) reader.read(event);
      return true;
    });
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::runtime_error& error) {
    record.problem = error.what();
  }
  reader.finish();
  std::ranges::stable_sort(record.evaluations, {}, &Evaluation::time_ms);
  return record;
}

std::vector<ReviewFinding> place(std::vector<Doubt> doubts, const mllog::LogReader& log) {
  std::vector<ReviewFinding> findings;
  for (Doubt& doubt : doubts) {
    findings.push_back({std::move(doubt.id), std::move(doubt.text), log.path(),
                        doubt.offset ? log.line_number(*doubt.offset) : 0});
  }
  return findings;
}

std::string printable_text(std::string_view text) { return one_line(text, 80); }

std::string printable_path(const std::filesystem::path& path) { return one_line(path.string()); }

std::string duration_text(double ms) {
  constexpr double kSecond = 1e3, kMinute = 6e4, kHour = 36e5, kDay = 864e5;
  const double size = std::fabs(ms);
  if (size < kSecond) return fmt::format("{:.0f} ms", ms);
  if (size < 100 * kSecond) return rounded_text(ms / kSecond) + " s";
  if (size < 100 * kMinute) return rounded_text(ms / kMinute) + " min";
  if (size < 48 * kHour) return rounded_text(ms / kHour) + " hours";
  return rounded_text(ms / kDay) + " days";
}

}  // namespace strata::compliance
