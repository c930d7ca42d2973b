// Differences between two measured sides, for every kind of measurement.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/statistics.h"

namespace strata::compare {

enum class Better { kLower, kHigher, kNeither };

// A number that both sides have values of.
struct Quantity {
  std::string name;
  std::string unit;  // empty if the name includes it
  Better better = Better::kLower;
  Sample base, other;                // one value per run
  std::optional<RatioTest> ratio;    // test of the centers
  std::optional<MannWhitney> order;  // test of the values

  // Returns the other side's center / the base's - 1.
  std::optional<double> difference() const;
  // Returns by which share of the base the other side is worse; negative: better.
  std::optional<double> worse_by() const;
  // Returns the probability of such a difference by chance: the ratio's, else the order's. Empty if
  // a side has fewer than three values.
  std::optional<double> p() const;
};

Quantity make_quantity(std::string name, std::string unit, Better better, Sample base,
                       Sample other);

// A part of the difference of mean times.
struct Part {
  std::string name;
  double seconds = 0;
};

struct Comparison {
  std::string what;                  // benchmark, or "measurements" for 'strata bench --json'
  std::string base, other;           // names of the sides
  std::vector<Quantity> quantities;  // if judged_first, the first one counts
  bool judged_first = false;         // --fail-above asks only for the first quantity
  std::vector<Part> parts;           // add up to the difference of mean times to train
  std::vector<std::string> notes;    // caveats for readers

  // Returns the quantities that --fail-above asks for and that are worse by more than `share`,
  // unless chance may explain it: p values are adjusted for the number of quantities (holm).
  // Without a p value the difference decides.
  std::vector<const Quantity*> worse_than(double share) const;
};

}  // namespace strata::compare
