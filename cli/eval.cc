#include "cli/commands.h"

namespace strata::cli {

void add_eval_command(CLI::App&, int&) {}

}  // namespace strata::cli
