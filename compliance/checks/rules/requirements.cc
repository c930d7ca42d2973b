#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/text/counts.h"
#include "base/text/printable.h"
#include "compliance/checks/rules/rule_check.h"
#include "compliance/checks/similar_keys.h"

namespace strata::compliance {

void RuleCheck::note_any(const KeyRule& rule, Occurrences& seen, size_t index,
                         std::vector<size_t>& order) {
  if (!rule.at_least_one_check || seen.any_tried) return;
  seen.any_tried = true;
  order.push_back(index);
}

void RuleCheck::report_any(const RuleFile& file, const std::vector<Occurrences>& occurrences,
                           const std::vector<size_t>& order) {
  for (const size_t index : order) {
    const Occurrences& seen = occurrences[index];
    const KeyRule& rule = file.keys[index];
    const RuleCode& code = *rule.at_least_one_check;
    if (seen.any_met) {
      if (seen.any_error.empty()) continue;
      put({"",
           fmt::format("The official checker stops with an error at a value of '{}'", rule.name),
           code.fragment.source, seen.any_error, code.file, code.line,
           line_number(seen.error_offset), rule_id(code.file, rule.name, "ATLEAST_ONE_CHECK")});
      continue;
    }
    Finding finding{"",
                    fmt::format("Failed checks for {} : {}", rule.name, code.fragment.source),
                    code.fragment.source,
                    fmt::format("the last of {}: {}", counted(seen.count, "value"), seen.last_json),
                    code.file,
                    code.line,
                    line_number(seen.last_offset),
                    rule_id(code.file, rule.name, "ATLEAST_ONE_CHECK")};
    if (!seen.any_error.empty()) finding.found += fmt::format(" ({})", seen.any_error);
    put(std::move(finding));
  }
}

void RuleCheck::report_requirements(const RuleFile& file,
                                    const std::vector<Occurrences>& occurrences) {
  std::set<std::set<std::string>> alternatives;
  for (size_t i = 0; i < file.keys.size(); ++i) {
    const KeyRule& rule = file.keys[i];
    const Occurrences& seen = occurrences[i];
    Finding finding{rule.name,
                    "",
                    rule.requirement.text,
                    counted(seen.count, "occurrence"),
                    rule.file,
                    rule.line,
                    0,
                    rule_id(rule.file, rule.name, "REQ")};
    switch (rule.requirement.kind) {
      case Requirement::kNone:
        break;
      case Requirement::kExactlyOne:
        if (seen.count == 1) break;
        finding.summary = fmt::format("Required EXACTLY_ONE occurrence of '{}' but found {}",
                                      rule.name, seen.count);
        if (seen.count > 0 && seen.all_same) {
          warn(std::move(finding));
          break;
        }
        if (seen.count > 0) {
          finding.found = fmt::format("{} occurrences with different values: [{}]", seen.count,
                                      fmt::join(seen.distinct, ", "));
          finding.summary +=
              fmt::format(" with different values: [{}]", fmt::join(seen.distinct, ", "));
        }
        put(std::move(finding));
        break;
      case Requirement::kAtLeast:
        if (seen.count >= rule.requirement.least) break;
        finding.summary = fmt::format("Required {} occurrence of '{}' but found {}",
                                      rule.requirement.text, rule.name, seen.count);
        put(std::move(finding));
        break;
      case Requirement::kAtLeastOneOr: {
        std::set<std::string> keys(rule.requirement.alternatives.begin(),
                                   rule.requirement.alternatives.end());
        keys.insert(rule.name);
        if (!alternatives.insert(keys).second) break;
        const bool any = std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
          const auto found = file.by_key.find(key);
          return found && occurrences[*found].count > 0;
        });
        if (any) break;
        finding.key.clear();
        finding.summary =
            fmt::format("Required AT_LEAST_ONE occurrence of '{}'", fmt::join(keys, "' or '"));
        finding.found = "no occurrence";
        put(std::move(finding));
        break;
      }
    }
  }
}

// Adds to the finding about a missing key the similar key of the log that no rule asks for.
void RuleCheck::point_at_similar_keys(std::vector<Finding>& findings) {
  const auto is_missing = [](const Finding& finding) {
    return finding.id.ends_with("/REQ") &&
           (finding.found == "0 occurrences" || finding.found == "no occurrence");
  };
  if (std::ranges::none_of(findings, is_missing)) return;
  constexpr size_t kMostKeys = 1000;
  std::vector<std::string> keys;
  std::unordered_map<std::string, uint64_t> offsets;
  log_.visit([&](const mllog::Event& event) {
    const auto asks = [&](const auto& file) { return file->by_key.find(event.key).has_value(); };
    if (!offsets.contains(std::string(event.key)) && std::ranges::none_of(files_, asks)) {
      keys.emplace_back(event.key);
      offsets.emplace(event.key, event.offset);
    }
    return keys.size() < kMostKeys;
  });
  for (Finding& finding : findings) {
    if (!is_missing(finding)) continue;
    std::string_view wanted = finding.id;
    wanted.remove_suffix(std::string_view("/REQ").size());
    wanted.remove_prefix(wanted.rfind('/') + 1);
    const std::string_view key = similar_key(wanted, keys);
    if (key.empty()) continue;
    finding.found += fmt::format("; the log has '{}', a similar key, in line {}", one_line(key),
                                 log_.line_number(offsets.at(std::string(key))));
  }
}

}  // namespace strata::compliance
