#include "base/numbers/students_t.h"

#include <boost/math/distributions/students_t.hpp>

namespace strata {
namespace {

// Boost computes in long double unless told otherwise, and does so before main() begins. Under
// valgrind, whose long double is shorter, that may abort.
using Distribution = boost::math::students_t_distribution<
    double, boost::math::policies::policy<boost::math::policies::promote_double<false>>>;

}  // namespace

double students_t_cdf(double t, double freedom) {
  return boost::math::cdf(Distribution(freedom), t);
}

double students_t_upper_tail(double t, double freedom) {
  return boost::math::cdf(boost::math::complement(Distribution(freedom), t));
}

double students_t_quantile(double probability, double freedom) {
  return boost::math::quantile(Distribution(freedom), probability);
}

}  // namespace strata
