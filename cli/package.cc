#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files/lines.h"
#include "base/text/counts.h"
#include "base/text/json.h"
#include "base/text/json_version.h"
#include "cli/commands.h"
#include "cli/options/outputs.h"
#include "cli/output/listing.h"
#include "cli/output/print.h"
#include "cli/output/write_json.h"
#include "cli/results/score_options.h"
#include "compliance/trees/merge.h"
#include "compliance/trees/resubmission.h"
#include "scoring/summary/summary.h"

namespace strata::cli {
namespace {

using compliance::Sameness;
using nlohmann::json;

// ---- Merge

struct MergeCommand {
  std::vector<std::filesystem::path> sources;
  std::filesystem::path output;
  bool json = false;
};

void print_merge(const compliance::MergeReport& report) {
  size_t files = 0;
  for (const auto& submitter : report.submitters) {
    files += submitter.files;
    say("{}: {}, {}\n", one_line(submitter.name), counted(submitter.files, "file"),
        counted(submitter.bytes, "byte"));
    for (const auto& source : submitter.sources) say("  from {}\n", one_line(source.string()));
  }
  for (const std::string& path : report.same) {
    say("identical in several sources: {}\n", one_line(path));
  }
  for (const std::string& path : report.left_out) say("left out: {}\n", one_line(path));
  say("{}: {}, {}\n", one_line(report.output.string()),
      counted(report.submitters.size(), "submitter"), counted(files, "file"));
}

json merge_json(const compliance::MergeReport& report) {
  json submitters = json::array();
  for (const auto& submitter : report.submitters) {
    json sources = json::array();
    for (const auto& source : submitter.sources) sources.push_back(source.string());
    submitters.push_back({{"submitter", submitter.name},
                          {"sources", sources},
                          {"files", submitter.files},
                          {"bytes", submitter.bytes}});
  }
  return {{"version", kJsonVersion},
          {"output", report.output.string()},
          {"submitters", submitters},
          {"same", report.same},
          {"left_out", report.left_out}};
}

void add_merge_command(CLI::App& package) {
  CLI::App* command = package.add_subcommand(
      "merge", "Merge submitters' trees into one round; existing files are never replaced");
  const auto options = std::make_shared<MergeCommand>();
  command
      ->add_option("DIR", options->sources,
                   "Submitters (folders with results/ and systems/), or folders of submitters")
      ->required();
  names_output(command->add_option("-o,--output", options->output, "Folder to create"),
               OutputKind::kFolder)
      ->required();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options] {
    const auto report = compliance::merge_submitters(options->sources, options->output);
    options->json ? write_json(merge_json(report)) : print_merge(report);
  });
}

// ---- Preview

struct PreviewCommand {
  ScoreInput input;
  bool detailed = false;
  bool csv = false;
  bool json = false;
};

int preview(const PreviewCommand& command) {
  compliance::ListingProblems problems;
  const auto scores = read_scores(command.input, problems);
  const scoring::Summary summary = scoring::summarize(scores);
  if (command.json) {
    json out = {{"version", kJsonVersion},
                {"usage", summary.usage},
                {"ruleset", summary.ruleset},
                {"rows", json::parse(scoring::summary_json(summary, command.detailed))},
                {"left_out", summary.left_out}};
    write_json(out);
  } else if (command.csv) {
    fmt::print("{}", scoring::summary_csv(summary, command.detailed));
  } else {
    say("{}", scoring::summary_text(summary, command.detailed));
  }
  problems.insert(problems.end(), summary.left_out.begin(), summary.left_out.end());
  refuse(problems);
  return 0;
}

void add_preview_command(CLI::App& package, int& exit_code) {
  CLI::App* command =
      package.add_subcommand("preview", "Show the submission's rows of the round's results table");
  const auto options = std::make_shared<PreviewCommand>();
  add_score_options(*command, options->input);
  command->add_flag("--detailed", options->detailed,
                    "Also show energy, batch size, samples to converge and RCP");
  const auto csv = command->add_flag("--csv", options->csv, "Print CSV, one line per system");
  command->add_flag("--json", options->json, "Print JSON")->excludes(csv);
  command->callback([options, &exit_code] { exit_code = preview(*options); });
}

// ---- Resubmission

struct ResubmitCommand {
  std::filesystem::path submission, round;
  bool json = false;
};

std::string_view word(Sameness sameness) {
  return sameness == Sameness::kSame ? "same" : sameness == Sameness::kNew ? "new" : "differs";
}

std::string value_text(const std::optional<json>& value) {
  if (!value) return "absent";
  return one_line(json_text(*value), 200);
}

void print_resubmission(const compliance::Resubmission& result) {
  for (const auto& system : result.systems) {
    say("{} system {}/{}\n", word(system.sameness), one_line(system.submitter),
        one_line(system.system));
    if (!system.ground.empty()) {
      say("  compared with {}, which {}\n", one_line(system.before.string()), system.ground);
    }
    for (const auto& change : system.fields) {
      say("  {}: {} -> {}\n", one_line(change.field, 80), value_text(change.before),
          value_text(change.after));
    }
  }
  for (const auto& code : result.code) {
    say("{} code {}/{}, {}\n", word(code.sameness), one_line(code.submitter),
        one_line(code.implementation), counted(code.files, "file"));
    for (const auto& [what, names] :
         {std::pair("changed", &code.changed), std::pair("added", &code.added),
          std::pair("removed", &code.removed)}) {
      for (const std::string& name : *names) say("  {}: {}\n", what, one_line(name));
    }
  }
  if (result.code.empty())
    say("no code was compared: the submission has no benchmarks/*/implementations/* that can be "
        "read\n");
}

json resubmission_json(const compliance::Resubmission& result) {
  json systems = json::array(), code = json::array();
  for (const auto& system : result.systems) {
    json fields = json::array();
    for (const auto& change : system.fields) {
      json one = {{"field", change.field}};
      if (change.before) one["before"] = *change.before;
      if (change.after) one["after"] = *change.after;
      fields.push_back(std::move(one));
    }
    systems.push_back({{"submitter", system.submitter},
                       {"system", system.system},
                       {"path", system.path.string()},
                       {"before", system.before.string()},
                       {"outcome", word(system.sameness)},
                       {"fields", fields}});
  }
  for (const auto& one : result.code) {
    code.push_back({{"submitter", one.submitter},
                    {"implementation", one.implementation},
                    {"outcome", word(one.sameness)},
                    {"files", one.files},
                    {"changed", one.changed},
                    {"added", one.added},
                    {"removed", one.removed}});
  }
  return {{"version", kJsonVersion},
          {"differs", result.differs()},
          {"systems", systems},
          {"code", code},
          {"problems", result.problems}};
}

void add_resubmit_command(CLI::App& package, int& exit_code) {
  CLI::App* command = package.add_subcommand(
      "resubmit-check", "Compare the systems and code of a submission with the previous round");
  const auto options = std::make_shared<ResubmitCommand>();
  command->add_option("NEW", options->submission, "A submitter's folder, or a folder of submitters")
      ->required();
  command
      ->add_option("OLD", options->round,
                   "The previous round (a folder of submitters), or a submission to it")
      ->required();
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &exit_code] {
    const auto result = compliance::compare_with_round(options->submission, options->round);
    options->json ? write_json(resubmission_json(result)) : print_resubmission(result);
    refuse(result.problems);
    exit_code = result.differs() ? 1 : 0;
  });
}

}  // namespace

void add_package_command(CLI::App& app, int& exit_code) {
  CLI::App* package = app.add_subcommand("package",
                                         "Merge submissions, preview their rows of the results "
                                         "table, or compare them with the previous round");
  package->require_subcommand(1);
  add_merge_command(*package);
  add_preview_command(*package, exit_code);
  add_resubmit_command(*package, exit_code);
}

}  // namespace strata::cli
