#include "compliance/checks/rules/keyed_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata::compliance {

void KeyedFindings::put(Finding finding, uint64_t offset) {
  const auto found = find(finding.key);
  if (found == findings_.end()) {
    findings_.push_back({std::move(finding), offset});
  } else {
    *found = {std::move(finding), offset};
  }
}

void KeyedFindings::erase(const std::string& key) {
  if (const auto found = find(key); found != findings_.end()) findings_.erase(found);
}

std::vector<Finding> KeyedFindings::all(const mllog::LogReader& log) {
  std::vector<Finding> findings;
  for (auto& [finding, offset] : findings_) {
    if (offset != kNoOffset) finding.log_line = log.line_number(offset);
    if (finding.summary.empty()) {
      finding.summary =
          fmt::format("CHECK for '{}' failed in line {}:", finding.key, finding.log_line);
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<KeyedFindings::Kept>::iterator KeyedFindings::find(const std::string& key) {
  return std::find_if(findings_.begin(), findings_.end(),
                      [&](const Kept& known) { return known.finding.key == key; });
}

}  // namespace strata::compliance
