// Files of the build that tests run or write. Only built_files.cc knows the build's folder, so that
// builds of equal options share the compiled tests.
#pragma once

#include <filesystem>
#include <string>

namespace strata::testing_support {

std::filesystem::path build_folder();
// Returns the path of the program `strata`.
std::string strata_program();
// Returns the path of the library that makes a program's calls fail. Empty in builds with
// sanitizers, which must be loaded before it.
std::string fault_library();

}  // namespace strata::testing_support
