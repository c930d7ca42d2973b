#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "cli/check/verdicts.h"
#include "cli/options/rule_options.h"
#include "cli/output/listing.h"
#include "compliance/package/power.h"
#include "compliance/package/report.h"
#include "compliance/package/scaling.h"
#include "compliance/package/seeds.h"
#include "compliance/package/submission_tree.h"

namespace strata::cli {
namespace {

namespace fs = std::filesystem;
using compliance::ListingProblems;
using compliance::Outcome;
using compliance::ResultFolder;
using compliance::Section;
using mllog::LogReader;

// Prints a section for each result folder under the path and returns the exit code. `judge` may
// leave a folder out. Throws Error if no section is left. A file that cannot be read is an error of
// its section and is named again at the end.
int check_folders(const CheckOptions& options, std::string_view title,
                  const std::function<std::optional<Section>(const ResultFolder&)>& judge,
                  std::string_view none_there) {
  const std::string& path = options.paths.front();
  ListingProblems problems;
  std::vector<Section> sections;
  for (const ResultFolder& folder : compliance::find_result_folders(path, &problems)) {
    std::optional<Section> section;
    try {
      section = judge(folder);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      section = Section{"", {error.what()}, {}, {}};
      problems.push_back(error.what());
    }
    if (!section) continue;
    section->title = fmt::format("{}{}", title, folder.path.string());
    sections.push_back(std::move(*section));
  }
  if (sections.empty() && problems.empty()) fail("{}: {}", path, none_there);
  const int exit_code = print_sections(sections, options);
  refuse(problems);
  return exit_code;
}

constexpr std::string_view kNoLogs = "no result_*.txt under it";

}  // namespace

int check_rcp(const CheckOptions& options) {
  const auto choice = choose_ruleset(options, options.paths.front());
  const PointFolders points = point_folders(options.rules, options.rcp);
  ListingProblems unwritten;
  const int exit_code = check_folders(
      options, "",
      [&](const ResultFolder& folder) {
        Section section;
        std::vector<compliance::RunConvergence> runs;
        for (const fs::path& path : folder.logs) {
          const LogReader log(path, mllog::LogFormat::kMllog);
          runs.push_back(
              compliance::read_convergence(log, choice.ruleset, options.bert_train_samples));
          if (log.bad_line_count() == 0) continue;
          section.warnings.push_back(fmt::format(
              "{}: skipped {} ':::MLLOG' but no event; the first is line {}: {}",
              path.filename().string(),
              counted(log.bad_line_count(), "line that has", "lines that have"),
              log.line_number(log.bad_lines().front().offset), log.bad_lines().front().reason));
        }
        const auto together = compliance::combine(runs);
        const auto verdict =
            options.custom_rcps.empty()
                ? compliance::check_rcp(together, points.directory, choice.usage, choice.ruleset,
                                        options.pass(), points.others)
                : compliance::check_rcp_by(options.custom_rcps, together, choice.usage,
                                           choice.ruleset, options.pass());
        const std::string text = compliance::rcp_text(verdict);
        if (!verdict.points.empty()) {
          section.notes.push_back(fmt::format("reference points: {} (sha256 {})", verdict.points,
                                              verdict.points_sha256.substr(0, 16)));
        }
        if (verdict.outcome() == Outcome::kFailed && options.rcp_bypass && verdict.may_bypass()) {
          section.warnings.push_back(
              text + "; accepted because of --rcp-bypass; the review committee decides");
        } else if (verdict.outcome() == Outcome::kFailed) {
          section.errors.push_back(text);
        } else {
          section.judged = verdict.outcome() == Outcome::kPassed;
          section.notes.push_back(text);
        }
        for (std::string& line : compliance::rcp_details(verdict))
          section.notes.push_back(std::move(line));
        section.rcp = verdict;
        if (!options.write_scaling) return section;
        const auto written = compliance::write_scaling(folder.path, verdict);
        if (!written.note.empty()) section.notes.push_back(written.note);
        if (!written.problem.empty()) unwritten.push_back(written.problem);
        return section;
      },
      kNoLogs);
  refuse(unwritten);
  return exit_code;
}

int check_seeds(const CheckOptions& options) {
  std::string no_rule;  // says that the round has no rule on seeds; else empty
  try {
    const auto choice =
        compliance::infer_ruleset_of_tree(options.paths.front(), options.usage, options.ruleset);
    if (compliance::compare_versions(choice.ruleset, "1.0.0") < 0) {
      no_rule = fmt::format("no rule of {} {} asks for seeds", choice.usage, choice.ruleset);
    }
  } catch (const Error&) {
    // The round is unknown, so seeds are checked, as in every round since 1.0.
  }
  return check_folders(
      options, "Seeds ",
      [&](const ResultFolder& folder) {
        if (!no_rule.empty()) return Section{"", {}, {}, {no_rule}, false};
        std::vector<compliance::LogSeeds> seeds;
        for (const fs::path& log : folder.logs)
          seeds.push_back(compliance::read_seeds(LogReader(log, mllog::LogFormat::kMllog)));
        return compliance::check_seeds(seeds);
      },
      kNoLogs);
}

int check_power(const CheckOptions& options) {
  return check_folders(
      options, "Power ",
      [](const ResultFolder& folder) -> std::optional<Section> {
        const fs::path power = folder.path / "power";
        if (is_missing(power)) return std::nullopt;
        return compliance::check_power(power, folder.logs).section;
      },
      "no result folder under it has power logs (power/result_N/node_I.txt)");
}

}  // namespace strata::cli
