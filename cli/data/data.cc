// strata data: makes pretraining data from text and shows what is in a file.

#include "cli/commands.h"
#include "cli/data/subcommands.h"

namespace strata::cli {

void add_data_command(CLI::App& app, int& exit_code) {
  CLI::App* data =
      app.add_subcommand("data", "Make pretraining data from text, and inspect data files");
  data->require_subcommand(1);
  add_prepare(*data);
  add_mlperf(*data);
  add_convert(*data);
  add_index(*data);
  add_shapes(*data);
  add_compare(*data, exit_code);
  add_info(*data);
  add_show(*data);
}

}  // namespace strata::cli
