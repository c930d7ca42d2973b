// The three outcomes of every check.
#pragma once

#include <cstdint>
#include <string_view>

namespace strata::compliance {

// kNotJudged: there are no rules or reference points. Only kFailed makes a check fail.
enum class Outcome : uint8_t { kPassed, kNotJudged, kFailed };

// Returns "passed", "not judged" or "failed".
constexpr std::string_view word(Outcome outcome) {
  constexpr std::string_view kWords[] = {"passed", "not judged", "failed"};
  return kWords[static_cast<int>(outcome)];
}

// Combines two parts: failed if one is, else not judged if one is.
constexpr Outcome worse(Outcome a, Outcome b) { return a < b ? b : a; }

}  // namespace strata::compliance
