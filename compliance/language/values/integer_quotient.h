// Python's true division of integers.
#pragma once

#include <string_view>

namespace strata::compliance {

// The double nearest to numerator / denominator, of decimal digits after a minus or none; ties to
// even. Throws RuleError where the denominator is zero or no double is large enough. Takes time
// proportional to the square of the digits.
double integer_quotient(std::string_view numerator, std::string_view denominator);

}  // namespace strata::compliance
