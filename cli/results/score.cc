#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/printable.h"
#include "cli/commands.h"
#include "cli/options/outputs.h"
#include "cli/output/print.h"
#include "cli/results/score_options.h"
#include "scoring/score_report.h"
#include "scoring/summary/summary.h"
#include "scoring/summary/workbook.h"

namespace strata::cli {
namespace {

struct Options {
  ScoreInput input;
  std::string csv_file;
  std::string output;
  std::string summary_file;
  bool detailed = false;
  bool private_ids = false;
  bool json = false;
};

std::string summary_as(const std::string& file, const scoring::Summary& summary, bool detailed) {
  if (file.ends_with(".json")) return scoring::summary_json(summary, detailed);
  if (file.ends_with(".xlsx")) return scoring::summary_xlsx(summary, detailed);
  return scoring::summary_csv(summary, detailed);
}

// Writes the table as it is published, in the format of the file's extension.
void write_summary(const Options& options, const std::vector<scoring::Score>& scores,
                   compliance::ListingProblems& problems) {
  const std::string& file = options.summary_file;
  const scoring::Summary summary = scoring::summarize(scores, options.private_ids);
  write_output(file, summary_as(file, summary, options.detailed));
  problems.insert(problems.end(), summary.left_out.begin(), summary.left_out.end());
}

// Names the ruleset of the first folder that has one.
std::string ruleset_text(const std::vector<scoring::Score>& scores) {
  for (const scoring::Score& score : scores) {
    if (score.ruleset.empty()) continue;
    return fmt::format("ruleset: {} {} (from the {}; --ruleset overrides)\n", score.usage,
                       score.ruleset, score.ground);
  }
  return "";
}

// Returns a line for each rule set that was applied.
std::string rules_text(const std::vector<scoring::Score>& scores) {
  std::set<std::string> rules;
  for (const scoring::Score& score : scores) {
    if (const auto judged_by = score.rules(); !judged_by.source.empty())
      rules.insert(judged_by.text());
  }
  std::string text;
  for (const std::string& one : rules) text += fmt::format("rules: {}\n", one);
  return text + "\n";
}

int score(const Options& options) {
  compliance::ListingProblems problems;
  const std::vector<scoring::Score> scores = read_scores(options.input, problems);
  if (!options.csv_file.empty()) write_output(options.csv_file, scoring::score_csv(scores));
  if (!options.summary_file.empty()) write_summary(options, scores, problems);
  if (options.json) {
    print_or_write(options.output, scoring::score_json(scores));
  } else {
    std::string text;
    if (options.input.rules.score.ruleset.empty()) text += ruleset_text(scores);
    print_or_write(options.output,
                   printable_lines(text + rules_text(scores) + scoring::score_table(scores)));
  }
  refuse(problems);
  return 0;
}

}  // namespace

void add_score_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("score", "Score result folders: time to train per system and benchmark");
  const auto options = std::make_shared<Options>();
  add_score_options(*command, options->input);
  names_output(
      command->add_option("--csv", options->csv_file, "Also write the scores to this file as CSV"));
  command->add_flag("--json", options->json, "Print JSON");
  add_output_option(*command, options->output);
  command->add_flag("--scale", options->input.rules.score.scale,
                    "Multiply by the factor that the convergence check asks for, instead of the "
                    "one in scaling.json");
  const auto summary =
      command
          ->add_option(
              "--summary", options->summary_file,
              "Also write the round's table as published, one row per system: .csv, .xlsx or .json")
          ->type_name("FILE");
  names_output(summary, OutputKind::kFile);  // the file's ending chooses the format
  command
      ->add_flag("--detailed", options->detailed,
                 "With --summary: also energy, batch size, samples to converge and RCP")
      ->needs(summary);
  command
      ->add_flag("--private-ids,--generate_private_ids", options->private_ids,
                 "With --summary: write results/SYSTEM/privateid.json if there is none")
      ->needs(summary);
  command->callback([options, &exit_code] {
    const std::string& file = options->summary_file;
    std::error_code ignored;
    if (file.ends_with(".xlsx") && scoring::workbook_library().empty()) {
      fail(
          "--summary {}: this program was built without libxlsxwriter, which writes .xlsx; install "
          "libxlsxwriter-dev and zlib1g-dev and build again, or name a .csv file, which "
          "spreadsheets open",
          file);
    }
    if (!file.empty() && !file.ends_with(".csv") && !file.ends_with(".xlsx") &&
        !file.ends_with(".json") && !std::filesystem::is_other(file, ignored)) {
      fail("--summary {}: name a file that ends in .csv, .xlsx or .json", file);
    }
    exit_code = score(*options);
  });
}

}  // namespace strata::cli
