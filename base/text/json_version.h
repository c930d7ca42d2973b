// Version of Strata's JSON for programs that read it.
#pragma once

namespace strata {

// The "version" of everything that `--json` prints; docs/schemas/ has a schema for each. It
// increases when a key is removed or changes its meaning, not when keys are added.
inline constexpr int kJsonVersion = 2;

}  // namespace strata
