#include "compliance/package/steps/judging.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <new>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "base/files/files.h"
#include "base/text/counts.h"
#include "compliance/checks/rounds.h"
#include "compliance/checks/workload_points.h"
#include "compliance/package/power.h"
#include "compliance/package/report.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

// Whether Strata writes a file of this name beside one of the logs.
bool is_of_a_run(const std::string& name, const std::vector<fs::path>& logs) {
  return std::any_of(logs.begin(), logs.end(), [&](const fs::path& log) {
    const std::string run = log.stem().string();
    if (!name.starts_with(run)) return false;
    for (const char* ending : {".yaml", ".steps.jsonl", ".timeline.json", ".safetensors"}) {
      if (name.substr(run.size()) == ending) return true;
    }
    return false;
  });
}

Section check_files(const FolderVerdict& verdict, const std::string& usage) {
  const ResultFolder& folder = verdict.folder;
  Section section{"Result files", {}, {}, {}};
  const auto wanted = static_cast<size_t>(result_file_count(usage, folder.benchmark));
  const size_t found = folder.logs.size();
  if (folder.weak_scaling ? found < wanted : found != wanted) {
    section.errors.push_back(fmt::format("found {} result_*.txt, expected {}{}",
                                         counted(found, "file"),
                                         folder.weak_scaling ? "at least " : "", wanted));
  }
  ListingProblems told;  // already, of the same folder
  for (const fs::path& file : files(folder.path, &told)) {
    const std::string name = file.filename().string();
    const bool known =
        std::find(folder.logs.begin(), folder.logs.end(), file) != folder.logs.end() ||
        name == "package_checker_params" || name == "scaling.json" ||
        is_of_a_run(name, folder.logs);
    if (known) continue;
    if (is_result_log(file)) {
      section.errors.push_back(fmt::format("{} is {}, not a log", name, what_is_at(file)));
    } else {
      section.warnings.push_back(
          fmt::format("unknown file {}; should it be called result_*.txt?", name));
    }
  }
  for (const fs::path& inner : subfolders(folder.path, &told)) {
    if (is_result_log(inner)) {
      section.errors.push_back(fmt::format("{} is a folder, not a log", inner.filename().string()));
    }
  }
  return section;
}

// At most as many logs may fail as olympic scoring drops.
Section check_logs(const FolderVerdict& verdict) {
  Section section{"Logs", {}, {}, {}};
  std::set<std::string> failed;
  for (const LogVerdict& log : verdict.logs) {
    if (log.outcome() == Outcome::kFailed) failed.insert(log.path.stem().string());
    for (const std::string& note : log.notes) {
      section.notes.push_back(fmt::format("{}: {}", log.path.filename().string(), note));
    }
    if (log.outcome() != Outcome::kNotJudged || !section.judged) continue;
    section.judged = false;
    section.notes.push_back(log.not_judged);
  }
  std::error_code error;
  const fs::path power = verdict.folder.path / "power";
  if (fs::exists(power, error)) {
    PowerVerdict checked = check_power(power, verdict.folder.logs);
    for (auto* texts : {&checked.section.errors, &checked.section.warnings}) {
      section.warnings.insert(section.warnings.end(), texts->begin(), texts->end());
    }
    failed.merge(checked.failed_runs);
  }
  if (failed.empty()) return section;
  const auto allowed = static_cast<size_t>(dropped_runs(verdict.folder.benchmark));
  const std::string names =
      fmt::format("{} of {} {}: {}", failed.size(), counted(verdict.logs.size(), "run"),
                  failed.size() == 1 ? "fails" : "fail", fmt::join(failed, ", "));
  if (failed.size() <= allowed) {
    section.warnings.push_back(names + "; accepted, because olympic scoring drops that many");
  } else {
    section.errors.push_back(fmt::format("{}; at most {} may fail", names, allowed));
  }
  return section;
}

Section describe_rcp(const RcpVerdict& verdict, bool bypass) {
  Section section{"Reference convergence", {}, {}, {}};
  if (!verdict.readable) {
    section.errors.push_back("cannot be judged: " + verdict.message);
    return section;
  }
  if (!verdict.judged) {
    section.judged = false;
    section.notes.push_back(verdict.message);
    return section;
  }
  std::string text = rcp_text(verdict);
  if (verdict.passed) {
    section.notes.push_back(std::move(text));
  } else if (bypass && verdict.may_bypass()) {
    section.warnings.push_back(text +
                               "; accepted because of rcp-bypass; the review committee decides");
  } else {
    section.errors.push_back(std::move(text));
  }
  return section;
}

}  // namespace

ReviewedFolder reviewed(const ResultFolder& folder, const PackageOptions& options) {
  return {options.usage, options.ruleset, folder.benchmark, folder.weak_scaling};
}

LogFacts read_facts(const fs::path& path, const ResultFolder& folder, const DescribedSystem& system,
                    mllog::LogFormat format, RuleStore& rules, const PackageOptions& options) {
  LogFacts facts;
  try {
    const mllog::LogReader log(path, format);
    facts.verdict = check_log(log, rules, options.usage, options.ruleset, options.werror);
    facts.convergence = read_convergence(log, options.ruleset, options.bert_train_samples);
    facts.seeds = read_seeds(log);
    facts.settings = read_settings(log);
    ReviewedRun run = review_run(log, reviewed(folder, options), system);
    facts.record = std::move(run.record);
    facts.verdict.review = std::move(run.findings);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    facts.verdict = unreadable_log(path, error.what());
    facts.convergence.problem = facts.seeds.problem = error.what();
    facts.seeds.path = path;
    facts.record = {};
    facts.record.path = path;
  }
  return facts;
}

FolderFacts judge_folder(FolderVerdict& verdict, std::vector<LogFacts> facts,
                         const CheckerParams& of_system, const PackageOptions& options) {
  FolderFacts folder;
  std::vector<RunConvergence> convergence;
  std::vector<LogSeeds> seeds;
  for (LogFacts& fact : facts) {
    folder.runs.push_back(std::move(fact.record));
    folder.settings.push_back(std::move(fact.settings));
    verdict.logs.push_back(std::move(fact.verdict));
    convergence.push_back(std::move(fact.convergence));
    seeds.push_back(std::move(fact.seeds));
  }
  verdict.sections.push_back(check_files(verdict, options.usage));
  verdict.sections.push_back(check_logs(verdict));
  folder.convergence = combine(convergence);
  if (verdict.division != "closed" || compare_versions(options.ruleset, "1.0.0") < 0) {
    // The official checks end here. Points of a workload of its own count in every division.
    if (const WorkloadPoints* own = find_workload_points(folder.convergence)) {
      const RcpVerdict rcp = check_workload(folder.convergence, *own);
      if (rcp.judged) {
        verdict.rcp = rcp;
        verdict.sections.push_back(describe_rcp(rcp, false));
      } else {
        // No rule asks for this verdict, so the submission does not need it.
        verdict.sections.back().notes.push_back("convergence not judged: " + rcp.message);
      }
    }
    return folder;
  }
  const CheckerParams params = read_checker_params(verdict.folder.path);
  if (options.seed_bypass || of_system.seed_bypass || params.seed_bypass) {
    verdict.sections.push_back({"Seeds", {}, {}, {"not checked because of seed-checker-bypass"}});
  } else {
    verdict.sections.push_back(check_seeds(seeds));
    verdict.seeds_passed = verdict.sections.back().passed();
  }
  if (verdict.folder.benchmark == "minigo" || verdict.logs.empty()) return folder;
  verdict.rcp = check_rcp(folder.convergence, options.rcp, options.usage, options.ruleset,
                          options.rcp_pass, options.other_rcp);
  verdict.sections.push_back(
      describe_rcp(verdict.rcp, options.rcp_bypass || of_system.rcp_bypass || params.rcp_bypass));
  return folder;
}

}  // namespace strata::compliance
