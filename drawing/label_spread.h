// Labels in a row that must not cover each other.
#pragma once

#include <cstddef>
#include <vector>

namespace strata::drawing {

// How many labels have room from `low` to `high`, `spacing` apart. `spacing` is above 0.
size_t labels_that_fit(double spacing, double low, double high);

// Places for labels that want to be at `wanted`, in any order: at least `spacing` apart, from `low`
// to `high`, in the order of what they want (equal ones as they come), and together as near to it
// as can be (least squares, by pooling adjacent violators: Barlow et al., "Statistical Inference
// under Order Restrictions", 1972). The places come in the order of `wanted`. Throws Error where
// there are more than fit.
std::vector<double> spread_labels(const std::vector<double>& wanted, double spacing, double low,
                                  double high);

}  // namespace strata::drawing
