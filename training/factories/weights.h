// The weights that a run starts with.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bert/weights/weights.h"
#include "config/run_config.h"
#include "training/ranks/ranks.h"

namespace strata::training {

// Reads model.checkpoint, or draws random weights on as many threads as the rank has. `describe`
// receives lines for people: which file was read, and which tensors it lacks. Throws Error if the
// file is unreadable or of another model.
bert::HostWeights make_weights(const config::RunConfig& config, const bert::ParameterLayout& layout,
                               uint64_t seed,
                               const std::function<void(const std::string&)>& describe,
                               const LocalRank& local = {});

}  // namespace strata::training
