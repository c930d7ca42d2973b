// Where what tests/golden/*.py wrote lies.
#pragma once

#include <cstdlib>
#include <string>

namespace strata::testing_support {

// A bundle for another machine says where its files are.
inline std::string golden_file(const std::string& name) {
  const char* moved = std::getenv("STRATA_SOURCE_DIR");
  return std::string(moved ? moved : STRATA_SOURCE_DIR) + "/tests/golden/" + name;
}

}  // namespace strata::testing_support
