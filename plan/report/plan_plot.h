// A picture of what `strata plan --json` predicts.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "results/plots/plots.h"

namespace strata::plan {

// Above, milliseconds a step in order of ranks, its terms stacked; below, minutes to train with
// their interval. Published systems are points beside their predictions. Throws Error, naming the
// file and what to do, where it is not that command's output or predicts nothing.
results::Plot plot_plan(const std::filesystem::path& path);
// The same of a text; `name` stands for the path.
results::Plot plot_plan(std::string_view json, const std::string& name);

}  // namespace strata::plan
