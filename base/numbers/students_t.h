// Student's t distribution. Only the source file includes Boost's, which takes long to compile.
#pragma once

namespace strata {

// Functions of a t value with degrees of freedom above 0. Throw std::domain_error for other degrees
// of freedom, or for a probability outside (0, 1).
double students_t_cdf(double t, double freedom);
// The probability of a t value above `t`.
double students_t_upper_tail(double t, double freedom);
// The t value that has this probability below it.
double students_t_quantile(double probability, double freedom);

}  // namespace strata
