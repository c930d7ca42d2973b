#include "cli/commands.h"

namespace strata::cli {

void add_train_command(CLI::App&, int&) {}

}  // namespace strata::cli
