// What differs between two measured sides, as every kind of measurement tells it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/statistics.h"

namespace strata::compare {

enum class Better { kLower, kHigher, kNeither };

// One number that both sides have values of.
struct Quantity {
  std::string name;
  std::string unit;  // empty where the name says it
  Better better = Better::kLower;
  Sample base, other;                // one value per run
  std::optional<RatioTest> ratio;    // of the centers
  std::optional<MannWhitney> order;  // of the values

  // The other side's center / the base's - 1.
  std::optional<double> difference() const;
  // By how much the other side is worse, as a share of the base; negative: better.
  std::optional<double> worse_by() const;
  // Probability of the difference by chance: the ratio's, else the order's. Empty if a side has
  // fewer than three values.
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
  std::string what;                  // the benchmark; "measurements" of 'strata bench --json'
  std::string base, other;           // names of the sides
  std::vector<Quantity> quantities;  // the first is the one that counts, where judged_first
  bool judged_first = false;         // --fail-above asks for the first quantity alone
  std::vector<Part> parts;           // of the difference of mean times to train; they sum to it
  std::vector<std::string> notes;    // what a reader should know before believing it

  // The quantities that --fail-above asks for and that are worse by more than `share`, unless
  // chance may explain it: p values are adjusted for as many quantities (holm). Without a p value
  // the difference decides.
  std::vector<const Quantity*> worse_than(double share) const;
};

}  // namespace strata::compare
