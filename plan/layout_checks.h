// Layouts that the training program refuses.
#pragma once

#include <optional>
#include <string>

#include "plan/step_time.h"

namespace strata::plan {

// The option at fault and the reason, for a user to read: "--stages 5: ..."; absent where so many
// ranks and samples can have this layout.
std::optional<std::string> refusal(const ModelShape& shape, int64_t ranks, double batch,
                                   const Layout& layout);

}  // namespace strata::plan
