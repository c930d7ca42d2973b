// The subcommands of `strata`, one file each. Every function adds its command to `app`; when the
// command line names it, the command runs and leaves its exit code in `exit_code`: 0 success, 1 a
// check failed or the target was not reached, 2 an error.
#pragma once

#include <CLI/CLI.hpp>

namespace strata::cli {

void add_check_command(CLI::App& app, int& exit_code);
void add_score_command(CLI::App& app, int& exit_code);
void add_package_command(CLI::App& app, int& exit_code);
void add_export_command(CLI::App& app, int& exit_code);
void add_manual_commands(CLI::App& app, int& exit_code);  // completion, man
void add_rules_command(CLI::App& app, int& exit_code);
void add_rcp_command(CLI::App& app, int& exit_code);
void add_compare_command(CLI::App& app, int& exit_code);
void add_plan_command(CLI::App& app, int& exit_code);
void add_plot_command(CLI::App& app, int& exit_code);
void add_report_command(CLI::App& app, int& exit_code);
void add_data_command(CLI::App& app, int& exit_code);
void add_train_command(CLI::App& app, int& exit_code);
void add_eval_command(CLI::App& app, int& exit_code);
void add_search_command(CLI::App& app, int& exit_code);
void add_bench_command(CLI::App& app, int& exit_code);

}  // namespace strata::cli
