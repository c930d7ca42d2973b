#include "compliance/package/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "base/text/counts.h"
#include "base/text/json.h"
#include "base/text/json_version.h"
#include "base/text/printable.h"
#include "compliance/checks/similar_keys.h"
#include "compliance/review/run_record.h"

namespace strata::compliance {
namespace {

using nlohmann::json;

std::string indented(std::string text, const std::string& indent) {
  for (size_t at = 0; (at = text.find('\n', at)) != text.npos; at += indent.size() + 1)
    text.insert(at + 1, indent);
  return indent + text;
}

std::string findings_text(const std::vector<Finding>& findings, std::string_view kind) {
  std::string text;
  for (const Finding& finding : merge_repeats(findings))
    text += indented(fmt::format("{}: {}", kind, describe(finding)), "  ") + '\n';
  return text;
}

json to_json(const std::vector<Finding>& findings) {
  json out = json::array();
  for (const Finding& finding : findings) {
    out.push_back({{"key", finding.key},
                   {"summary", finding.summary},
                   {"wanted", finding.rule},
                   {"found", finding.found},
                   {"id", finding.id},
                   {"rule_file", finding.rule_file},
                   {"rule_line", finding.rule_line},
                   {"log_line", finding.log_line}});
  }
  return out;
}

json to_json(const std::vector<ReviewFinding>& findings) {
  json out = json::array();
  for (const ReviewFinding& finding : findings) {
    out.push_back({{"id", finding.id},
                   {"path", finding.path.string()},
                   {"line", finding.line},
                   {"text", finding.text}});
  }
  return out;
}

json to_json(const LogVerdict& verdict) {
  return {{"log", verdict.path.string()},
          {"passed", verdict.passed()},
          {"outcome", word(verdict.outcome())},
          {"not_judged", verdict.not_judged},
          {"readable", verdict.readable},
          {"usage", verdict.usage},
          {"ruleset", verdict.ruleset},
          {"ruleset_ground", verdict.ground},
          {"rules", rules_json(verdict.rules)},
          {"benchmark", verdict.benchmark},
          {"events", verdict.event_count},
          {"errors", to_json(verdict.errors)},
          {"warnings", to_json(verdict.warnings)},
          {"notes", verdict.notes},
          {"review", to_json(verdict.review)}};
}

json number_json(std::optional<double> number) {
  return number && std::isfinite(*number) ? json(*number) : json();
}

json to_json(const RcpVerdict& rcp) {
  json runs = json::array();
  for (const double run : rcp.runs) runs.push_back(run < kNeverConverged ? json(run) : json());
  return {{"outcome", word(rcp.outcome())},
          {"judged", rcp.judged},
          {"passed", rcp.passed},
          {"message", rcp.message},
          {"points", rcp.points},
          {"points_sha256", rcp.points_sha256},
          {"point_batch_sizes", rcp.point_batch_sizes},
          {"global_batch_size", number_json(rcp.batch_size)},
          {"runs", runs},
          {"mean", number_json(rcp.submission_mean)},
          {"reference_mean", number_json(rcp.reference_mean)},
          {"least_mean", number_json(rcp.least_mean)},
          {"greatest_mean", number_json(rcp.greatest_mean)},
          {"scaling", rcp.scaling}};
}

json to_json(const Section& section) {
  json out = {{"title", section.title},
              {"passed", section.passed()},
              {"outcome", word(section.outcome())},
              {"errors", section.errors},
              {"warnings", section.warnings},
              {"notes", section.notes},
              {"findings", to_json(section.findings)}};
  if (section.rcp) out["rcp"] = to_json(*section.rcp);
  return out;
}

json to_json(const std::vector<Section>& sections) {
  json out = json::array();
  for (const Section& section : sections) out.push_back(to_json(section));
  return out;
}

json to_json(const PackageVerdict& package) {
  json folders = json::array();
  for (const FolderVerdict& folder : package.folders) {
    json logs = json::array();
    for (const LogVerdict& log : folder.logs) logs.push_back(to_json(log));
    folders.push_back({{"path", folder.folder.path.string()},
                       {"system", folder.folder.system},
                       {"benchmark", folder.folder.benchmark},
                       {"division", folder.division},
                       {"skipped", folder.skipped},
                       {"passed", folder.passed()},
                       {"outcome", word(folder.outcome())},
                       {"sections", to_json(folder.sections)},
                       {"rcp", to_json(folder.rcp)},
                       {"seeds_passed", folder.seeds_passed},
                       {"logs", logs}});
  }
  return {{"submitter", package.submitter},      {"path", package.path.string()},
          {"passed", package.passed()},          {"outcome", word(package.outcome())},
          {"systems", to_json(package.systems)}, {"folders", folders}};
}

// Returns an object with the version and one list.
std::string dump(const char* name, const json& list) {
  const json value = {{"version", kJsonVersion}, {name, list}};
  return json_text(value, 2) + '\n';
}

// Returns whether the only problem is that the file is no log.
bool is_no_log(const LogVerdict& verdict) {
  const auto says_so = [](const Finding& finding) { return finding.summary == kNoEvents; };
  const auto& errors = verdict.errors;
  return verdict.event_count == 0 && std::any_of(errors.begin(), errors.end(), says_so) &&
         std::none_of(errors.begin(), errors.end(),
                      [](const Finding& finding) { return finding.log_line > 0; });
}

std::string folder_text(const FolderVerdict& folder) {
  std::string text =
      fmt::format("{} results/{} ({})\n", folder.skipped ? "skipped" : word(folder.outcome()),
                  one_line(folder.folder.place()),
                  folder.division.empty() ? "division unknown" : one_line(folder.division));
  for (const Section& section : folder.sections) text += section_text(section, "  ");
  for (const LogVerdict& log : folder.logs) {
    if (log.outcome() == Outcome::kFailed) text += indented(log_text(log), "    ") + '\n';
  }
  while (text.ends_with("\n    \n")) text.erase(text.size() - 5);
  return text;
}

// Sums up the review's findings by the ids of its checks.
std::string review_text(const std::vector<PackageVerdict>& packages) {
  struct Found {
    size_t places = 0;
    std::string noun, first;
  };
  std::map<std::string, Found> found;
  const auto note = [&](const std::vector<Section>& sections, const std::string& noun,
                        const std::string& place) {
    std::set<std::string> ids;
    for (const Section& section : sections) {
      for (const ReviewFinding& finding : section.findings) {
        if (!ids.insert(finding.id).second) continue;
        Found& known = found[finding.id];
        if (++known.places == 1) known = {1, noun, place};
      }
    }
  };
  for (const PackageVerdict& package : packages) {
    note(package.systems, "submission", package.submitter);
    for (const FolderVerdict& folder : package.folders) {
      note(folder.sections, "folder",
           fmt::format("{}/{}", package.submitter, folder.folder.place()));
    }
  }
  if (found.empty()) return {};
  std::string text =
      "\nreview findings, which break no official rule ('strata check package' prints them in "
      "full)\n";
  for (const auto& [id, one] : found) {
    text += fmt::format("  {}: {}, first in {}\n", counted(one.places, one.noun), one_line(id),
                        one_line(one.first));
  }
  return text;
}

// Returns a line for each rule set that judged logs.
std::string rules_text(std::span<const PackageVerdict> packages) {
  std::set<std::string> rules;
  for (const PackageVerdict& package : packages) {
    for (const FolderVerdict& folder : package.folders) {
      for (const LogVerdict& log : folder.logs) {
        if (!log.rules.source.empty()) rules.insert(log.rules.text());
      }
    }
  }
  std::string text;
  for (const std::string& one : rules) text += fmt::format("rules: {}\n", one_line(one));
  return text;
}

}  // namespace

json rules_json(const RuleIdentity& rules) {
  return {{"source", rules.source},
          {"version", rules.version},
          {"path", rules.path},
          {"sha256", rules.sha256}};
}

namespace {

// Names the rules that judged a log, if they were inferred.
std::string ground_text(const LogVerdict& verdict) {
  std::string text;
  if (verdict.ground != "given") {
    text += fmt::format("  ruleset: {} {} (from the {}; --ruleset overrides)\n", verdict.usage,
                        verdict.ruleset, one_line(verdict.ground));
  }
  if (!verdict.rules.source.empty())
    text += fmt::format("  rules: {}\n", one_line(verdict.rules.text()));
  return text;
}

std::string outcome_line(const LogVerdict& verdict) {
  return fmt::format("{} {}\n", word(verdict.outcome()), one_line(verdict.path.string()));
}

std::string details_text(const LogVerdict& verdict) {
  std::string text;
  if (!verdict.not_judged.empty()) text += fmt::format("  {}\n", one_line(verdict.not_judged));
  if (is_no_log(verdict)) {
    const auto none = std::ranges::find(verdict.errors, kNoEvents, &Finding::summary);
    return text + fmt::format("  error: {}, so it is not an MLPerf log (--json shows {})\n",
                              one_line(none->found),
                              counted(verdict.errors.size() + verdict.warnings.size() - 1,
                                      "more finding that results from this",
                                      "more findings that result from this"));
  }
  text += findings_text(verdict.errors, "error") + findings_text(verdict.warnings, "warning");
  for (const std::string& note : verdict.notes) text += fmt::format("  note: {}\n", one_line(note));
  for (const ReviewFinding& finding : verdict.review) {
    text += fmt::format("  review: {}{} [{}]\n",
                        finding.line > 0 ? fmt::format("line {}: ", finding.line) : "",
                        one_line(finding.text), one_line(finding.id));
  }
  return text;
}

// Returns how many logs have each outcome, and why some were not judged.
std::string count_of_logs(const std::vector<LogVerdict>& verdicts, bool reasons) {
  std::map<Outcome, size_t> outcomes;
  std::map<std::string, size_t> not_judged;
  for (const LogVerdict& verdict : verdicts) {
    ++outcomes[verdict.outcome()];
    if (verdict.outcome() == Outcome::kNotJudged) ++not_judged[one_line(verdict.not_judged)];
  }
  std::vector<std::string> parts;
  for (const auto& [outcome, count] : outcomes)
    parts.push_back(fmt::format("{} {}", count_text(count), word(outcome)));
  std::string text =
      fmt::format("{}: {}\n", counted(verdicts.size(), "log"), fmt::join(parts, ", "));
  for (const auto& [reason, count] : not_judged) {
    if (reasons) text += fmt::format("  {} not judged: {}\n", count_text(count), reason);
  }
  return text;
}

}  // namespace

std::string log_text(const LogVerdict& verdict) {
  return outcome_line(verdict) + ground_text(verdict) + details_text(verdict);
}

std::string logs_text(const std::vector<LogVerdict>& verdicts, bool quiet) {
  std::string text, ground_before;
  for (const LogVerdict& verdict : verdicts) {
    const bool said = verdict.outcome() == Outcome::kFailed || !quiet || verdicts.size() == 1;
    if (!said) continue;
    const std::string ground = ground_text(verdict);
    text += outcome_line(verdict);
    if (ground != ground_before) text += ground;
    text += details_text(verdict);
    ground_before = ground;
  }
  return verdicts.size() == 1 ? text : text + count_of_logs(verdicts, quiet);
}

std::string log_json(const std::vector<LogVerdict>& verdicts) {
  json out = json::array();
  for (const LogVerdict& verdict : verdicts) out.push_back(to_json(verdict));
  return dump("logs", out);
}

std::string section_text(const Section& section, const std::string& indent) {
  std::string text =
      fmt::format("{}{} {}\n", indent, word(section.outcome()), one_line(section.title));
  for (const std::string& error : section.errors)
    text += fmt::format("{}  error: {}\n", indent, one_line(error));
  for (const std::string& warning : section.warnings)
    text += fmt::format("{}  warning: {}\n", indent, one_line(warning));
  for (const std::string& note : section.notes)
    text += fmt::format("{}  {}\n", indent, one_line(note));
  return text;
}

std::string rcp_text(const RcpVerdict& verdict) {
  if (verdict.two_sided || !verdict.submission_mean || !verdict.reference_mean ||
      !verdict.least_mean)
    return verdict.message;
  std::string text = verdict.message + ": ";
  text += std::isfinite(*verdict.submission_mean)
              ? fmt::format("mean {} to converge", count_text(*verdict.submission_mean))
              : fmt::format("too few runs for an olympic mean: {}", verdict.runs.size());
  text += fmt::format(", reference mean {}, at least {} required",
                      count_text(*verdict.reference_mean), count_text(*verdict.least_mean));
  if (verdict.passed && verdict.scaling > 1)
    text += fmt::format(
        "; the check asks for a factor of {:.6f} on the score: --write-scaling writes it, 'strata "
        "score --scale' applies it",
        verdict.scaling);
  return text;
}

std::vector<std::string> rcp_details(const RcpVerdict& verdict) {
  std::vector<std::string> lines;
  const auto& points = verdict.point_batch_sizes;
  if (verdict.batch_size) {
    std::string text = fmt::format("batch size {}", count_text(*verdict.batch_size));
    if (points.size() == 2) {
      text += fmt::format(", between the reference points of {} and {}", count_text(points[0]),
                          count_text(points[1]));
    } else if (points.size() == 1 && points[0] != *verdict.batch_size) {
      text += fmt::format(", compared with the reference point of {}", count_text(points[0]));
    }
    lines.push_back(std::move(text));
  }
  if (!verdict.runs.empty()) {
    std::vector<std::string> runs;
    for (const double run : verdict.runs)
      runs.push_back(run < kNeverConverged ? count_text(run) : "not converged");
    lines.push_back(fmt::format("runs: {}", fmt::join(runs, "; ")));
  }
  if (!verdict.note.empty()) lines.push_back(verdict.note);
  if (verdict.counts_no_samples()) {
    lines.push_back(verdict.by_train_samples
                        ? "these numbers are not samples: train_samples counts something else"
                        : "these numbers are not samples: epoch_num counts something else; use "
                          "--rcp-bert-train-samples to judge by train_samples");
  }
  return lines;
}

std::string section_json(const std::vector<Section>& sections) {
  return dump("sections", to_json(sections));
}

std::string package_text(const PackageVerdict& package, bool quiet) {
  std::string text;
  for (const Section& system : package.systems) {
    if (!quiet || !system.passed()) text += section_text(system);
  }
  for (const FolderVerdict& folder : package.folders) {
    if (!quiet || !folder.passed()) text += folder_text(folder);
  }
  return text + rules_text(std::span(&package, 1)) +
         fmt::format("{} {}\n", word(package.outcome()), one_line(package.path.string()));
}

// A round's text lists the options that a submission grants itself, even if it passes.
std::string round_text(const std::vector<PackageVerdict>& packages) {
  size_t width = 9;
  for (const PackageVerdict& package : packages)
    width = std::max(width, one_line(package.submitter).size());
  std::string text = fmt::format(
      "{:<{}}  outcome     systems     folders  failed  not judged  logs   failed logs\n",
      "submitter", width);
  std::map<std::string, size_t> not_judged;  // number of logs by reason
  for (const PackageVerdict& package : packages) {
    size_t failed_folders = 0, unjudged_folders = 0, logs = 0, failed_logs = 0;
    for (const FolderVerdict& folder : package.folders) {
      failed_folders += folder.outcome() == Outcome::kFailed;
      unjudged_folders += folder.outcome() == Outcome::kNotJudged;
      logs += folder.logs.size();
      for (const LogVerdict& log : folder.logs) failed_logs += log.outcome() == Outcome::kFailed;
      for (const Section& section : folder.sections) {
        if (!section.judged) ++not_judged[fmt::format("{}", fmt::join(section.notes, "; "))];
      }
    }
    text += fmt::format("{:<{}}  {:<10}  {:<10}  {:<7}  {:<6}  {:<10}  {:<5}  {}\n",
                        one_line(package.submitter), width, word(package.outcome()),
                        word(outcome_of(package.systems)), package.folders.size(), failed_folders,
                        unjudged_folders, logs, failed_logs);
  }
  const auto failed = [](const Section& section) { return section.outcome() == Outcome::kFailed; };
  for (const PackageVerdict& package : packages) {
    if (package.outcome() != Outcome::kFailed) continue;
    text += fmt::format("\n{}\n", one_line(package.submitter));
    for (const Section& system : package.systems) {
      if (failed(system)) text += section_text(system, "  ");
    }
    for (const FolderVerdict& folder : package.folders) {
      if (folder.outcome() != Outcome::kFailed) continue;
      text += fmt::format("  failed results/{}\n", one_line(folder.folder.place()));
      for (const Section& section : folder.sections) {
        if (failed(section)) text += section_text(section, "    ");
      }
    }
  }
  for (const PackageVerdict& package : packages) {
    for (const Section& system : package.systems) {
      if (system.title != kParameters) continue;
      text += fmt::format("\n{}\n{}", one_line(package.submitter), section_text(system, "  "));
    }
  }
  if (!not_judged.empty()) text += "\nnot judged\n";
  for (const auto& [reason, folders] : not_judged)
    text += fmt::format("  {}: {}\n", counted(folders, "folder"), one_line(reason));
  text += review_text(packages);
  const std::string rules = rules_text(packages);
  return rules.empty() ? text : text + '\n' + rules;
}

std::string package_json(const std::vector<PackageVerdict>& packages) {
  json out = json::array();
  for (const PackageVerdict& package : packages) out.push_back(to_json(package));
  return dump("packages", out);
}

}  // namespace strata::compliance
