// Draws the predictions of `strata plan --json`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "drawing/picture.h"

namespace strata::plan {

// Draws a row per prediction, sorted by ranks: milliseconds per step, stacked by term, and minutes
// to train with their interval. Published systems are points beside their predictions. Throws Error
// with the file and what to do if it is not that command's output or has no prediction.
drawing::Plot plot_plan(const std::filesystem::path& path);
// Draws a text; `name` stands for the path.
drawing::Plot plot_plan(std::string_view json, const std::string& name);

}  // namespace strata::plan
