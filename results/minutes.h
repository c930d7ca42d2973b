// Logs have milliseconds, people read minutes.
#pragma once

namespace strata::results {

inline constexpr double kMsPerMinute = 60'000;

}  // namespace strata::results
