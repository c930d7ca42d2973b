// What programs that read Strata's JSON go by.
#pragma once

namespace strata {

// The "version" of everything that `--json` prints: docs/schemas/ has a schema for each. It rises
// where a key goes or means something else; keys that are added leave it.
inline constexpr int kJsonVersion = 1;

}  // namespace strata
