#include "cli/commands.h"

namespace strata::cli {

void add_bench_command(CLI::App&, int&) {}

}  // namespace strata::cli
