#include "tests/support/built_files.h"

namespace strata::testing_support {

std::filesystem::path build_folder() { return STRATA_BINARY_DIR; }

std::string strata_program() { return STRATA_PROGRAM; }

std::string fault_library() { return STRATA_FAULT_LIBRARY; }

}  // namespace strata::testing_support
