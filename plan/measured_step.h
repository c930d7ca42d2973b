// Reads a step that `strata bench step --json` measured.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "plan/calibration.h"
#include "plan/step_time.h"

namespace strata::plan {

// Throws Error with the file and what is missing if it is not that command's output.
MeasuredStep read_measured_step(const std::filesystem::path& path);
// Parses a text in memory; `name` replaces the path in messages.
MeasuredStep parse_measured_step(std::string_view json, const std::string& name);

// Throws Error if the step's "parameter_bytes" are those of a model of another size.
void check_model(const MeasuredStep& step, const ModelShape& shape);

}  // namespace strata::plan
