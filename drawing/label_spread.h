// Spreads the labels of a row so that they do not overlap.
#pragma once

#include <cstddef>
#include <vector>

namespace strata::drawing {

// Returns how many labels fit from `low` to `high`, `spacing` apart. Requires spacing > 0.
size_t labels_that_fit(double spacing, double low, double high);

// Returns positions for labels that want to be at `wanted`, in the order of `wanted`. They are at
// least `spacing` apart, from `low` to `high`, sorted like the wanted ones (stable), and as near to
// them as possible (least squares, by pooling adjacent violators: Barlow et al., "Statistical
// Inference under Order Restrictions", 1972). Throws Error if there are more than fit.
std::vector<double> spread_labels(const std::vector<double>& wanted, double spacing, double low,
                                  double high);

}  // namespace strata::drawing
