// Checks for layouts that the training program refuses.
#pragma once

#include <optional>
#include <string>

#include "plan/step_time.h"

namespace strata::plan {

// Returns the option at fault and the reason for a user ("--stages 5: ..."), or nullopt if so many
// ranks and samples can have this layout.
std::optional<std::string> refusal(const ModelShape& shape, int64_t ranks, double batch,
                                   const Layout& layout);

}  // namespace strata::plan
