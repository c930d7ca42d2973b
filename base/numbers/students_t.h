// Student's t distribution in double. By default Boost computes in long double, and does so before
// main() begins. Under valgrind, whose long double is shorter, that may abort.
#pragma once

#include <boost/math/distributions/students_t.hpp>

namespace strata {

using StudentsT = boost::math::students_t_distribution<
    double, boost::math::policies::policy<boost::math::policies::promote_double<false>>>;

}  // namespace strata
