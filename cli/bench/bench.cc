#include "cli/bench/bench.h"

#include "cli/commands.h"

namespace strata::cli {

void add_bench_command(CLI::App& app, int&) {
  CLI::App* bench = app.add_subcommand("bench", "Measure parts of the benchmark on this machine");
  bench->require_subcommand(1);
  add_bench_step(*bench);
  add_bench_operations(*bench);
  add_bench_machine(*bench);
  add_bench_balance(*bench);
  add_bench_overlap(*bench);
  add_bench_plan(*bench);
  add_bench_schedule(*bench);
  add_bench_simulate(*bench);
  add_bench_optimizer(*bench);
  add_bench_cost(*bench);
  add_bench_start(*bench);
  add_bench_accumulation(*bench);
  add_bench_layer_drop(*bench);
}

}  // namespace strata::cli
