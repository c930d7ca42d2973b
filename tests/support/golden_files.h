// Location of the results of tests/golden/*.py.
#pragma once

#include <cstdlib>
#include <string>

namespace strata::testing_support {

// A bundle for another machine sets STRATA_SOURCE_DIR.
inline std::string golden_file(const std::string& name) {
  const char* moved = std::getenv("STRATA_SOURCE_DIR");
  return std::string(moved ? moved : STRATA_SOURCE_DIR) + "/tests/golden/" + name;
}

}  // namespace strata::testing_support
