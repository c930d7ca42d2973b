#include "cli/commands.h"

namespace strata::cli {

void add_check_command(CLI::App&, int&) {}

}  // namespace strata::cli
