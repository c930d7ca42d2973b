// The measurements of `strata bench`, one file each. Every function adds its command to `bench`.
#pragma once

#include <CLI/CLI.hpp>

namespace strata::cli {

void add_bench_accumulation(CLI::App& bench);
void add_bench_layer_drop(CLI::App& bench);
void add_bench_step(CLI::App& bench);
void add_bench_machine(CLI::App& bench);
void add_bench_operations(CLI::App& bench);
void add_bench_balance(CLI::App& bench);
void add_bench_overlap(CLI::App& bench);
void add_bench_plan(CLI::App& bench);
void add_bench_schedule(CLI::App& bench);
void add_bench_simulate(CLI::App& bench);
void add_bench_optimizer(CLI::App& bench);
void add_bench_cost(CLI::App& bench);
void add_bench_start(CLI::App& bench);

}  // namespace strata::cli
