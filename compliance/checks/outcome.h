// The three outcomes of every check.
#pragma once

#include <cstdint>
#include <string_view>

namespace strata::compliance {

// Not judged: there are no rules or reference points for it. Only what failed makes a check fail.
enum class Outcome : uint8_t { kPassed, kNotJudged, kFailed };

// "passed", "not judged" or "failed".
constexpr std::string_view word(Outcome outcome) {
  constexpr std::string_view kWords[] = {"passed", "not judged", "failed"};
  return kWords[static_cast<int>(outcome)];
}

// Of two parts taken together: failed where one is, else not judged where one is.
constexpr Outcome worse(Outcome a, Outcome b) { return a < b ? b : a; }

}  // namespace strata::compliance
