#include "compliance/checks/rules/finding.h"

#include <fmt/format.h>

#include "base/text/printable.h"

namespace strata::compliance {

std::string cut(std::string_view text) {
  if (text.size() <= kShownBytes) return std::string(text);
  return std::string(text.substr(0, kShownBytes)) + "...";
}

std::string rule_id(std::string file, std::string_view key, std::string_view field) {
  if (file.ends_with(".yaml")) file.resize(file.size() - 5);
  return fmt::format("{}/{}/{}", file, key, field);
}

std::string check_name(size_t index) {
  return index == 0 ? "CHECK" : fmt::format("CHECK-{}", index + 1);
}

std::string found_beyond_summary(const Finding& finding) {
  constexpr std::string_view kFound = "but found ";
  const size_t at = finding.summary.find(kFound);
  const bool says_nothing = finding.found.starts_with("no occurrence");
  if (at == finding.summary.npos && !says_nothing) return finding.found;
  // "2 occurrences with different values: [1, 2]" says no more than the summary.
  const size_t more = finding.found.find("; the log has ");
  if (more != finding.found.npos) return finding.found.substr(more + 2);
  const bool is_count = says_nothing || finding.found.find(" occurrence") <
                                            finding.found.find_first_not_of("0123456789,") + 2;
  return is_count ? std::string() : finding.found;
}

std::string describe(const Finding& finding) {
  std::string text;
  if (finding.log_line > 0) text += fmt::format("line {}: ", finding.log_line);
  // Code of a rule may have several lines; a value of the log must not.
  const bool has_code =
      !finding.rule.empty() && finding.summary.find(finding.rule) != std::string::npos;
  const bool has_lines = has_code && finding.rule.find('\n') != std::string::npos;
  text += has_lines ? finding.summary : one_line(finding.summary);
  if (!finding.rule.empty() && !has_code) text += fmt::format("\n  wanted: {}", finding.rule);
  if (const std::string found = found_beyond_summary(finding); !found.empty())
    text += fmt::format("\n  found:  {}", one_line(found));
  if (finding.rule_line > 0)
    text += fmt::format("\n  rule:   {}:{}", one_line(finding.rule_file), finding.rule_line);
  return text;
}

}  // namespace strata::compliance
