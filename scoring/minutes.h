// Converts the milliseconds of logs to minutes for people.
#pragma once

namespace strata::scoring {

inline constexpr double kMsPerMinute = 60'000;

}  // namespace strata::scoring
