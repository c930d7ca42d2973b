// scaling.json: the factor on a folder's score.
#pragma once

#include <filesystem>
#include <string>

#include "compliance/checks/rcp.h"

namespace strata::compliance {

// As Python writes a float.
std::string python_float(double number);

struct ScalingWritten {
  std::string note;     // what was done, or why nothing
  std::string problem;  // why the factor could not be written; empty where it could
};

// Writes <folder>/scaling.json as the official tool does, where the check passed runs that
// converged faster than the reference and so asks for a factor. Written whole or not at all; what
// is there stays, and is a problem unless it says the same factor.
ScalingWritten write_scaling(const std::filesystem::path& folder, const RcpVerdict& rcp);

}  // namespace strata::compliance
