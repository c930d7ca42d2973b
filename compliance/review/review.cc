#include "compliance/review/review.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/text/printable.h"
#include "compliance/review/clock.h"
#include "compliance/review/described_system.h"
#include "compliance/review/evaluation_schedule.h"

namespace strata::compliance {

namespace {

// Finds events that were not read, because they are in another's line or value.
std::vector<Doubt> review_lines(const mllog::LogReader& log, const RunRecord& record) {
  std::vector<Doubt> doubts;
  const auto also = [](uint64_t count, const char* noun) {
    return count > 1 ? fmt::format(" ({})", counted(count, noun)) : "";
  };
  if (log.crowded_line_count() > 0) {
    const auto& first = log.crowded_lines().front();
    doubts.push_back(
        {"review/log/several-on-a-line",
         fmt::format("this line holds several events; only the last one is read, as in the "
                     "official checker; lost: {}{}",
                     one_line(first.lost, 400), also(log.crowded_line_count(), "such line")),
         first.offset});
  }
  if (record.nested_events > 0) {
    doubts.push_back({"review/log/swallowed",
                      fmt::format("this event contains text that looks like another event; the "
                                  "text is not read as an event{}",
                                  also(record.nested_events, "such event")),
                      record.first_nested_event});
  }
  return doubts;
}

}  // namespace

std::vector<ReviewFinding> review_log(const mllog::LogReader& log, const RunRecord& record,
                                      std::string_view ruleset) {
  std::vector<Doubt> doubts = review_evaluations(record, ruleset);
  for (Doubt& doubt : review_clock(record)) doubts.push_back(std::move(doubt));
  for (Doubt& doubt : review_lines(log, record)) doubts.push_back(std::move(doubt));
  return place(std::move(doubts), log);
}

void review_verdict(const mllog::LogReader& log, bool strict, LogVerdict& verdict) {
  verdict.review = review_log(log, read_run_record(log), verdict.ruleset);
  if (!strict) return;
  for (ReviewFinding& finding : verdict.review) {
    Finding error;
    error.summary = std::move(finding.text);
    error.log_line = finding.line;
    error.id = std::move(finding.id);
    verdict.errors.push_back(std::move(error));
  }
  verdict.review.clear();
}

std::vector<ReviewFinding> merge_findings(std::vector<std::vector<ReviewFinding>> logs) {
  std::vector<ReviewFinding> merged;
  std::map<std::string, std::pair<size_t, size_t>> known;  // place in `merged`, number of logs
  for (std::vector<ReviewFinding>& log : logs) {
    std::set<std::string> ids;
    for (ReviewFinding& finding : log) {
      if (!ids.insert(finding.id).second) continue;
      const auto [found, is_new] = known.try_emplace(finding.id, merged.size(), 0);
      ++found->second.second;
      if (is_new) merged.push_back(std::move(finding));
    }
  }
  for (const auto& [id, place_and_count] : known) {
    const auto& [place, count] = place_and_count;
    if (logs.size() > 1) merged[place].text += fmt::format(" ({} of {} logs)", count, logs.size());
  }
  return merged;
}

void Placeholders::take(std::vector<ReviewFinding>& findings, const std::string& folder) {
  const auto kept = std::ranges::stable_partition(
      findings, [](const ReviewFinding& finding) { return finding.id != kPlaceholder; });
  if (kept.empty()) return;
  if (first_.empty()) {
    first_.push_back(kept.front());
    first_folder_ = folder;
  }
  if (folders_ == 0 || folder != last_folder_) ++folders_;
  last_folder_ = folder;
  findings.erase(kept.begin(), kept.end());
}

std::vector<ReviewFinding> Placeholders::merged() const {
  std::vector<ReviewFinding> findings = first_;
  for (ReviewFinding& finding : findings) {
    finding.text += folders_ == 1
                        ? fmt::format(" (in {})", one_line(first_folder_))
                        : fmt::format(" ({}, first in {})", counted(folders_, "result folder"),
                                      one_line(first_folder_));
  }
  return findings;
}

}  // namespace strata::compliance
