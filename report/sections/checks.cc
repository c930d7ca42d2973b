#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compliance/review/described_system.h"
#include "report/sections/section.h"

namespace strata::report {
namespace {

// A row per reason, with the runs that it concerns.
struct Complaint {
  std::vector<std::string> about;  // logs, or something else
  std::string kind, why;
};

const char* why_without_curve(const ReportedRun& run) {
  return run.curve.has_other_values ? "its eval_accuracy is not a number" : "it has no evaluations";
}

// Returns why no run of a group has a curve, or an empty text if one has or the reasons differ.
std::string why_without_curves(const std::vector<const ReportedFolder*>& folders) {
  std::set<std::string> reasons;
  size_t runs = 0;
  for (const ReportedFolder* folder : folders) {
    for (const ReportedRun& run : folder->runs) {
      ++runs;
      reasons.insert(run.curve.evaluations.empty() ? why_without_curve(run) : "");
    }
  }
  return runs > 1 && reasons.size() == 1 ? *reasons.begin() : "";
}

std::string about_in_words(const Complaint& complaint, size_t runs) {
  constexpr size_t kFew = 6;
  const std::vector<std::string>& about = complaint.about;
  if (about.size() > 1 && about.size() == runs) return fmt::format("all {} runs", runs);
  if (about.size() <= kFew) return fmt::format("{}", fmt::join(about, ", "));
  return fmt::format("{} and {} more", fmt::join(about.begin(), about.begin() + kFew, ", "),
                     about.size() - kFew);
}

// Explains more than the official tool's message.
std::string why_not_converged(const scoring::Score& score) {
  const compliance::RcpVerdict& rcp = score.rcp;
  if (rcp.two_sided || !rcp.judged || !rcp.submission_mean || !rcp.least_mean ||
      !score.batch_size) {
    return rcp.message;
  }
  if (!(*rcp.submission_mean < *rcp.least_mean)) {
    return fmt::format("too few runs to compare with the reference ({})", rcp.message);
  }
  return fmt::format(
      "converges faster than the reference allows at batch size {}: after {}, but at least {} are "
      "required ({})",
      *score.batch_size, short_number(*rcp.submission_mean), short_number(*rcp.least_mean),
      rcp.message);
}

// Names benchmarks whose runs, or convergence, could not be judged.
std::string not_judged(const ReportData& data) {
  std::vector<std::string> no_points;
  std::map<std::string, std::set<std::string>> no_rules;        // benchmarks by reason
  std::map<std::string, std::set<std::string>> not_comparable;  // systems by reason
  for (const std::string& benchmark : data.groups) {
    bool points = true;
    for (const ReportedFolder* folder : folders_of(data, benchmark)) {
      for (const scoring::RunScore& run : folder->score.runs) {
        if (!run.not_judged.empty()) no_rules[run.not_judged].insert(benchmark_name(benchmark));
      }
      const scoring::Score& score = folder->score;
      if (!score.held_to_rcp || score.rcp.outcome() != compliance::Outcome::kNotJudged) continue;
      if (score.rcp.two_sided) {
        not_comparable[score.rcp.message].insert(folder->owner.name);
      } else {
        points = false;
      }
    }
    if (!points) no_points.push_back(benchmark_name(benchmark));
  }
  std::string html;
  for (const auto& [reason, benchmarks] : no_rules) {
    html +=
        paragraph(fmt::format("The runs of {} are not judged; they count if they say success: {}.",
                              fmt::join(benchmarks, ", "), reason));
  }
  for (const auto& [reason, systems] : not_comparable)
    html += paragraph(
        fmt::format("The convergence of {} is not judged: {}.", fmt::join(systems, ", "), reason));
  if (!no_points.empty()) {
    html +=
        paragraph(fmt::format("Some systems of {} have no reference points that the official check "
                              "uses, so their convergence is not judged (--rcp DIR names points).",
                              fmt::join(no_points, ", ")));
  }
  return html;
}

// `told` holds the submitters whose logs lack a name, which is reported only once.
std::vector<Complaint> complaints_of(const ReportedFolder& folder,
                                     std::set<std::filesystem::path>& told, bool watched,
                                     bool group_has_curves) {
  std::vector<Complaint> complaints;
  const auto say = [&](const std::string& about, const std::string& kind, const std::string& why) {
    if (why.empty()) return;
    for (Complaint& known : complaints) {
      if (known.kind != kind || known.why != why) continue;
      known.about.push_back(about);
      return;
    }
    complaints.push_back({{about}, kind, why});
  };
  const scoring::Score& score = folder.score;
  for (size_t i = 0; i < score.runs.size(); ++i) {
    const scoring::RunScore& run = score.runs[i];
    const std::string log = run.log.filename().string();
    // Watched runs that have not ended have a section of their own.
    if (watched && !folder.runs[i].has_ended) continue;
    if (!run.counts && !folder.runs[i].has_ended) say(log, "has not ended", run.reason);
    if (!run.counts && folder.runs[i].has_ended) {
      if (run.broken_rules.empty()) say(log, "does not count", run.reason);
      for (const std::string& rule : run.broken_rules) say(log, "breaks a rule", rule);
    }
    say(log, "energy unknown", run.energy_problem);
    if (group_has_curves && folder.runs[i].curve.evaluations.empty() && run.counts) {
      say(log, "no curve", why_without_curve(folder.runs[i]));
    }
  }
  const bool awaits = watched && awaits_runs(folder);
  if (!awaits && score.held_to_rcp && score.rcp.outcome() == compliance::Outcome::kFailed) {
    say("all runs", "reference points: failed", why_not_converged(score));
  }
  for (const std::string& setting : score.differing_settings)
    say("all runs", "different settings", setting);
  say("all runs", "scaling.json not applied", score.scaling_problem);
  if (score.system.system_name.empty() && !score.folder.submitter_path.empty()) {
    say("the system", "description", "there is no systems/<system>.json that names it");
  }
  for (const compliance::ReviewFinding& finding : folder.review) {
    if (finding.id == compliance::kPlaceholder && !told.insert(score.folder.submitter_path).second)
      continue;
    const bool of_one = std::ranges::any_of(
        score.runs, [&](const scoring::RunScore& run) { return run.log == finding.path; });
    say(of_one ? finding.path.filename().string() : "all runs", "review",
        fmt::format("{}{} [{}]", finding.line > 0 ? fmt::format("line {}: ", finding.line) : "",
                    finding.text, finding.id));
  }
  if (score.mean == scoring::Mean::kNone && !(watched && runs_without_end(folder) > 0)) {
    say("all runs", "no score", "too many runs do not count");
  }
  return complaints;
}

}  // namespace

Section checks_section(const ReportData& data, bool watched) {
  Table table("checks", "What does not count or is unknown, and why",
              {"System", "Benchmark", "Runs", "Finding", "Reason"});
  std::set<std::filesystem::path> told;
  std::set<std::string> without_curves;
  std::string html = not_judged(data);
  for (const std::string& group : data.groups) {
    const std::string why = why_without_curves(folders_of(data, group));
    if (why.empty()) continue;
    without_curves.insert(group);
    html += paragraph(fmt::format("No run of {} has a curve: {}.", benchmark_name(group), why));
  }
  for (const ReportedFolder& folder : data.folders) {
    for (const Complaint& complaint :
         complaints_of(folder, told, watched, !without_curves.contains(folder.group))) {
      table.add({folder.owner.name, benchmark_name(folder.group),
                 about_in_words(complaint, folder.runs.size()), complaint.kind, complaint.why},
                folder.owner.system, folder.group);
    }
  }
  if (table.empty())
    html += paragraph(watched ? "So far every run that has ended counts, and no problem was found."
                              : "Every run counts, and no problem was found.");
  if (!table.empty()) html += table.html();
  if (!data.problems.empty()) {
    html += heading("Not read") + "<ul>";
    constexpr size_t kMost = 200;
    for (size_t i = 0; i < std::min(kMost, data.problems.size()); ++i) {
      html += "<li>" + escape(data.problems[i]) + "</li>";
    }
    html += "</ul>\n";
    if (data.problems.size() > kMost) {
      html += paragraph(fmt::format("and {} more", data.problems.size() - kMost));
    }
  }
  return {"checks", "Checks", html};
}

}  // namespace strata::report
