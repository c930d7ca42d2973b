// scaling.json: the factor on a folder's score.
#pragma once

#include <filesystem>
#include <string>

#include "compliance/checks/rcp.h"

namespace strata::compliance {

// Formats a float like Python.
std::string python_float(double number);

struct ScalingWritten {
  std::string note;     // action taken, or why there was none
  std::string problem;  // why the factor could not be written; empty if it could
};

// Writes <folder>/scaling.json like the official tool, if the check passed runs that converged
// faster than the reference and so requires a factor. Writes the file completely or not at all. An
// existing file stays, and is a problem unless it has the same factor.
ScalingWritten write_scaling(const std::filesystem::path& folder, const RcpVerdict& rcp);

}  // namespace strata::compliance
