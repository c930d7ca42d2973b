#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "base/files/files.h"
#include "base/text/counts.h"
#include "base/text/printable.h"
#include "cli/commands.h"
#include "cli/options/outputs.h"
#include "cli/output/listing.h"
#include "cli/output/print.h"
#include "scoring/export/events_csv.h"
#include "scoring/export/tensorboard.h"

namespace strata::cli {
namespace {

struct ExportOptions {
  std::vector<std::filesystem::path> paths;
  std::filesystem::path output;
};

int export_tensorboard(const ExportOptions& options) {
  compliance::ListingProblems problems;
  const auto runs = scoring::export_tensorboard(options.paths, options.output, problems);
  size_t scalars = 0;
  for (const scoring::ExportedRun& run : runs) {
    scalars += run.scalars;
    if (run.scalars == 0) say("no numbers in {}\n", run.log.string());
  }
  say("{}, {}: tensorboard --logdir {}\n", counted(runs.size(), "run"), counted(scalars, "number"),
      options.output.string());
  refuse(problems);
  return 0;
}

int export_csv(const ExportOptions& options) {
  compliance::ListingProblems problems;
  const scoring::EventsTable table = scoring::events_table(options.paths, problems);
  write_output(options.output, table.csv);
  print_to_stderr("{}, {}: {}\n", counted(table.logs, "log"), counted(table.events, "event"),
                  one_line(options.output.string()));
  refuse(problems);
  return 0;
}

void add_paths(CLI::App& command, ExportOptions& options, const char* output_help,
               OutputKind kind) {
  command
      .add_option("PATH", options.paths,
                  "Logs, folders of result_N.txt, systems, submitters or rounds")
      ->required();
  names_output(command.add_option("-o,--output", options.output, output_help), kind)->required();
}

}  // namespace

void add_export_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("export", "Convert logs to files of other programs");
  command->require_subcommand(1);
  CLI::App* tensorboard = command->add_subcommand(
      "tensorboard", "TensorBoard event files from any MLPerf logs, with every number of each run");
  const auto options = std::make_shared<ExportOptions>();
  add_paths(*tensorboard, *options, "Output folder, with a folder for each log",
            OutputKind::kFolder);
  tensorboard->callback([options, &exit_code] { exit_code = export_tensorboard(*options); });
  CLI::App* csv = command->add_subcommand(
      "csv",
      "A table from any MLPerf logs: one line per event, with its value and metadata as JSON");
  const auto csv_options = std::make_shared<ExportOptions>();
  add_paths(*csv, *csv_options, "CSV file to write; /dev/stdout prints it", OutputKind::kText);
  csv->callback([csv_options, &exit_code] { exit_code = export_csv(*csv_options); });
}

}  // namespace strata::cli
