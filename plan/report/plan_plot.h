// A picture of what `strata plan --json` predicts.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "drawing/picture.h"

namespace strata::plan {

// A row a prediction in order of ranks: milliseconds a step, its terms stacked; minutes to train
// with their interval. Published systems are points beside their predictions. Throws Error, naming
// the file and what to do, where it is not that command's output or predicts nothing.
drawing::Plot plot_plan(const std::filesystem::path& path);
// The same of a text; `name` stands for the path.
drawing::Plot plot_plan(std::string_view json, const std::string& name);

}  // namespace strata::plan
