#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "cli/commands.h"
#include "cli/listing.h"
#include "results/export/tensorboard.h"

namespace strata::cli {
namespace {

struct ExportOptions {
  std::vector<std::filesystem::path> paths;
  std::filesystem::path output;
};

int export_tensorboard(const ExportOptions& options) {
  compliance::ListingProblems problems;
  const auto runs = results::export_tensorboard(options.paths, options.output, problems);
  size_t scalars = 0;
  for (const results::ExportedRun& run : runs) {
    scalars += run.scalars;
    if (run.scalars == 0) fmt::print("no numbers in {}\n", run.log.string());
  }
  fmt::print("{} runs, {} numbers: tensorboard --logdir {}\n", runs.size(), scalars,
             options.output.string());
  refuse(problems);
  return 0;
}

}  // namespace

void add_export_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("export", "Logs as other programs' files");
  command->require_subcommand(1);
  CLI::App* tensorboard = command->add_subcommand(
      "tensorboard", "TensorBoard's event files of any MLPerf log: every number of its run");
  const auto options = std::make_shared<ExportOptions>();
  tensorboard
      ->add_option("PATH", options->paths,
                   "Logs, folders of result_N.txt, systems, submitters or rounds")
      ->required();
  tensorboard->add_option("-o,--output", options->output, "Folder that takes a folder for each log")
      ->required();
  tensorboard->callback([options, &exit_code] { exit_code = export_tensorboard(*options); });
}

}  // namespace strata::cli
