#include "compliance/formats/cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/text/characters.h"
#include "compliance/checks/similar_keys.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

fs::path shown(const fs::path& path) {
  std::error_code error;
  const fs::path here = fs::current_path(error), absolute = fs::absolute(path, error);
  if (error) return path;
  const fs::path relative = absolute.lexically_normal().lexically_relative(here);
  return relative.empty() || *relative.begin() == ".." ? absolute.lexically_normal() : relative;
}

Annotation annotation_of(const Finding& finding, bool error) {
  std::string text = finding.summary;
  if (!finding.rule.empty() && finding.summary.find(finding.rule) == std::string::npos)
    text += "\nwanted: " + finding.rule;
  if (const std::string found = found_beyond_summary(finding); !found.empty())
    text += "\nfound: " + found;
  if (finding.rule_line > 0)
    text += fmt::format("\nrule: {}:{}", finding.rule_file, finding.rule_line);
  return {plain_text(finding.id), error, plain_text(text), finding.log_line, finding.rule_file,
          finding.rule_line,      {}};
}

Annotation annotation_of(const ReviewFinding& finding, bool error) {
  return {finding.id, error, plain_text(finding.text), finding.line, "", 0, shown(finding.path)};
}

// `counts`: a failure of this case fails what it belongs to.
Case case_of(const LogVerdict& log, const std::string& suite, bool counts, bool reviewed) {
  Case result{plain_text(suite),
              plain_text(log.path.filename().string()),
              shown(log.path),
              log.outcome(),
              plain_text(log.not_judged),
              {}};
  if (!counts && result.outcome == Outcome::kFailed) result.outcome = Outcome::kPassed;
  for (const Finding& finding : merge_repeats(log.errors))
    result.annotations.push_back(annotation_of(finding, counts));
  for (const Finding& finding : merge_repeats(log.warnings))
    result.annotations.push_back(annotation_of(finding, false));
  // In a package, the section "Review" reports these findings.
  if (reviewed) {
    for (const ReviewFinding& finding : log.review)
      result.annotations.push_back(annotation_of(finding, false));
  }
  // All other findings follow from a file that is no log.
  const auto none = std::ranges::find(result.annotations, "log/no-events", &Annotation::id);
  if (none != result.annotations.end()) result.annotations = {Annotation(*none)};
  return result;
}

std::string section_id(const Section& section) {
  constexpr std::pair<std::string_view, std::string_view> kIds[] = {
      {"Result files", "result-files"},
      {"Logs", "logs"},
      {"Reference convergence", "convergence"},
      {"Seeds", "seeds"},
      {"Power", "power"},
      {"System description", "system-description"},
      {"System", "system"},
      {"Benchmark", "benchmark"},
      {"Parameters", "parameters"},
      {"Folders", "folders"},
      {"Results", "results"},
      {"Review", "review"}};
  for (const auto& [title, id] : kIds) {
    if (section.title.starts_with(title)) return fmt::format("package/{}", id);
  }
  return "package/other";
}

Case case_of(const Section& section, const std::string& suite, const fs::path& path) {
  Case result{plain_text(suite),
              plain_text(section.title),
              shown(section.path.empty() ? path : section.path),
              section.outcome(),
              section.judged ? "" : plain_text(fmt::format("{}", fmt::join(section.notes, "; "))),
              {}};
  if (!section.findings.empty()) {
    for (const ReviewFinding& finding : section.findings)
      result.annotations.push_back(annotation_of(finding, !section.errors.empty()));
    return result;
  }
  for (const std::string& error : section.errors)
    result.annotations.push_back({section_id(section), true, plain_text(error), 0, "", 0, {}});
  for (const std::string& warning : section.warnings)
    result.annotations.push_back({section_id(section), false, plain_text(warning), 0, "", 0, {}});
  return result;
}

void add_folder(const PackageVerdict& package, const FolderVerdict& folder,
                std::vector<Case>& cases) {
  const std::string suite = fmt::format("{}/{}", package.submitter, folder.folder.place());
  bool logs_count = true;
  for (const Section& section : folder.sections) {
    cases.push_back(case_of(section, suite, folder.folder.path));
    if (section.title == "Logs") logs_count = section.outcome() == Outcome::kFailed;
  }
  for (const LogVerdict& log : folder.logs) cases.push_back(case_of(log, suite, logs_count, false));
}

}  // namespace

std::string plain_text(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size();) {
    bool valid = false;
    const char32_t character = next_character(text, at, valid);
    append_utf8(plain, is_control(character) && character != '\n' ? U' ' : character);
  }
  return plain;
}

std::vector<Case> cases_of(const std::vector<LogVerdict>& logs) {
  std::vector<Case> cases;
  for (const LogVerdict& log : logs)
    cases.push_back(case_of(log, shown(log.path).parent_path().string(), true, true));
  return cases;
}

std::vector<Case> cases_of(const std::vector<PackageVerdict>& packages) {
  std::vector<Case> cases;
  for (const PackageVerdict& package : packages) {
    for (const Section& system : package.systems)
      cases.push_back(case_of(system, package.submitter, package.path));
    for (const FolderVerdict& folder : package.folders) add_folder(package, folder, cases);
  }
  return cases;
}

}  // namespace strata::compliance
