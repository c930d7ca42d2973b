// What of a layout the training program refuses.
#pragma once

#include <optional>
#include <string>

#include "plan/step_time.h"

namespace strata::plan {

// The option at fault and why, in words for people: "--stages 5: ..."; absent where a step of so
// many ranks and samples can be laid out so.
std::optional<std::string> refusal(const ModelShape& shape, int64_t ranks, double batch,
                                   const Layout& layout);

}  // namespace strata::plan
