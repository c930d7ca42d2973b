// The measurements of `strata bench`, one file each. Every function adds its command to `bench`.
#pragma once

#include <CLI/CLI.hpp>

namespace strata::cli {

void add_bench_optimizer(CLI::App& bench);
void add_bench_step(CLI::App& bench);

}  // namespace strata::cli
