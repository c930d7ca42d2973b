// Programs of the system that Strata runs.
#pragma once

#include <string>

namespace strata {

// The path of the program `name`, looked for as a shell does, but only in those folders of PATH
// that are named absolutely: an empty entry or '.' would let a file of the current folder run. A
// name with a slash is returned as it is. Empty: there is none.
std::string find_program(const std::string& name);

}  // namespace strata
