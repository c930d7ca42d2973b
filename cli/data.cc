#include "cli/commands.h"

namespace strata::cli {

void add_data_command(CLI::App&, int&) {}

}  // namespace strata::cli
