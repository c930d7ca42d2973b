// strata: train BERT to a target, check MLPerf logs, score results.

#include <cstdio>
#include <exception>

#include "base/error.h"
#include "cli/commands.h"

int main(int argc, char** argv) {
  CLI::App app{
      "Strata: an MLPerf-style BERT pretraining benchmark and the tools around such runs.\n"
      "Start with scripts/quickstart.sh, or 'strata COMMAND --help'."};
  app.name("strata");
  app.require_subcommand(1);
  app.set_version_flag("--version", STRATA_VERSION);
  int exit_code = 0;
#ifdef STRATA_TRAINING
  strata::cli::add_train_command(app, exit_code);
  strata::cli::add_eval_command(app, exit_code);
  strata::cli::add_data_command(app, exit_code);
  strata::cli::add_bench_command(app, exit_code);
#endif
  strata::cli::add_check_command(app, exit_code);
  strata::cli::add_score_command(app, exit_code);
  strata::cli::add_plot_command(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "strata: %s\n", strata::message_of(error).c_str());
    return 2;
  }
  return exit_code;
}
